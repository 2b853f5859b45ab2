"""A run's folder as one piece of bytes, for the way from a worker: packed there, and here not believed."""

from __future__ import annotations

import io
import re
import tarfile
import zlib
from pathlib import Path

from harness.errors import WorkerFailed

MOST_BYTES = 1 << 30
"""Of a folder, unpacked: 16,000 flows of ten minutes make some 150 MB."""
MOST_FILES = 100_000
"""Two for every flow, and a few more."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,200}")


def pack(folder: Path) -> bytes:
    """The plain files of a flat folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=6) as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name, recursive=False)
    return packed.getvalue()


def unpack(parcel: object, folder: Path) -> None:
    """Write the files of a parcel into an empty folder.

    Raises WorkerFailed for anything but plain files, directly in it, of sane names and a sane size in all; then some
    may have been written. OSError when they cannot be written here.
    """
    if not isinstance(parcel, bytes):
        raise WorkerFailed("what the worker sent is no run")
    room = MOST_BYTES
    try:
        with tarfile.open(fileobj=io.BytesIO(parcel), mode="r:gz") as archive:
            for number, member in enumerate(archive):
                if not member.isreg() or not _NAME.fullmatch(member.name) or number >= MOST_FILES:
                    raise WorkerFailed(
                        f"what the worker sent holds {member.name[:80]!r}, which no run writes"
                    )
                room -= member.size
                if room < 0:
                    raise WorkerFailed(f"what the worker sent is larger than {MOST_BYTES >> 20} MiB")
                content = archive.extractfile(member)
                assert content is not None, "it is a plain file"
                with (folder / member.name).open("xb") as file:
                    while part := content.read(1 << 20):
                        file.write(part)
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None and not isinstance(error, FileExistsError):
            raise  # ours: a full disk
        raise WorkerFailed(f"what the worker sent cannot be unpacked: {error}") from None
