"""How much shorter HULL's times are than each other scheme's: paired by seed, with an interval.

All schemes of a seed answer exactly the same requests, so each seed's reduction compares like with like. The interval
is Student's, over the seeds' reductions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from packets.metrics import PUBLISHED, Row, by_seed
from packets.result import Result
from plots.trials import difference
from topos.arrays import Float64

HULL = "hull"

Found = Mapping[tuple[str, int, str], Sequence[Result]]
"""Every seed's result, by variant, x and scheme."""


def reductions(experiment: str, column: str, found: Found, metric: str, statistic: str) -> list[Row]:
    """HULL's reductions of a time against every other scheme, in percent of that scheme's time; below 0: an increase.

    By x (``column``), and its mean over all x above 0 (None); none if a time is 0 or the metric is not a time.
    ``percent``: the mean over seeds; ``low``, ``high``: its 95 % interval, None if there are too few seeds.
    ``published``: from the published numbers, None if there are none.
    """
    if not metric.endswith(("_us", "_ms")):
        return []
    rows = []
    for variant, than in dict.fromkeys((variant, scheme) for variant, _, scheme in found if scheme != HULL):
        percent: dict[int | None, Float64] = {}
        published: dict[int | None, float | None] = {}
        for x in [x for v, x, scheme in found if (v, scheme) == (variant, than) and (variant, x, HULL) in found]:
            own, other = (by_seed(found[variant, x, name], metric, statistic) for name in (HULL, than))
            if own.size == other.size and own.size and (other > 0).all():
                percent[x] = 100 * (1 - own / other)
                theirs = [PUBLISHED.get((experiment, x, name, metric, statistic)) for name in (HULL, than)]
                published[x] = 100 * (1 - theirs[0] / theirs[1]) if theirs[0] and theirs[1] else None
        loaded = [x for x in percent if x]
        if len(loaded) > 1:
            known = [value for x in loaded if (value := published[x]) is not None]
            published[None] = float(np.mean(known)) if len(known) == len(loaded) else None
            percent[None] = np.mean([percent[x] for x in loaded], axis=0)
        for at, values in percent.items():
            of = difference(None, values.tolist())
            rows.append(
                {
                    column: at, "variant": variant, "metric": metric, "statistic": statistic, "than": than,
                    "published": published[at], "percent": of.mean, "low": of.low, "high": of.high, "seeds": of.pairs,
                }
            )  # fmt: skip
    return rows
