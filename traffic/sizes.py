"""How large flows are: the laws that ``poisson:SIZES,LOAD`` draws from.

========================  =====================================================================================
``web-search``            the DCTCP paper's distribution, 1.711 MB on average (traffic/flow_sizes.csv)
``data-mining``           the VL2 paper's, 12.658 MB on average
``exponential:BYTES``     exponential with this mean
``fixed:BYTES``           all of this size
a path                    a CSV file of one's own: a header ``bytes,cumulative_probability``, then points of the
                          cumulative distribution in ascending order, linear between them, from 0 to 1
========================  =====================================================================================
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
from traffic.textfile import given, read_text, short

SPELLINGS = ("web-search", "data-mining", "exponential:BYTES", "fixed:BYTES", "a CSV file's path")
MAX_BYTES = 10**15
MAX_POINTS = 100_000
"""A file with more is refused, as one that is larger than MAX_FILE_BYTES."""
MAX_FILE_BYTES = 10_000_000

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
        return np.maximum(1.0, np.rint(scale * self.quantile(rng.random(count))))


def size_law(spelling: str) -> SizeLaw:
    """The law of that spelling; ValueError, one sentence, where there is none or a file holds no distribution."""
    kind, _, argument = spelling.partition(":")
    if kind in ("fixed", "exponential"):
        if not re.fullmatch(r"[0-9]{1,18}", argument) or not 1 <= int(argument) <= MAX_BYTES:
            raise ValueError(f"a flow's size is a whole number of bytes from 1 to 10^15, not {argument!r}")
        mean = float(argument)
        return SizeLaw(
            spelling, mean, (lambda u: np.full_like(u, mean)) if kind == "fixed" else (lambda u: -mean * np.log1p(-u))
        )
    if spelling in _empirical():
        return _empirical()[spelling]
    if (path := file_of(spelling)) is None:
        raise ValueError(f"there is no law of flow sizes {spelling!r}; it is one of {', '.join(SPELLINGS)}")
    return _from_file(path)


def file_of(spelling: str) -> Path | None:
    """The file that a spelling names; None for one of the laws that have a name, and for no law at all."""
    if not spelling or spelling in _empirical() or spelling.startswith(("fixed:", "exponential:")):
        return None
    named = "/" in spelling or spelling.lower().endswith(".csv") or spelling in given or Path(spelling).exists()
    return Path(spelling) if named else None


def _through(name: str, size: Float64, below: Float64) -> SizeLaw:
    """The law whose cumulative distribution is ``below``, (points,), at ``size``, (points,), and linear between."""
    mean = float((np.diff(below) * (size[1:] + size[:-1]) / 2).sum())
    return SizeLaw(name, mean, lambda u: np.interp(u, below, size))


@cache
def _empirical() -> dict[str, SizeLaw]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    laws = {}
    for name in dict.fromkeys(row["law"] for row in rows):
        points = [(row["bytes"], row["cumulative_probability"]) for row in rows if row["law"] == name]
        size, below = np.array(points, dtype=np.float64).T
        laws[name] = _through(name, size, below)
    return laws


def _from_file(path: Path) -> SizeLaw:
    text = read_text(path, MAX_FILE_BYTES)
    size, below = np.array(_points(path, text), dtype=np.float64).reshape(-1, 2).T
    if size.size < 2:
        raise ValueError(f"{path} holds no distribution: it needs two points at least")
    if (np.diff(size) < 0).any() or (np.diff(below) < 0).any():
        line = int(np.argmax((np.diff(size) < 0) | (np.diff(below) < 0))) + 2
        raise ValueError(f"{path} holds no distribution: point {line} is below the one before it")
    if below[0] != 0 or below[-1] != 1:
        raise ValueError(
            f"{path} holds no distribution: probabilities go from 0 to 1, not from {below[0]:g} to {below[-1]:g}"
        )
    law = _through(str(path), size, below)
    if not law.mean_bytes > 0:
        raise ValueError(f"{path} holds no distribution of sizes: all flows would be empty")
    return law


def _points(path: Path, text: str) -> list[tuple[float, float]]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines or [name.strip() for name in lines[0].split(",")] != _COLUMNS:
        raise ValueError(f"{path} holds no distribution: its header must be {','.join(_COLUMNS)}")
    if len(lines) > MAX_POINTS:
        raise ValueError(f"{path} has more than {MAX_POINTS:,} lines")
    return [_point(path, line) for line in lines[1:]]


def _point(path: Path, line: str) -> tuple[float, float]:
    try:
        size, below = (float(cell) for cell in line.split(","))
    except ValueError:
        size = below = math.nan
    if not (0 <= size <= MAX_BYTES and 0 <= below <= 1):
        raise ValueError(f"{path} holds no distribution: {short(line)} is no size in bytes and a probability")
    return size, below
