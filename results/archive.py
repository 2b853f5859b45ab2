"""The measurements of all runs of a sweep in one file, ``runs.tar.xz``: each run.json, by its folder's name.

It can be kept or sent, and read where the runs themselves are missing.
"""

from __future__ import annotations

import io
import lzma
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from traffic.textfile import Unreadable, read_regular

ARCHIVE = "runs.tar.xz"
MAX_BYTES = 1 << 30
"""The limit for an unpacked archive; 700 runs of a minute take a tenth of it."""
MAX_MEMBERS = 20_000
_MAX_NAMES = 8 << 20
"""Bytes of all headers before members that have a long name."""
_NAMES = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_SPARSE = "has a sparse file, which may be of any size"
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
        plain = packed.decompress(read_regular(path, MAX_BYTES), MAX_BYTES)
        if not packed.eof:
            raise Unreadable(f"is cut off, or larger than {MAX_BYTES / 1e6:.3g} MB when it is unpacked")
        for member, content in members(plain):
            place = PurePosixPath(member)
            if content and place.name == name and not (place.is_absolute() or ".." in place.parts):
                yield member, content.read()
    except (lzma.LZMAError, tarfile.TarError):
        raise Unreadable("is no archive of runs") from None


def members(plain: bytes) -> Iterator[tuple[str, IO[bytes] | None]]:
    """What a tar that is not packed and not trusted holds: files to read, None for links and the like; no folders."""
    try:
        if re.search(rb"\d GNU\.sparse\.\w+=", plain):  # as headers have it
            raise Unreadable(_SPARSE)
        with tarfile.open(fileobj=io.BytesIO(plain), mode="r:", tarinfo=_bounded()) as tar:
            for member in tar:
                if member.size < 0:
                    raise Unreadable("has a file of less than no bytes")
                if not member.isdir():
                    yield member.name, tar.extractfile(member) if member.isreg() else None
    except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable("is no archive of runs") from None


def _bounded() -> type[tarfile.TarInfo]:
    """Headers that raise Unreadable as they are read, where those of an archive would take more time or memory than
    its size lets expect: very many members, names without end, names for all members, sparse files."""
    members, names = MAX_MEMBERS, _MAX_NAMES

    class Header(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Header:
            nonlocal members, names
            header = super().frombuf(buf, encoding, errors)
            members -= 1
            if header.type in _NAMES:
                names -= header.size
            if members < 0:
                raise Unreadable(f"has more than {MAX_MEMBERS} members")
            if header.size < 0 or names < 0 or header.type == tarfile.XGLTYPE:
                raise Unreadable("has a name without end")
            if header.type == tarfile.GNUTYPE_SPARSE:
                raise Unreadable(_SPARSE)
            return header

    return Header
