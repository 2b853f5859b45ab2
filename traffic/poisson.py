"""Open-loop arrivals: flows that start at random moments, whatever has become of those before (``poisson:SIZES,LOAD``).

SIZES is the law of how large they are:

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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from topos.arrays import Float64
from traffic.flows import MAX_FLOW_BYTES, Flows, Matrix, Stream, columns, generator
from traffic.textfile import given, read_text, short

SPELLINGS = ("web-search", "data-mining", "exponential:BYTES", "fixed:BYTES", "a CSV file's path")
MAX_CSV_BYTES = 10_000_000
"""Larger files are refused."""

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
        if not re.fullmatch(r"[0-9]{1,18}", argument) or not 1 <= int(argument) <= MAX_FLOW_BYTES:
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
    text = read_text(path, MAX_CSV_BYTES)
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
    return [_point(path, line) for line in lines[1:]]


def _point(path: Path, line: str) -> tuple[float, float]:
    try:
        size, below = (float(cell) for cell in line.split(","))
    except ValueError:
        size = below = math.nan
    if not (0 <= size <= MAX_FLOW_BYTES and 0 <= below <= 1):
        raise ValueError(f"{path} holds no distribution: {short(line)} is no size in bytes and a probability")
    return size, below


SPELLING = "poisson:SIZES,LOAD"
REFERENCE_MBPS = 1000.0
"""The link rate that sizes are meant for. On links of 1/100 of it flows have 1/100 of the bytes, and last as long."""

_BLOCK = 4096  # arrivals drawn at a time. Part of what a seed means: another number gives other flows.


def spelled(argument: str) -> tuple[SizeLaw, float, str]:
    """``SIZES,LOAD`` or ``SIZES,LOAD to PATTERN``, read; ValueError, one sentence.

    The load is the share of a link's rate that every sender offers, payload alone; the pattern says who may receive
    from whom, and is empty for any other host, each as likely.
    """
    sizes, comma, load, pattern = _parts(argument)
    if not comma or not sizes:
        raise ValueError(f"it is spelled {SPELLING}, as in poisson:web-search,0.5")
    try:
        share = float(load)
    except ValueError:
        raise ValueError(f"the load is a share of the links' rate, as in 0.5, not {load!r}") from None
    if not 0 < share <= 1:
        raise ValueError(f"the load is a share of the links' rate above 0 and at most 1, not {load}")
    return size_law(sizes), share, pattern


def files_of(argument: str) -> list[Path]:
    """The user's files that stand behind ``poisson:``."""
    sizes, _, _, pattern = _parts(argument)
    named = Path(pattern.removeprefix("file:")) if pattern.startswith("file:") else None
    return [path for path in (file_of(sizes), named) if path is not None]


def _parts(argument: str) -> tuple[str, str, str, str]:
    """Sizes, the comma behind them, the load, and the pattern or nothing."""
    arrivals, *pattern = re.split(r"\s+to\s+", argument, maxsplit=1)
    return *arrivals.rpartition(","), pattern[0] if pattern else ""


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Poisson arrivals on ``num_hosts`` hosts.

    ``matrix``: who sends to whom; a sender draws one of its receivers for every flow, each entry as likely. None:
    all hosts send, to any other. ``flows_per_s``: of every sender. ``scale``: what the law's sizes are multiplied by.
    The same ``seed`` and ``part`` (of a workload of several) give the same flows; a longer run begins the same.
    """

    num_hosts: int
    matrix: Matrix | None
    sizes: SizeLaw
    scale: float
    flows_per_s: float
    seed: int
    part: int = 0

    @property
    def senders(self) -> int:
        return self.num_hosts if self.matrix is None else int(np.unique(self.matrix.src).size)

    def expected(self, seconds: float) -> float:
        """How many flows there are on average."""
        return self.flows_per_s * self.senders * seconds

    def blocks(self, seconds: float) -> Iterator[Flows]:
        """The flows that start before ``seconds``, in the order of their starts, some thousand at a time."""
        rng = generator(self.seed, Stream.POISSON, self.part)
        if self.matrix is not None:
            by_sender = np.argsort(self.matrix.src, kind="stable")
            receivers = self.matrix.dst[by_sender]
            hosts, first, choices = np.unique(self.matrix.src[by_sender], return_index=True, return_counts=True)
        gap_s = 1 / (self.flows_per_s * self.senders)
        now = 0.0
        while now < seconds:
            start = now + np.cumsum(rng.exponential(gap_s, _BLOCK))
            now = float(start[-1])
            if self.matrix is None:
                src = rng.integers(0, self.num_hosts, _BLOCK, dtype=np.int32)
                dst = rng.integers(0, self.num_hosts - 1, _BLOCK, dtype=np.int32)
                dst += dst >= src
            else:
                sender = rng.integers(0, hosts.size, _BLOCK)
                src = hosts[sender]
                dst = receivers[first[sender] + (rng.random(_BLOCK) * choices[sender]).astype(np.int64)]
            size = self.sizes.draw(rng, _BLOCK, self.scale)
            count = int(np.searchsorted(start, seconds))
            if count:
                yield columns(src[:count], dst[:count], start[:count], size[:count])
