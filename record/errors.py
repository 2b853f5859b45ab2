"""What a user is told: one error type for each thing that can go wrong, what errors become (one sentence on standard
error and an exit status, never a traceback), and text from elsewhere, made safe to print."""

from __future__ import annotations

import errno
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress


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


def is_full(error: BaseException) -> bool:
    """Whether it says that the disk, or the user's share of it, has no room left."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def make_printable(text: str) -> str:
    """The same lines without terminal control characters, and without characters that change the text's direction."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def to_one_line(value: object, most: int = 300) -> str:
    """Text of a worker, a submission or another's file, as one `make_printable` line of at most ``most`` characters."""
    text = str(value)
    line = make_printable(" ".join(text[: 2 * most].split()))
    return line if len(text) <= 2 * most and len(line) <= most else f"{line[: most - 3]}..."


warned: set[str] = set()
"""Warnings that were told by `tell_warnings`."""


def tell_warnings(sentences: Iterable[str] = ()) -> None:
    """From here on warnings are sentences on standard error, each once, and without those that were in
    ``sentences``."""

    def tell(message: Warning | str, *_: object, **__: object) -> None:
        if (sentence := str(message)) not in warned:
            warned.add(sentence)
            print(f"hedera: {sentence}", file=sys.stderr)

    warned.update(sentences)
    warnings.showwarning = tell


# --- errors as sentences and exit statuses ----------------------------------------------------------------------------

TRACEBACK = "traceback.txt"
"""The file of a run that keeps where an error came from that nobody expected."""


def describe_error(error: BaseException) -> str:
    """An exception as the reason why a run has no result: its own sentence if it is one of ours, else its kind too."""
    if isinstance(error, HarnessError):
        return str(error)
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", type(error).__name__).lower()
    return f"an error nobody expected, kept in {TRACEBACK} ({kind}: {error})"


def run_for_status(command: Callable[[], object]) -> int:
    """The exit status of a command; what could not be written, as on a full disk, is not tried again as Python ends."""
    status = 1
    with suppress(OSError):  # standard error cannot be written
        status = _run_for_status(command)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            status = status or 1
            if stream is sys.stdout and not isinstance(error, BrokenPipeError):  # as of `| head`, who has enough
                with suppress(OSError):
                    _report(f"standard output cannot be written: {error.strerror}")
    return status


def _run_for_status(command: Callable[[], object]) -> int:
    import click

    try:
        result = command()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except SystemExit as ended:  # of a command that has said all, and that all is not well
        return ended.code if isinstance(ended.code, int) else 1
    except click.ClickException as mistake:
        print(end="", flush=True)  # raises again if standard output is what cannot be written
        mistake.message = make_printable(mistake.message or "")  # type: ignore[misc,unused-ignore]
        mistake.show()
        return mistake.exit_code
    except HarnessError as error:
        return _report(make_printable(str(error)), error.exit_status)
    except MemoryError:
        return _report("this machine has no memory left for that: fewer --jobs, a smaller -k or shorter runs take less")
    except OSError as error:
        print(end="", flush=True)
        named = f": {make_printable(str(error.filename))}" if error.filename else ""
        return _report(f"{'no space left on the disk' if is_full(error) else error.strerror or error}{named}")
    except (KeyboardInterrupt, click.Abort):
        return _report("stopped; everything is torn down, finished results are kept", 130)
    return int(not getattr(result, "valid", True))


def _report(sentence: str, status: int = 1) -> int:
    print(f"hedera: {sentence}", file=sys.stderr)
    return status
