"""Do the trials support a difference between two schemes?

A trial is one seed, and the seed fixes what chance decides: drawn matrices, source ports, and so every hashed
path. Both schemes of a trial therefore faced the same flows, and their rates are compared within the trial. With
n differences d the interval is Student's: mean(d) +- t(n-1) sd(d) / sqrt(n), 95 %.

Why that and not a rank or permutation test: with the three to five trials one can afford these cannot reach 5 %
whatever the data (the least two-sided p of a sign-flip test is 2/2^n: 0.25 with three trials, 0.0625 with five).
The price of Student's interval is the assumption that the differences are roughly normal; with three trials it
cannot be checked, and the interval is as wide as honesty requires (t = 4.30).

Trials are the unit of replication for a whole sweep too: all patterns of one trial share the seed, so twenty
patterns are not twenty independent experiments. The comparison over all patterns averages within each trial first.

A table of many rows is many tests. Holm's correction is applied over the patterns of one comparison, and over the
pairs of schemes compared over all patterns; a difference whose own interval leaves out zero, but which does not
survive the correction, is called `alone`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from hedera.schemes import best_first
from plots.summary import pattern_order
from results.record import Run

LEVEL = 0.05
FEWEST = 3
"""With two trials an interval has t = 12.7 and rests on normality alone: nothing is said."""

SUPPORTED, ALONE, UNSUPPORTED, SILENT = "supported", "alone", "not supported", "nothing can be said"


@dataclass(frozen=True)
class Difference:
    """First scheme minus second under one pattern (None: all patterns), in Mb/s over the paired valid trials.

    ``low``, ``high``, ``p`` and ``adjusted`` (Holm's p) are None when there are fewer than FEWEST pairs.
    """

    pattern: str | None
    pairs: int
    mean: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    adjusted: float | None = None

    @property
    def verdict(self) -> str:
        """One of SUPPORTED, ALONE, UNSUPPORTED and SILENT."""
        if self.p is None or self.adjusted is None:
            return SILENT
        if self.adjusted < LEVEL:
            return SUPPORTED
        return ALONE if self.p < LEVEL else UNSUPPORTED


@dataclass(frozen=True)
class Comparison:
    """Two schemes, pattern by pattern and over the ``common`` patterns that both have in all their trials."""

    first: str
    second: str
    patterns: tuple[Difference, ...]
    overall: Difference
    common: int


def compare_all(runs: Sequence[Run]) -> tuple[Comparison, ...]:
    """Every pair of schemes that were run, the one expected to be better first."""
    present = {run.scheme for run in runs}
    ranked = best_first()
    order = [s for s in ranked if s in present] + sorted(present - set(ranked))
    found = [compare(runs, first, second) for first, second in combinations(order, 2)]
    overall = holm([each.overall for each in found])
    return tuple(replace(each, overall=row) for each, row in zip(found, overall, strict=True))


def compare(runs: Sequence[Run], first: str, second: str) -> Comparison:
    """The differences between two schemes."""
    rates = {
        (run.pattern, run.scheme, run.trial): run.bisection_mbps
        for run in runs
        if run.valid and run.bisection_mbps is not None and run.scheme in (first, second)
    }
    differences: dict[str, dict[int, float]] = {}
    for pattern, scheme, trial in rates:
        other = rates.get((pattern, second, trial))
        if scheme == first and other is not None:
            differences.setdefault(pattern, {})[trial] = rates[pattern, first, trial] - other
    rows = [difference(p, list(differences[p].values())) for p in pattern_order(differences)]
    trials = sorted({trial for by_trial in differences.values() for trial in by_trial})
    common = [by_trial for by_trial in differences.values() if len(by_trial) == len(trials)]
    means = [float(np.mean([by_trial[trial] for by_trial in common])) for trial in trials if common]
    return Comparison(first, second, tuple(holm(rows)), difference(None, means), len(common))


def difference(pattern: str | None, differences: Sequence[float]) -> Difference:
    """Student's interval of paired differences; the adjusted p is the p itself until `holm` raises it."""
    n = len(differences)
    mean = float(np.mean(differences)) if n else None
    if n < FEWEST or mean is None:
        return Difference(pattern, n, mean)
    from scipy.stats import t as student  # type: ignore[import-untyped]

    error = float(np.std(differences, ddof=1)) / math.sqrt(n)
    half = float(student.ppf(1 - LEVEL / 2, n - 1)) * error
    p = 2 * float(student.sf(abs(mean) / error, n - 1)) if error else float(mean == 0)
    return Difference(pattern, n, mean, mean - half, mean + half, p, p)


def holm(rows: Sequence[Difference]) -> list[Difference]:
    """The rows with p adjusted for their number (Holm 1979); rows without a p stay as they are."""
    tested = sorted((row.p, i) for i, row in enumerate(rows) if row.p is not None)
    adjusted = list(rows)
    largest = 0.0
    for rank, (p, i) in enumerate(tested):
        largest = max(largest, min(1.0, (len(tested) - rank) * p))
        adjusted[i] = replace(rows[i], adjusted=largest)
    return adjusted
