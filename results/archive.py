"""The measurements of all runs of a sweep in one file, ``runs.tar.xz``: each run.json, by its folder's name.

It can be kept or sent, and read where the runs themselves are missing.
"""

from __future__ import annotations

import io
import lzma
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from results.files import Unreadable, read_bytes

ARCHIVE = "runs.tar.xz"
MAX_BYTES = 1 << 30
"""The limit for an unpacked archive; 700 runs of a minute take a tenth of it."""
_MAX_MEMORY = 256 << 20
"""The memory limit for unpacking: an archive could ask for any amount."""


def pack(documents: Mapping[str, bytes]) -> bytes:
    """An archive of these documents by their names. The same documents give the same bytes."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(documents):
            about = tarfile.TarInfo(name)
            about.size = len(documents[name])
            tar.addfile(about, io.BytesIO(documents[name]))
    return lzma.compress(plain.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def unpacked(path: Path, name: str = "run.json") -> Iterator[tuple[str, bytes]]:
    """The files called ``name`` in an archive, which is not trusted: nothing is written, no link is followed, and
    files outside its folder are left out.

    Raises Unreadable, which is a ValueError, when it is not an archive or too large.
    """
    packed = lzma.LZMADecompressor(memlimit=_MAX_MEMORY)
    try:
        plain = packed.decompress(read_bytes(path, MAX_BYTES), MAX_BYTES)
        if not packed.eof:
            raise Unreadable(f"is cut off, or larger than {MAX_BYTES / 1e6:.3g} MB when it is unpacked")
        with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as tar:
            for member in tar:
                place = PurePosixPath(member.name)
                if member.isreg() and place.name == name and not (place.is_absolute() or ".." in place.parts):
                    content = tar.extractfile(member)
                    yield member.name, content.read() if content else b""
    except (lzma.LZMAError, tarfile.TarError, ValueError, OverflowError) as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable("is no archive of runs") from None
