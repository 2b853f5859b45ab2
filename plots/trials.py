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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from hedera.schemes import CONTROL, best_first
from plots.style import scheme_order
from plots.summary import FEWEST, pattern_order
from record.run import Run
from traffic.flowfile import file_of_own

LEVEL = 0.05
SUPPORTED, ALONE, UNSUPPORTED, SILENT = "supported", "alone", "not supported", "nothing can be said"
VALID, ALL_TRIES = "valid runs", "all tries"
BASE, RIVAL = "ecmp", "hedera-gff"
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


def in_a_sentence(runs: Sequence[Run], tries: Sequence[Run]) -> str:
    """Sentences on how many patterns each scheduler is significantly above BASE in, by valid runs and by all tries, and
    on how those of the user's own stand beside BASE and RIVAL; empty if these were not run."""
    valid, every = _rates(runs, False), _rates(tries, True)
    names, static = scheme_order(valid.columns), [name for name in best_first() if not name.startswith("hedera-")]
    schemes = sorted((name for name in names if name not in static), key=lambda name: not is_own(name))
    found = {scheme: rows for scheme in schemes if (rows := _compare(valid, scheme, BASE).patterns)}
    beside = [_compare(valid, own, rival) for own in filter(is_own, schemes) for rival in (BASE, RIVAL)]
    compared = [each for each in beside if each.patterns]
    pairs = [row for own in (*found.values(), *(each.patterns for each in compared)) for row in own]
    if not any(row.p is not None for row in pairs):
        most = max((row.pairs for row in pairs), default=0)
        few = (
            f"Whether one scheme is above another for certain takes {FEWEST} valid trials of both with the same seeds; "
            f"there {'is' if most == 1 else 'are'} {most}."
        )
        return few if pairs else ""
    said = []
    for scheme, own_rows in found.items():
        above, below, tested = _certain(own_rows)
        all_above, all_below, all_tested = _certain(_compare(every, scheme, BASE).patterns)
        said.append(
            f"{scheme} in {above} of {tested} patterns, below in {below} "
            f"(over all tries {all_above} and {all_below} of {all_tested})"
        )
    told = [
        f"Above {BASE} for certain (valid trials paired by their seeds, Student's t, {LEVEL:.0%} for all patterns of "
        f"a scheme together by Holm's correction): {'; '.join(said)}."
    ]
    return " ".join([*(told if said else []), *map(_overall, compared)])


def _overall(each: Comparison) -> str:
    """What the trials say of two schemes over the patterns that both have in all of them."""
    row, names = each.overall, f"{each.first} minus {each.second}"
    if row.mean is None or row.low is None:
        return f"{names} takes {FEWEST} valid trials of both with the same seeds; there are {row.pairs}."
    certain = "for certain" if row.low > 0 or (row.high or 0.0) < 0 else "which may be chance"
    return f"{names}: {row.mean:+.1f} Mb/s, 95 % interval {row.low:+.1f} to {row.high:+.1f}, {certain}."


def is_own(scheme: str) -> bool:
    """Whether it is a scheduler of the user's own, FILE.py:CLASS."""
    return file_of_own(scheme) is not None


def first_to_last(schemes: Iterable[str]) -> list[str]:
    """The order in which schemes are compared: the control, those of the user's own, others without a rank, and the
    ranked ones, the one expected to be best first."""
    ranked = best_first()
    place = {name: number for number, name in enumerate(ranked)}
    return sorted(set(schemes), key=lambda s: (s != CONTROL, place.get(s, -1), not is_own(s), s))


def asked_first(compared: Iterable[Comparison]) -> list[Comparison]:
    """Of all comparisons those that a reader asks for: the user's own schemes beside BASE and RIVAL, else all schemes
    beside BASE, else all; never the control, which does not compete."""
    pairs = [each for each in compared if each.first != CONTROL and each.patterns]
    own = [each for rival in (BASE, RIVAL) for each in pairs if is_own(each.first) and each.second == rival]
    return own or [each for each in pairs if each.second == BASE] or pairs


def _certain(rows: Sequence[Difference]) -> tuple[int, int, int]:
    """In how many patterns the difference is supported, above and below zero, and how many were tested."""
    means = [row.mean or 0.0 for row in rows if row.verdict == SUPPORTED]
    return sum(mean > 0 for mean in means), sum(mean < 0 for mean in means), sum(row.p is not None for row in rows)


def csv_text(runs: Sequence[Run], tries: Sequence[Run]) -> str:
    """Every difference between two schemes, over valid runs and over all ``tries``; the pattern ``all`` is over all
    patterns. Holm's correction is over all patterns of a pair of schemes; in rows ``all``, over all pairs."""
    from pandas import DataFrame

    rows = [
        (
            *(over, each.first, each.second, row.pattern or "all", row.pairs),
            *(None if value is None else f"{value:.4f}" for value in (row.mean, row.low, row.high)),
            *(None if value is None else f"{value:.4g}" for value in (row.p, row.adjusted)),
            row.verdict,
        )
        for over, compared in ((VALID, compare_all(runs)), (ALL_TRIES, compare_all(tries, every=True)))
        for each in compared
        for row in (*each.patterns, each.overall)
    ]
    written: str = DataFrame(rows, columns=CSV_COLUMNS).to_csv(index=False, lineterminator="\n")
    return written


def compare_all(runs: Sequence[Run], every: bool = False) -> tuple[Comparison, ...]:
    """Every pair of schemes that were run, in the order of `first_to_last`: of valid runs, or of ``every`` run with a
    number, with the median of each trial's tries."""
    order = first_to_last(run.scheme for run in runs)
    rates = _rates(runs, every)
    found = [_compare(rates, first, second) for first, second in combinations(order, 2)]
    overall = holm([each.overall for each in found])
    return tuple(replace(each, overall=row) for each, row in zip(found, overall, strict=True))


def _rates(runs: Sequence[Run], every: bool) -> Any:
    from pandas import DataFrame

    rows = [(run.pattern, run.trial, run.scheme, run.bisection_mbps) for run in runs if run.valid or every]
    frame = DataFrame(rows, columns=["pattern", "trial", "scheme", "mbps"]).astype({"mbps": float})
    return frame.pivot_table("mbps", ["pattern", "trial"], "scheme", aggfunc="median")


def _compare(rates: Any, first: str, second: str) -> Comparison:
    if not {first, second} <= set(rates.columns):
        return Comparison(first, second, (), difference(None, []), 0)
    differences = (rates[first] - rates[second]).dropna()
    by_trial = differences.unstack("trial")
    rows = [difference(p, by_trial.loc[p].dropna().tolist()) for p in pattern_order(by_trial.index)]
    common = by_trial.dropna()
    overall = difference(None, common.mean().tolist() if len(common) else [])
    return Comparison(first, second, tuple(holm(rows)), overall, len(common))


def difference(pattern: str | None, differences: Sequence[float]) -> Difference:
    """Student's interval of paired differences; the adjusted p equals p until `holm` raises it."""
    n = len(differences)
    mean = float(np.mean(differences)) if n else None
    if n < FEWEST or mean is None:
        return Difference(pattern, n, mean)
    if np.ptp(differences) == 0:  # no spread: certain, unless all are zero
        p = float(mean == 0)
        return Difference(pattern, n, mean, mean, mean, p, p)
    from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped]

    error = np.std(differences, ddof=1) / np.sqrt(n)
    p = float(2 * stdtr(n - 1, -abs(mean) / error))
    half = float(stdtrit(n - 1, 1 - LEVEL / 2) * error)
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
