"""A text file of the user's: its text, or one sentence on why there is none."""

from __future__ import annotations

from pathlib import Path

from files.reader import Unreadable, read_named
from files.sent import at


def read_text(path: Path, most_bytes: int) -> str:
    """What a file in UTF-8 says, without the mark that some editors begin it with.

    ValueError, one sentence that names the file, for one that is not there, is no plain file, is larger than
    ``most_bytes``, cannot be read or is no text.
    """
    try:
        return read_named(at(path), most_bytes).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file in UTF-8") from None
    except Unreadable as why:
        raise ValueError(f"{path} {why}") from None


def short(text: str) -> str:
    """A user's words in a sentence about them: quoted, control characters escaped, not too long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")
