"""A traffic pattern of the user's own: a function in a file that is named on the command line, FILE.py:FUNCTION.

``FUNCTION(tree, rng)`` gets a `topos.fattree.FatTree` and a NumPy generator that the seed fixes, and returns rows,
one for each flow: ``(src, dst)``, or ``(src, dst, start_s, size_bytes)`` for flows that come and go. They are then
read as those of a file (`traffic.flowfile`). It runs in the user's process; a job carries its rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from topos.fattree import FatTree
from topos.network import Network
from traffic.flowfile import listed_in
from traffic.flows import Flows
from traffic.streams import Stream, generator
from traffic.textfile import given, own_code

SPELLING = "FILE.py:FUNCTION"
MAX_ROWS = 2_000_000
_SPELLED = re.compile(r"(?P<file>.+\.py):(?P<function>[^\W\d]\w*)")


def file_of(spec: str) -> Path | None:
    spelled = _SPELLED.fullmatch(spec)
    return Path(spelled["file"]) if spelled else None


def own_flows(spec: str, network: Network, seed: int) -> Flows:
    """The flows of a spec FILE.py:FUNCTION. Raises ValueError, one sentence, for whatever does not work."""
    return listed_in(given[spec] if spec in given else rows(spec, network.tree, seed), spec, network)


def rows(spec: str, tree: FatTree, seed: int) -> str:
    """What the function returns, as CSV. ValueError as above."""
    what = f"traffic {spec!r}"
    file, function = spec.rsplit(":", 1)
    found = own_code(what, Path(file), function)
    if not callable(found):
        raise ValueError(f"{what}: there is no function {function} in {file}")
    try:
        return _rows(found, tree, seed)
    except (Exception, SystemExit) as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise ValueError(f"{what}: {kind}{' '.join(str(error).split())}") from error


@lru_cache(maxsize=16)
def _rows(function: Any, tree: FatTree, seed: int) -> str:
    """One function, network and seed have to give the same always: it is asked once."""
    flows = islice(function(tree, generator(seed, Stream.OWN_PATTERN)), MAX_ROWS + 1)
    return "\n".join(["src_host,dst_host,start_s,size_bytes", *_lines(flows)])


def _lines(flows: Iterator[Any]) -> Iterator[str]:
    for number, row in enumerate(flows):
        if number == MAX_ROWS:
            raise ValueError(f"it gives more than {MAX_ROWS:,} flows")
        cells = tuple(row)
        if len(cells) not in (2, 4):
            raise ValueError(f"flow {number} is no (src, dst) and no (src, dst, start_s, size_bytes), but {cells!r}")
        src, dst, start_s, size_bytes = (*cells, 0.0, 0)[:4]
        if src != int(src) or dst != int(dst):
            raise ValueError(f"flow {number} goes from {src!r} to {dst!r}, which are no host numbers")
        yield f"{int(src)},{int(dst)},{float(start_s)!r},{'' if size_bytes is None else int(size_bytes)}"
