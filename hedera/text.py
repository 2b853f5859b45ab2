"""Words of somebody else's, made fit to be shown: whoever wrote them may not speak to the terminal."""

from __future__ import annotations


def printable(said: str) -> str:
    """The same lines with nothing in them that a terminal would obey, or that turns the direction of writing."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in said)


def one_line(said: object, most: int = 300) -> str:
    """What a worker, a submission or another's file says, as one `printable` line of ``most`` characters at most."""
    text = str(said)
    line = printable(" ".join(text[: 2 * most].split()))
    return line if len(text) <= 2 * most and len(line) <= most else f"{line[: most - 3]}..."
