"""A run's folder as one piece of bytes, for the way from a worker: packed there, and here not believed.

A zip file and not a tar: it has no links, devices or owners, its sizes stand in one table and have no sign, and no
head in it is read whole before anybody has looked at its size.
"""

from __future__ import annotations

import io
import re
import shutil
import zipfile
import zlib
from pathlib import Path

from harness.errors import WorkerFailed
from hedera.text import one_line

MAX_BYTES = 1 << 30
"""Of a folder, unpacked: 16,000 flows of ten minutes make some 150 MB."""
MAX_FILES = 100_000
"""Two for every flow, and a few more."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,200}")


def pack(folder: Path) -> bytes:
    """The plain files of a flat folder."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    return packed.getvalue()


def unpack(parcel: object, folder: Path) -> None:
    """Write the files of a parcel into an empty folder.

    Raises WorkerFailed for anything but files, directly in it, of sane names and a sane size in all; then some may
    have been written. OSError when they cannot be written here.
    """
    if not isinstance(parcel, bytes):
        raise WorkerFailed("what the worker sent is no run")
    try:
        with zipfile.ZipFile(io.BytesIO(parcel)) as archive:
            members = archive.infolist()
            if len(members) > MAX_FILES or sum(member.file_size for member in members) > MAX_BYTES:
                raise WorkerFailed(f"what the worker sent is larger than {MAX_BYTES >> 20} MiB")
            for member in members:
                if not _NAME.fullmatch(member.filename) or member.compress_type != zipfile.ZIP_DEFLATED:
                    name = one_line(member.filename, 80)
                    raise WorkerFailed(f"what the worker sent holds {name}, which no run writes")
                with archive.open(member) as content, (folder / member.filename).open("xb") as file:
                    shutil.copyfileobj(content, file)  # no more than the size that it says
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None and not isinstance(error, FileExistsError):
            raise  # ours: a full disk
        raise WorkerFailed(f"what the worker sent cannot be unpacked: {error}") from None
