"""Do the trials support a difference between two schemes?

A trial is one seed, and the seed fixes everything random: drawn matrices, source ports, and so every hashed path.
Both schemes of a trial therefore have the same flows, and their rates are compared within the trial. With n
differences d the interval is Student's: mean(d) +- t(n-1) sd(d) / sqrt(n), 95 %.

A rank or permutation test would not do: with three to five trials it cannot reach 5 % whatever the data (the lowest
two-sided p of a sign-flip test is 2/2^n: 0.25 with three trials, 0.0625 with five). Student's interval assumes that
the differences are roughly normal. With three trials this cannot be checked, and the interval is wide (t = 4.30).

Trials are the unit of replication for a whole sweep too: all patterns of one trial share the seed, so twenty
patterns are not twenty independent experiments. The comparison over all patterns averages within each trial first.

A table of many rows is many tests. Holm's correction is applied over the patterns of one comparison, and over the
pairs of schemes compared over all patterns. A difference is called `alone` if its own interval excludes zero but it
does not survive the correction.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from hedera.schemes import best_first
from plots.style import scheme_order
from plots.summary import pattern_order
from results.record import Run

LEVEL = 0.05
FEWEST = 3
"""With two trials an interval has t = 12.7 and depends on normality alone, so no verdict is given."""

SUPPORTED, ALONE, UNSUPPORTED, SILENT = "supported", "alone", "not supported", "nothing can be said"
VALID, ALL_TRIES = "valid runs", "all tries"
BASE = "ecmp"
CSV_COLUMNS = (
    "over", "first", "second", "pattern", "pairs",
    "mean_mbps", "low_mbps", "high_mbps", "p", "holm_p", "verdict",
)  # fmt: skip


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


@dataclass(frozen=True)
class Gain:
    """In how many of the ``tested`` patterns (those with at least FEWEST pairs) a scheme is significantly above BASE,
    and below it; ``patterns``: those with any pair; ``pairs``: the largest number of pairs of one pattern."""

    scheme: str
    above: int
    below: int
    tested: int
    patterns: int
    pairs: int


def gains(runs: Sequence[Run], every: bool = False) -> tuple[Gain, ...]:
    """One for each Hedera scheme that was run under a pattern for which BASE was also run, as in `compare`."""
    present = {run.scheme for run in runs if run.scheme.startswith("hedera-")}
    found = []
    for scheme in scheme_order(present):
        rows = compare(runs, scheme, BASE, every).patterns
        certain = [row.mean or 0.0 for row in rows if row.verdict == SUPPORTED]
        found += (
            [
                Gain(
                    scheme,
                    sum(mean > 0 for mean in certain),
                    sum(mean < 0 for mean in certain),
                    sum(row.p is not None for row in rows),
                    len(rows),
                    max(row.pairs for row in rows),
                )
            ]
            if rows
            else []
        )
    return tuple(found)


def in_a_sentence(runs: Sequence[Run], tries: Sequence[Run]) -> str:
    """A sentence on how many patterns Hedera is significantly above ECMP in, by valid runs and by all tries; empty if
    these were not run."""
    found, every = gains(runs), {one.scheme: one for one in gains(tries, every=True)}
    if not found:
        return ""
    if not any(one.tested for one in found):
        most = max(one.pairs for one in found)
        return (
            f"Whether Hedera is above {BASE} for certain takes {FEWEST} valid trials of both with the same seeds; "
            f"there {'is' if most == 1 else 'are'} {most}."
        )
    return (
        f"Above {BASE} for certain (valid trials paired by their seeds, Student's t, {LEVEL:.0%} for all patterns of "
        "a scheme together by Holm's correction): "
        + "; ".join(
            f"{one.scheme} in {one.above} of {one.tested} patterns, below in {one.below} (over all tries "
            f"{every[one.scheme].above} and {every[one.scheme].below} of {every[one.scheme].tested})"
            for one in found
        )
        + "."
    )


def csv_text(runs: Sequence[Run], tries: Sequence[Run]) -> str:
    """Every difference between two schemes, over valid runs and over all ``tries``; the pattern ``all`` is over all
    patterns. Holm's correction is over all patterns of a pair of schemes; in rows ``all``, over all pairs."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for over, compared in ((VALID, compare_all(runs)), (ALL_TRIES, compare_all(tries, every=True))):
        for each in compared:
            for row in (*each.patterns, each.overall):
                rates = ["" if value is None else f"{value:.4f}" for value in (row.mean, row.low, row.high)]
                chances = ["" if value is None else f"{value:.4g}" for value in (row.p, row.adjusted)]
                head = (over, each.first, each.second, row.pattern or "all", row.pairs)
                writer.writerow((*head, *rates, *chances, row.verdict))
    return text.getvalue()


def compare_all(runs: Sequence[Run], every: bool = False) -> tuple[Comparison, ...]:
    """Every pair of schemes that were run, the one expected to be better first, as in `compare`."""
    present = {run.scheme for run in runs}
    ranked = best_first()
    order = [s for s in ranked if s in present] + sorted(present - set(ranked))
    found = [compare(runs, first, second, every) for first, second in combinations(order, 2)]
    overall = holm([each.overall for each in found])
    return tuple(replace(each, overall=row) for each, row in zip(found, overall, strict=True))


def compare(runs: Sequence[Run], first: str, second: str, every: bool = False) -> Comparison:
    """The differences between two schemes: of valid runs, or of ``every`` run with a number, with the median of each
    trial's tries."""
    rates: dict[tuple[str, str, int], list[float]] = {}
    for run in runs:
        if (run.valid or every) and run.bisection_mbps is not None and run.scheme in (first, second):
            rates.setdefault((run.pattern, run.scheme, run.trial), []).append(run.bisection_mbps)
    differences: dict[str, dict[int, float]] = {}
    for (pattern, scheme, trial), own in rates.items():
        other = rates.get((pattern, second, trial))
        if scheme == first and other is not None:
            difference_of_trial = float(np.median(own) - np.median(other))
            differences.setdefault(pattern, {})[trial] = difference_of_trial
    rows = [difference(p, list(differences[p].values())) for p in pattern_order(differences)]
    trials = sorted({trial for by_trial in differences.values() for trial in by_trial})
    common = [by_trial for by_trial in differences.values() if len(by_trial) == len(trials)]
    means = [float(np.mean([by_trial[trial] for by_trial in common])) for trial in trials if common]
    return Comparison(first, second, tuple(holm(rows)), difference(None, means), len(common))


def difference(pattern: str | None, differences: Sequence[float]) -> Difference:
    """Student's interval of paired differences; the adjusted p equals p until `holm` raises it."""
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
