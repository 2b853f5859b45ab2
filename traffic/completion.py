"""What became of flows that have a size: completion times and slowdowns by size class, the same for every backend.

The slowdown of a flow is its completion time over that of the same flow alone in the idle network, and at least 1.

A run ends while flows are under way. To leave these out would praise whatever starves large flows, so they count
with the least that they can still turn out to be. Means and high percentiles are then at least what is said;
``known_share`` tells up to where percentiles are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topos.arrays import Bool, Float64

SMALL_BYTES, LARGE_BYTES = 100_000, 10_000_000
CLASSES = {"all": "all flows", "small": "up to 100 kB", "medium": "100 kB to 10 MB", "large": "from 10 MB"}
"""What each is, at 1 Gb/s; on links of other rates they scale with the sizes."""


@dataclass(frozen=True)
class Completion:
    """The flows of one size class; None in place of a statistic where there is none.

    ``flows``: all that count. ``cut_off``: those of them that had not ended. ``known_share``: up to this share of the
    flows, percentiles of times and slowdowns are exact; from there on they, and the means, are lower bounds.
    """

    size_class: str
    flows: int
    cut_off: int
    known_share: float
    mean_s: float | None = None
    median_s: float | None = None
    p95_s: float | None = None
    p99_s: float | None = None
    mean_slowdown: float | None = None
    median_slowdown: float | None = None
    p95_slowdown: float | None = None
    p99_slowdown: float | None = None


def by_class(size_bytes: Float64, seconds: Float64, alone_s: Float64, ended: Bool) -> list[Completion]:
    """The statistics of every class, in the order of CLASSES.

    Arrays of shape (flows,): ``size_bytes``, which says the class; ``seconds``, the completion time, or the least
    that it can be where a flow has not ``ended``; ``alone_s``, that of the flow alone in the idle network.
    """
    slowdown = np.maximum(1.0, seconds / alone_s)
    return [
        _statistics(name, seconds[which], slowdown[which], ended[which]) for name, which in members(size_bytes).items()
    ]


def members(size_bytes: Float64) -> dict[str, Bool]:
    """Which flows are of each class, in the order of CLASSES: bool (flows,)."""
    small, large = size_bytes <= SMALL_BYTES, size_bytes >= LARGE_BYTES
    return dict(zip(CLASSES, (np.ones(size_bytes.size, dtype=bool), small, ~small & ~large, large), strict=True))


def _statistics(name: str, seconds: Float64, slowdown: Float64, ended: Bool) -> Completion:
    if not seconds.size:
        return Completion(name, 0, 0, 1.0)
    times, slowdowns = (_summary(values) for values in (seconds, slowdown))
    known = min(_known_share(values, ended) for values in (seconds, slowdown))
    return Completion(name, int(seconds.size), int((~ended).sum()), known, *times, *slowdowns)


def _summary(values: Float64) -> tuple[float, float, float, float]:
    """Mean, median, 95th and 99th percentile."""
    median, p95, p99 = np.percentile(values, (50, 95, 99)).tolist()
    return float(values.mean()), median, p95, p99


def _known_share(least: Float64, ended: Bool) -> float:
    """The share of values that nothing still unknown can come to lie below."""
    if ended.all():
        return 1.0
    return float((least < least[~ended].min()).mean())
