"""The measurements of all runs of a sweep in one file, ``runs.jsonl.xz``: a line of JSON for each run.json, which it
holds whole, with its path.

It can be kept or sent, and read where the runs themselves are missing.
"""

from __future__ import annotations

import io
import lzma
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath

import msgspec

from traffic.textfile import Unreadable, read_regular

ARCHIVE = "runs.jsonl.xz"
MAX_BYTES = 1 << 30
"""The limit for an unpacked archive; 700 runs of a minute take a tenth of it."""
MAX_RUNS = 20_000
_MAX_MEMORY = 256 << 20
"""The memory limit for unpacking: an archive could ask for any amount."""


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    file: str
    run: msgspec.Raw


_LINES = msgspec.json.Decoder(_Line)


def pack(documents: Mapping[str, bytes]) -> bytes:
    """An archive of these run.json by their paths. The same documents give the same bytes. Raises ValueError for what
    is not JSON."""
    packed = lzma.LZMACompressor(preset=9 | lzma.PRESET_EXTREME)
    made = []
    for file, document in sorted(documents.items()):
        try:
            line = _Line(file, msgspec.Raw(msgspec.json.format(document, indent=-1)))
        except msgspec.DecodeError:
            raise ValueError(f"{file} is not JSON, or was cut off: remove it, or make that run again") from None
        made.append(packed.compress(msgspec.json.encode(line) + b"\n"))
    return b"".join([*made, packed.flush()])


def unpacked(path: Path) -> Iterator[tuple[str, bytes]]:
    """The path and the text of each run.json in an archive, which is not trusted: nothing is written; what would lie
    outside its folder is left out.

    Raises Unreadable, which is a ValueError, when it is not an archive or too large.
    """
    packed = lzma.LZMADecompressor(memlimit=_MAX_MEMORY)
    try:
        plain = io.BytesIO(packed.decompress(read_regular(path, MAX_BYTES), MAX_BYTES))
        if not packed.eof:
            raise Unreadable(f"is cut off, or larger than {MAX_BYTES / 1e6:.3g} MB when it is unpacked")
        for line in map(_LINES.decode, islice(plain, MAX_RUNS)):
            place = PurePosixPath(line.file)
            if not (place.is_absolute() or ".." in place.parts):
                yield line.file, bytes(line.run)
        if plain.read(1):
            raise Unreadable(f"has more than {MAX_RUNS} runs")
    except (lzma.LZMAError, msgspec.DecodeError, RecursionError):
        raise Unreadable("is no archive of runs") from None
