"""How much shorter HULL's times are than each other scheme's: paired by seed, with an interval.

All schemes of a seed answer exactly the same requests, so each seed's reduction compares like with like. The interval
is Student's, over the seeds' reductions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from packets.metrics import PUBLISHED, by_seed
from packets.result import Result
from topos.arrays import Float64

HULL = "hull"
FEWEST = 3
"""Seeds for an interval."""

Found = Mapping[tuple[str, float, str], Sequence[Result]]
"""Every seed's result, by variant, x and scheme."""


@dataclass(frozen=True)
class Reduction:
    """HULL's reduction of a time against another scheme, in percent of that scheme's time; below 0: an increase.

    ``x``: None for the mean of all x above 0. ``percent``: the mean over seeds; ``low``, ``high``: its 95 % interval,
    None if there are too few seeds. ``published``: from the published numbers, None if there are none.
    """

    x: float | None
    variant: str
    metric: str
    statistic: str
    than: str
    published: float | None
    percent: float
    low: float | None
    high: float | None
    seeds: int


def reductions(experiment: str, found: Found, metric: str, statistic: str) -> list[Reduction]:
    """HULL's reductions against every other scheme, by x and on average; none if a time is 0 or the metric is not a
    time."""
    if not metric.endswith(("_us", "_ms")):
        return []
    rows = []
    for variant, than in dict.fromkeys((variant, scheme) for variant, _, scheme in found if scheme != HULL):
        percent: dict[float, Float64] = {}
        published: dict[float, float | None] = {}
        for x in [x for v, x, scheme in found if (v, scheme) == (variant, than) and (variant, x, HULL) in found]:
            own, other = (by_seed(found[variant, x, name], metric, statistic) for name in (HULL, than))
            if own.size == other.size and own.size and (other > 0).all():
                percent[x] = 100 * (1 - own / other)
                theirs = [PUBLISHED.get((experiment, x, name, metric, statistic)) for name in (HULL, than)]
                published[x] = 100 * (1 - theirs[0] / theirs[1]) if theirs[0] and theirs[1] else None
        rows += [_row((x, variant, metric, statistic, than), published[x], values) for x, values in percent.items()]
        loaded = [x for x in percent if x > 0]
        if len(loaded) > 1:
            known = [value for x in loaded if (value := published[x]) is not None]
            mean_published = float(np.mean(known)) if len(known) == len(loaded) else None
            mean = np.mean([percent[x] for x in loaded], axis=0)
            rows.append(_row((None, variant, metric, statistic, than), mean_published, mean))
    return rows


def _row(what: tuple[float | None, str, str, str, str], published: float | None, percent: Float64) -> Reduction:
    low, high = _interval(percent)
    return Reduction(*what, published, float(percent.mean()), low, high, percent.size)


def _interval(percent: Float64) -> tuple[float, float] | tuple[None, None]:
    if percent.size < FEWEST:
        return None, None
    from scipy.stats import t as student  # type: ignore[import-untyped]  # slow to import

    half = float(student.ppf(0.975, percent.size - 1)) * float(np.std(percent, ddof=1)) / np.sqrt(percent.size)
    return float(percent.mean() - half), float(percent.mean() + half)
