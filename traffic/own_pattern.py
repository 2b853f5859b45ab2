"""A traffic pattern of the user's own: a function in a file that is named on the command line, FILE.py:FUNCTION.

``FUNCTION(tree, rng)`` gets a `topos.fattree.FatTree` and a NumPy generator that the seed fixes, and returns rows,
one for each flow: ``(src, dst)``, or ``(src, dst, start_s, size_bytes)`` for flows that come and go. It runs in a
process of its own, without rights; its rows are read as those of a file (`traffic.flowfile`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from files.own_code import TOLD, loaded, told_by, trusted
from files.sent import at
from topos.fattree import FatTree
from topos.network import Network
from traffic.flowfile import MAX_BYTES, Listed, listed_in
from traffic.streams import Stream, generator

SPELLING = "FILE.py:FUNCTION"
RUN_S = 60.0
"""Seconds that it may take."""
_SPELLED = re.compile(r"(?P<file>.+\.py):(?P<function>[^\W\d]\w*)")


def file_of(spec: str) -> Path | None:
    """The file that a spec names, if it is spelled FILE.py:FUNCTION."""
    spelled = _SPELLED.fullmatch(spec)
    return Path(spelled["file"]) if spelled else None


def own_flows(spec: str, network: Network, seed: int) -> Listed:
    """The flows of a spec FILE.py:FUNCTION. Raises ValueError, one sentence, for whatever does not work."""
    named = file_of(spec)
    assert named is not None, spec
    path = at(named).resolve()
    what = f"traffic {spec!r}"
    function = spec.rpartition(":")[2]
    text = _rows(what, path, trusted(what, path), function, network.tree.k, seed)
    return listed_in(text, spec, network)


@cache
def _rows(what: str, path: Path, modified: int, function: str, k: int, seed: int) -> str:
    """Rows as CSV. The same file, function, network and seed have to give the same, so it is asked once."""
    code = "from traffic.own_pattern import tell\ntell(*sys.argv[1:])"
    arguments = [what, str(path), function, str(k), str(seed)]
    return told_by(what, code, arguments, path, seconds=RUN_S, most_bytes=MAX_BYTES).decode(errors="replace")


def tell(what: str, path: str, function: str, k: str, seed: str) -> None:
    """In the process without rights: print the function's rows as CSV, or exit with `TOLD` and a sentence."""
    try:
        found = getattr(loaded(f"own_pattern_{Path(path).stem}", Path(path)), function, None)
        if not callable(found):
            raise ValueError(f"there is no function {function} in {path}")
        print("src_host,dst_host,start_s,size_bytes")
        for line in _lines(found, int(k), int(seed)):
            print(line)
        sys.stdout.flush()
    except (Exception, SystemExit) as error:  # noqa: BLE001, whatever the user's function raises
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        print(f"{what}: {kind}{' '.join(str(error).split())}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(TOLD)  # what is still to be printed may not fit any more


def _lines(function: Callable[..., Iterable[Any]], k: int, seed: int) -> Iterable[str]:
    for number, row in enumerate(function(FatTree(k), generator(seed, Stream.OWN_PATTERN))):
        cells = tuple(row)
        if len(cells) not in (2, 4):
            raise ValueError(f"flow {number} is no (src, dst) and no (src, dst, start_s, size_bytes), but {cells!r}")
        src, dst, start_s, size_bytes = (*cells, 0.0, 0)[:4] if len(cells) == 2 else cells
        if src != int(src) or dst != int(dst):
            raise ValueError(f"flow {number} goes from {src!r} to {dst!r}, which are no host numbers")
        yield f"{int(src)},{int(dst)},{float(start_s)!r},{'' if size_bytes is None else int(size_bytes)}"
