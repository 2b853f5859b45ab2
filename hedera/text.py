"""Text from elsewhere, made safe to print: it must not control the terminal."""

from __future__ import annotations


def printable(said: str) -> str:
    """The same lines without terminal control characters, and without characters that change the text's direction."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in said)


def one_line(said: object, most: int = 300) -> str:
    """Text of a worker, a submission or another's file, as one `printable` line of at most ``most`` characters."""
    text = str(said)
    line = printable(" ".join(text[: 2 * most].split()))
    return line if len(text) <= 2 * most and len(line) <= most else f"{line[: most - 3]}..."
