"""How large flows are: laws of flow sizes, by name or from a file.

========================  =====================================================================================
``web-search``            the DCTCP paper's distribution, 1.711 MB on average (traffic/flow_sizes.csv)
``data-mining``           the VL2 paper's, 12.658 MB on average
``facebook-hadoop``       120 kB on average
``alibaba-storage``       40.9 kB on average
``google-rpc``            2.90 kB on average
``exponential:BYTES``     exponential with this mean
``fixed:BYTES``           all of this size
a path                    a file of one's own, in one of the forms below
========================  =====================================================================================

A file has points of the cumulative distribution in ascending order, linear between them:

* CSV with the header ``bytes,cumulative_probability``, from 0 to 1;
* ``bytes percent`` or ``bytes fraction`` on each line, as HPCC's and Homa's repositories have them: the last line says
  which, by 100 or 1. Where the first share is above 0, so many flows have the first size. A first line with a single
  number is the average, as Homa's files have it, and is not used;
* pFabric's three columns ``packets anything fraction``: packets of 1,460 bytes.

In the last two ``#`` begins a comment.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from topos.arrays import Float64
from traffic.flows import MAX_FLOW_BYTES
from traffic.user_files import job_files, quote_shortly, read_text

SPELLINGS = (
    "web-search",
    "data-mining",
    "facebook-hadoop",
    "alibaba-storage",
    "google-rpc",
    "exponential:BYTES",
    "fixed:BYTES",
    "a file's path",
)
MAX_SIZES_BYTES, MAX_POINTS = 10_000_000, 100_000
"""Larger files are refused, and those with more lines."""
PACKET_BYTES = 1460
"""What pFabric's files count: the payload of a packet in its ns-2 scripts, and in simulators made of them."""
ROUNDING = 1e-6
"""By so much a last share may miss 1 or 100."""
FORMS = "its lines are {}, or 'bytes percent', 'bytes fraction' or pFabric's three columns"

_FILE = Path(__file__).with_name("flow_sizes.csv")
_COLUMNS = ["bytes", "cumulative_probability"]


@dataclass(frozen=True, eq=False)
class SizeLaw:
    """A distribution of flow sizes in bytes.

    ``name``: as it is spelled. ``mean_bytes``: exact, not of a sample. ``quantile(u)``: the size below which a share
    ``u`` of flows is, for float64 of any shape in [0, 1).
    """

    name: str
    mean_bytes: float
    quantile: Callable[[Float64], Float64]

    def draw(self, rng: np.random.Generator, count: int, scale: float = 1.0) -> Float64:
        """``count`` sizes times ``scale``, in whole bytes and at least 1: float64 (count,)."""
        # At least one byte: a flow of none is one that computes (`traffic.graph`), and sends nothing.
        return np.maximum(1.0, np.rint(scale * self.quantile(rng.random(count))))


def find_size_law(spelling: str) -> SizeLaw:
    """The law of that spelling; ValueError, one sentence, where there is none or a file holds no distribution."""
    kind, _, argument = spelling.partition(":")
    if kind in ("fixed", "exponential"):
        if not re.fullmatch(r"[0-9]{1,18}", argument) or not 1 <= int(argument) <= MAX_FLOW_BYTES:
            raise ValueError(f"a flow's size is a whole number of bytes from 1 to 10^15, not {argument!r}")
        mean = float(argument)
        return SizeLaw(
            spelling, mean, (lambda u: np.full_like(u, mean)) if kind == "fixed" else (lambda u: -mean * np.log1p(-u))
        )
    if spelling in _load_empirical():
        return _load_empirical()[spelling]
    if (path := find_file(spelling)) is None:
        raise ValueError(f"there is no law of flow sizes {spelling!r}; it is one of {', '.join(SPELLINGS)}")
    return _load_law(path)


def find_file(spelling: str) -> Path | None:
    """The file that a spelling names; None for one of the laws that have a name, and for no law at all."""
    if not spelling or spelling in _load_empirical() or spelling.startswith(("fixed:", "exponential:")):
        return None
    named = "/" in spelling or re.search(r"\.(csv|txt|tcl|cdf|dat)$", spelling, re.I)
    return Path(spelling) if named or spelling in job_files or Path(spelling).exists() else None


def _make_law(name: str, size: Float64, below: Float64) -> SizeLaw:
    """The law whose cumulative distribution is ``below``, (points,), at ``size``, (points,), and linear between; a
    share ``below[0]`` has the first size."""
    mean = float((np.diff(below) * (size[1:] + size[:-1]) / 2).sum() + below[0] * size[0])
    return SizeLaw(name, mean, lambda u: np.interp(u, below, size))


@cache
def _load_empirical() -> dict[str, SizeLaw]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    laws = {}
    for name in dict.fromkeys(row["law"] for row in rows):
        points = [(row["bytes"], row["cumulative_probability"]) for row in rows if row["law"] == name]
        size, below = np.array(points, dtype=np.float64).T
        laws[name] = _make_law(name, size, below)
    return laws


def _load_law(path: Path) -> SizeLaw:
    text = read_text(path, MAX_SIZES_BYTES)
    try:
        return _make_law(str(path), *parse_points(text))
    except ValueError as error:
        raise ValueError(f"{path} holds no distribution: {error}") from None


def parse_points(text: str) -> tuple[Float64, Float64]:
    """Sizes in bytes and shares of flows from 0 to 1 of a text in one of the forms above, float64 (points,) both.

    ValueError, the end of a sentence, for text that is not a distribution.
    """
    if text.count("\n") > MAX_POINTS:
        raise ValueError(f"it has more than {MAX_POINTS:,} lines")
    with_numbers = ((number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), start=1))
    lines = [(number, line) for number, line in with_numbers if line]
    if not lines:
        raise ValueError("it is empty")
    is_csv = [name.strip() for name in lines[0][1].split(",")] == _COLUMNS
    if is_csv or re.fullmatch(r"[\d.]+", lines[0][1], re.ASCII):
        lines = lines[1:]
    rows = [_parse_numbers(number, line) for number, line in lines]
    if len(rows) < 2:
        raise ValueError("it needs two points at least")
    columns = len(rows[0])
    if odd := next(
        (n for (n, _), row in zip(lines, rows, strict=True) if len(row) != (2 if is_csv else columns)), None
    ):
        raise ValueError(f"line {odd} has not {2 if is_csv else columns} columns as the others")
    table = np.array(rows)
    size, below = table[:, 0] * (PACKET_BYTES if columns == 3 else 1), table[:, -1]
    whole = 1.0 if is_csv else next((end for end in (1.0, 100.0) if abs(below[-1] / end - 1) <= ROUNDING), None)
    if whole is None or (below[-1] != whole and is_csv) or (below[0] != 0 and is_csv):
        ends = "go from 0 to 1" if is_csv else "end at 1, or at 100 where they are percent"
        raise ValueError(f"probabilities {ends}, not {f'from {below[0]:g} to ' if is_csv else 'at '}{below[-1]:g}")
    below = np.minimum(below / whole, 1.0)
    below[-1] = 1.0
    if (back := (np.diff(size) < 0) | (np.diff(below) < 0)).any():
        raise ValueError(f"line {lines[int(np.argmax(back)) + 1][0]} is below the one before it")
    if size[-1] > MAX_FLOW_BYTES:
        raise ValueError(f"{size[-1]:g} bytes are more than a flow may have, 10^15")
    if not size[-1] > 0:
        raise ValueError("all flows would be empty")
    return size, below


_BETWEEN = r"\s*[,;]\s*|\s+"


def _parse_numbers(number: int, line: str) -> list[float]:
    try:
        row = [float(cell) for cell in re.split(_BETWEEN, line)]
    except ValueError:
        row = []
    if len(row) not in (2, 3) or not all(0 <= value < math.inf for value in row):
        forms = FORMS.format(f"{','.join(_COLUMNS)} below that header")
        raise ValueError(f"line {number}, {quote_shortly(line)}, is no size in bytes and a probability; {forms}")
    return row
