"""What a user is told: the errors that are one sentence for the user, and text from elsewhere, made safe to print."""

from __future__ import annotations


class HarnessError(Exception):
    """Something to tell the user in one sentence; ``exit_status`` is the command's."""

    exit_status = 1


class RunFailed(HarnessError):
    """The run could not be carried through: it has no result, or an invalid one."""


class WorkerFailed(RunFailed):
    """A guest or a worker of a cluster ended without a result, or with one that was not asked of it."""


class UserMistake(HarnessError, ValueError):
    """The command line or an input file asks for something that does not exist."""

    exit_status = 2


class UnfitMachine(HarnessError):
    """The machine cannot do it as it is; the message says what to install or change."""

    exit_status = 3


def printable(text: str) -> str:
    """The same lines without terminal control characters, and without characters that change the text's direction."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def one_line(said: object, most: int = 300) -> str:
    """Text of a worker, a submission or another's file, as one `printable` line of at most ``most`` characters."""
    text = str(said)
    line = printable(" ".join(text[: 2 * most].split()))
    return line if len(text) <= 2 * most and len(line) <= most else f"{line[: most - 3]}..."
