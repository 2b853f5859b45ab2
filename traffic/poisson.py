"""Open-loop arrivals: flows that start at random moments, whatever has become of those before (``poisson:SIZES,LOAD``).

SIZES is the law of how large they are (`traffic.sizes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from traffic.flows import Flows, Matrix, Stream, make_flows, make_generator
from traffic.sizes import SizeLaw, find_file, find_size_law

SPELLING = "poisson:SIZES,LOAD"
REFERENCE_MBPS = 1000.0
"""The link rate that sizes are meant for. On links of 1/100 of it flows have 1/100 of the bytes, and last as long."""

_BLOCK = 4096  # arrivals drawn at a time. Part of what a seed means: another number gives other flows.


def parse_poisson(argument: str) -> tuple[SizeLaw, float, str]:
    """``SIZES,LOAD`` or ``SIZES,LOAD to PATTERN``, read; ValueError, one sentence.

    The load is the share of a link's rate that every sender offers, payload alone; the pattern says who may receive
    from whom, and is empty for any other host, each as likely.
    """
    sizes, comma, load, pattern = _split_parts(argument)
    if not comma or not sizes:
        raise ValueError(f"it is spelled {SPELLING}, as in poisson:web-search,0.5")
    try:
        share = float(load)
    except ValueError:
        raise ValueError(f"the load is a share of the links' rate, as in 0.5, not {load!r}") from None
    if not 0 < share <= 1:
        raise ValueError(f"the load is a share of the links' rate above 0 and at most 1, not {load}")
    return find_size_law(sizes), share, pattern


def find_files(argument: str) -> list[Path]:
    """The user's files that stand behind ``poisson:``."""
    sizes, _, _, pattern = _split_parts(argument)
    named = Path(pattern.removeprefix("file:")) if pattern.startswith("file:") else None
    return [path for path in (find_file(sizes), named) if path is not None]


def _split_parts(argument: str) -> tuple[str, str, str, str]:
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
        rng = make_generator(self.seed, Stream.POISSON, self.part)
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
                # Whole blocks are drawn, even if the last is cut off, so that a longer run begins with the very flows
                # of a shorter one.
                src = rng.integers(0, self.num_hosts, _BLOCK, dtype=np.int32)
                dst = rng.integers(0, self.num_hosts - 1, _BLOCK, dtype=np.int32)
                # Of the other hosts each is as likely: the number is drawn among one less, and goes past the sender's
                # own.
                dst += dst >= src
            else:
                sender = rng.integers(0, hosts.size, _BLOCK)
                src = hosts[sender]
                dst = receivers[first[sender] + (rng.random(_BLOCK) * choices[sender]).astype(np.int64)]
            size = self.sizes.draw(rng, _BLOCK, self.scale)
            count = int(np.searchsorted(start, seconds))
            if count:
                yield make_flows(src[:count], dst[:count], start[:count], size[:count])
