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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from hedera.schemes import CONTROL
from plots.published import find_published_share
from plots.stored_sweep import Sweep
from plots.style import EXPECTED_ORDER, order_schemes
from plots.summary import (
    FEWEST,
    SWEEPS_KEPT,
    as_csv,
    compute_half_width,
    make_frame,
    order_patterns,
    select_patterns_of_all_trials,
)
from traffic.flowfile import find_own_file

LEVEL = 0.05
SUPPORTED, ALONE, UNSUPPORTED, SILENT = "supported", "alone", "not supported", "nothing can be said"
VALID, ALL_TRIES = "valid runs", "all tries"
BASE = "ecmp"
CSV_COLUMNS = (
    "over", "first", "second", "pattern", "pairs",
    "mean_mbps", "low_mbps", "high_mbps", "p", "holm_p", "verdict",
)  # fmt: skip
SEEDS_COLUMNS = ("measure", "pattern", "scheme", "beyond", "patterns", "seeds", "mean", "low", "high")
COSTS = ("retransmitted_segments", "needless_retransmissions", "segments_out_of_order", "timeouts", "moves")
"""Entries of a run's ``costs`` that are numbers of events."""
COMPLETION = ("median", "p99")
TURNS = ("shuffle_s", "host_completion_s", "goodput_mbytes_per_s")
BASES = ("ecmp", "spanning-tree", "hedera-sa")


@dataclass(frozen=True)
class MeanInterval:
    """The mean of some values, of which each trial gives one, and Student's 95 % interval of that mean.

    In a `Pair` the values are differences within a trial, first scheme minus second, in Mb/s, under one ``pattern``
    (None: over all patterns). ``pairs``: how many values there are. ``low``, ``high``, ``p`` (of a mean of zero) and
    ``adjusted`` (Holm's p) are None where there are fewer than FEWEST.
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
class Pair:
    """Two schemes, pattern by pattern and over the ``common`` patterns that both have in all their trials."""

    first: str
    second: str
    patterns: tuple[MeanInterval, ...]
    overall: MeanInterval
    common: int


def describe_significance(sweep: Sweep) -> str:
    """Sentences on how many patterns each scheduler is significantly above BASE in, by valid runs and by all tries, and
    on how those of the user's own stand beside BASE and each of Hedera's that were run; empty if these were not run."""
    compared, of_tries = (
        {(pair.first, pair.second): pair for pair in compare_all(sweep, over)} for over in (VALID, ALL_TRIES)
    )
    static = [name for name in EXPECTED_ORDER if not name.startswith("hedera-")]
    schemes = [scheme for scheme in order_schemes(run.scheme for run in sweep.runs) if scheme not in static]
    schemes.sort(key=lambda scheme: not is_own(scheme))
    beside_base = [pair for scheme in schemes if (pair := compared.get((scheme, BASE))) and pair.patterns]
    pairs = [compared.get((own, rival)) for own in filter(is_own, schemes) for rival in list_rivals(schemes)]
    beside_rivals = [pair for pair in pairs if pair and pair.patterns]
    rows = [row for pair in (*beside_base, *beside_rivals) for row in pair.patterns]
    if not rows:
        return ""
    if all(row.p is None for row in rows):
        max_pairs = max(row.pairs for row in rows)
        return (
            f"Whether one scheme is above another for certain takes {FEWEST} valid trials of both with the same seeds; "
            f"there {'is' if max_pairs == 1 else 'are'} {max_pairs}."
        )
    counts = []
    for pair in beside_base:
        above, below, tested = _count_certain(pair.patterns)
        all_above, all_below, all_tested = _count_certain(of_tries[pair.first, BASE].patterns)
        counts.append(
            f"{pair.first} in {above} of {tested} patterns, below in {below} "
            f"(with invalid runs counted {all_above} and {all_below} of {all_tested})"
        )
    sentences = [_describe_pair(pair) for pair in beside_rivals]
    if counts:
        test = f"valid trials paired by seed, Student's t, {LEVEL:.0%} with Holm's correction over patterns"
        sentences.insert(0, f"Above {BASE} for certain ({test}): {'; '.join(counts)}.")
    return " ".join(sentences)


def _describe_pair(pair: Pair) -> str:
    """What the trials say of two schemes: in the mean over the patterns that both have in all trials, and pattern by
    pattern, as a mean may be that of one pattern alone."""
    row, names = pair.overall, f"{pair.first} minus {pair.second}"
    if row.mean is None or row.low is None:
        return f"{names} takes {FEWEST} valid trials of both with the same seeds; there are {row.pairs}."
    certain = "for certain" if row.low > 0 or (row.high or 0.0) < 0 else "which may be chance"
    above, below, tested = _count_certain(pair.patterns)
    return (
        f"{names}: {row.mean:+.1f} Mb/s on the wire in the mean of {pair.common} "
        f"{'pattern' if pair.common == 1 else 'patterns'}, 95 % interval {row.low:+.1f} to {row.high:+.1f}, {certain}; "
        f"above for certain in {above} of {tested}, below in {below}."
    )


def list_rivals(schemes: Iterable[str]) -> list[str]:
    """What a scheduler of the user's own is compared with: BASE, and all of Hedera's."""
    return [BASE, *(scheme for scheme in schemes if scheme.startswith("hedera-") and not is_own(scheme))]


def is_own(scheme: str) -> bool:
    """Whether it is a scheduler of the user's own, FILE.py:CLASS."""
    return find_own_file(scheme) is not None


def order_for_comparison(schemes: Iterable[str]) -> list[str]:
    """The order in which schemes are compared: the control, those of the user's own, others without a rank, and the
    ranked ones, the one expected to be best first."""
    place = {name: number for number, name in enumerate(EXPECTED_ORDER)}
    return sorted(set(schemes), key=lambda s: (s != CONTROL, place.get(s, -1), not is_own(s), s))


def select_comparisons(compared: Iterable[Pair]) -> list[Pair]:
    """Of all comparisons those that a reader asks for: the user's own schemes beside BASE and Hedera's, else all
    schemes beside BASE, else all; never the control, which does not compete."""
    pairs = [pair for pair in compared if pair.first != CONTROL and pair.patterns]
    order = list_rivals(order_schemes(pair.second for pair in pairs))
    # Who brings a scheduler asks how it stands beside ECMP and Hedera. All pairs of seven schemes would be 21 tables.
    with_rivals = [pair for rival in order for pair in pairs if is_own(pair.first) and pair.second == rival]
    return with_rivals or [pair for pair in pairs if pair.second == BASE] or pairs


def _count_certain(rows: Sequence[MeanInterval]) -> tuple[int, int, int]:
    """In how many patterns the difference is supported, above and below zero, and how many were tested."""
    means = [row.mean or 0.0 for row in rows if row.verdict == SUPPORTED]
    return sum(mean > 0 for mean in means), sum(mean < 0 for mean in means), sum(row.p is not None for row in rows)


def format_csv(sweep: Sweep) -> str:
    """Every difference between two schemes, over valid runs and over all tries; the pattern ``all`` is over all
    patterns. Holm's correction is over all patterns of a pair of schemes; in rows ``all``, over all pairs."""
    from pandas import DataFrame

    rows = [
        (
            *(over, pair.first, pair.second, row.pattern or "all", row.pairs),
            *(None if value is None else f"{value:.4f}" for value in (row.mean, row.low, row.high)),
            *(None if value is None else f"{value:.4g}" for value in (row.p, row.adjusted)),
            row.verdict,
        )
        for over in (VALID, ALL_TRIES)
        for pair in compare_all(sweep, over)
        for row in (*pair.patterns, pair.overall)
    ]
    return as_csv(DataFrame(rows, columns=CSV_COLUMNS))


@lru_cache(2 * SWEEPS_KEPT)
def compare_all(sweep: Sweep, over: str = VALID) -> tuple[Pair, ...]:
    """Every pair of schemes that were run, in the order of `order_for_comparison`: over VALID runs, or over ALL_TRIES
    that have a number, with the median of each trial's tries."""
    frame = make_frame(sweep)
    if over == VALID:
        frame = frame[frame.counts & frame.valid]
    # Of all tries a trial may have several. Their median makes one value of them: tries of one seed have the same flows
    # on the same paths, and so are no repetitions.
    rates = frame.pivot_table("mbps", ["pattern", "trial"], "scheme", aggfunc="median")
    return compare_schemes(rates, list_pairs(run.scheme for run in sweep.runs))


def list_pairs(schemes: Iterable[str]) -> list[tuple[str, str]]:
    """Every two of the schemes, in the order of `order_for_comparison`."""
    return list(combinations(order_for_comparison(schemes), 2))


def compare_schemes(values: Any, pairs: Iterable[tuple[str, str]]) -> tuple[Pair, ...]:
    """These pairs of schemes, the first minus the second. ``values``: a frame of what was measured, with a row for each
    (pattern, trial) and a column for each scheme."""
    compared = [_compare(values, first, second) for first, second in pairs]
    # Within a pair of schemes the tests are its patterns; the comparisons over all patterns are another family of
    # tests, one for each pair.
    overall = adjust_by_holm([pair.overall for pair in compared])
    return tuple(replace(pair, overall=row) for pair, row in zip(compared, overall, strict=True))


def make_difference_rows(pairs: Iterable[Pair], *, patterns: bool = True, **labels: Any) -> list[dict[str, Any]]:
    """Of each pair of schemes a row for each pattern, if these are wanted, and one over ``all`` patterns that every
    trial has: the mean difference, its 95 % interval (None: fewer than FEWEST trials) and p as Holm's correction leaves
    it. ``labels``: columns before these."""
    rows = []
    for pair in pairs:
        for row in (*pair.patterns, pair.overall) if patterns else (pair.overall,):
            names = {"scheme": pair.first, "minus": pair.second}
            pattern = {"pattern": row.pattern or "all"} if patterns else {}
            numbers = {"difference": row.mean, "from": row.low, "to": row.high, "holm_p": row.adjusted}
            rows.append({**labels, **names, **pattern, "trials": row.pairs, **numbers})
    return rows


def _compare(rates: Any, first: str, second: str) -> Pair:
    if not {first, second} <= set(rates.columns):
        return Pair(first, second, (), estimate_mean(None, []), 0)
    differences = (rates[first] - rates[second]).dropna()
    by_trial = differences.unstack("trial")
    rows = [estimate_mean(p, by_trial.loc[p].dropna().tolist()) for p in order_patterns(by_trial.index)]
    overall, common = average_over_patterns(differences)
    return Pair(first, second, tuple(adjust_by_holm(rows)), overall, common)


def average_over_patterns(values: Any) -> tuple[MeanInterval, int]:
    """The mean, within each trial and then over trials, of a series by pattern and trial, over the patterns that all
    trials have; and the number of these."""
    # A pattern that lacks a trial would shift that trial's mean by its own level, which says nothing of the scheme.
    common = select_patterns_of_all_trials(values)
    return estimate_mean(None, common.mean().dropna().tolist()), len(common)


def estimate_mean(pattern: str | None, differences: Sequence[float]) -> MeanInterval:
    """The mean of values or of paired differences, with Student's interval; the adjusted p equals p until
    `adjust_by_holm` raises it."""
    n = len(differences)
    mean = float(np.mean(differences)) if n else None
    if n < FEWEST or mean is None:
        return MeanInterval(pattern, n, mean)
    if np.ptp(differences) == 0:  # no spread: certain, unless all are zero
        p = float(mean == 0)
        return MeanInterval(pattern, n, mean, mean, mean, p, p)
    from scipy.special import stdtr  # type: ignore[import-untyped]

    error = np.std(differences, ddof=1) / np.sqrt(n)
    p = float(2 * stdtr(n - 1, -abs(mean) / error))
    half = float(compute_half_width(n, error))
    return MeanInterval(pattern, n, mean, mean - half, mean + half, p, p)


def adjust_by_holm(rows: Sequence[MeanInterval]) -> list[MeanInterval]:
    """The rows with p adjusted for their number (Holm 1979); rows without a p stay as they are."""
    tested = sorted((row.p, i) for i, row in enumerate(rows) if row.p is not None)
    adjusted = list(rows)
    # Holm: the smallest p counts as many times as there are tests, the next one time less, and so on. No adjusted p is
    # below one of a smaller p.
    largest = 0.0
    for rank, (p, i) in enumerate(tested):
        largest = max(largest, min(1.0, (len(tested) - rank) * p))
        adjusted[i] = replace(rows[i], adjusted=largest)
    return adjusted


# --- means over seeds ------------------------------------------------------------------------------------------


def format_seeds_csv(sweep: Sweep) -> str:
    """``seeds.csv`` of a published sweep, which the documents quote: what all trials say together of each scheme, and
    of how far it is beyond others. Values are averaged as differences are, with Student's interval (None: fewer than
    FEWEST trials), which is not corrected for their number. Completion times are of each pattern by itself.

    A row for each measure, pattern (``all``: over all patterns) and scheme; and one for how far it is ``beyond``
    those of BASES that come after it. ``wire``, ``payload`` and what ends with ``to_control`` (of shuffles) are in % of
    the control, ``from_published`` is how many points ``wire`` is from the published share, above or below;
    ``of_links`` is payload in % of all hosts' links; costs are counts in a run; completion times are by
    size class, in ms."""
    from pandas import DataFrame

    values = DataFrame(_list_measures(sweep), columns=["measure", "pattern", "trial", "scheme", "value"])
    groups = values.assign(group=values.pattern.where(values.measure.str.endswith("_ms"), "all"))
    rows = []
    for group, values_of_group in groups.groupby(["measure", "group"], sort=False):
        table = values_of_group.pivot(index=["pattern", "trial"], columns="scheme", values="value")
        schemes = order_for_comparison(table.columns)
        for place, scheme in enumerate(schemes):
            for base in (None, *(base for base in BASES if base in schemes[place + 1 :])):
                mean, patterns = average_over_patterns(table[scheme] if base is None else table[scheme] - table[base])
                rows.append((*group, scheme, base, patterns, mean.pairs, mean.mean, mean.low, mean.high))
    return as_csv(DataFrame(rows, columns=SEEDS_COLUMNS), "%.5g")


def _list_measures(sweep: Sweep) -> Iterator[tuple[str, str, int, str, float]]:
    """Every measure of every valid run, with its pattern, trial and scheme."""
    valid = [run for run in sweep.runs if run.valid]
    controls = {(run.pattern, run.trial): run for run in valid if run.scheme == CONTROL}
    for run in valid:
        measured: dict[str, float | None] = {"of_links": _compute_percent(run.payload_mbps, run.capacity_mbps)}
        control = controls.get((run.pattern, run.trial))
        if control is not None and run.scheme != CONTROL:
            measured["wire"] = _compute_percent(run.bisection_mbps, control.bisection_mbps)
            measured["payload"] = _compute_percent(run.payload_mbps, control.payload_mbps)
            published = find_published_share(run.pattern, run.scheme, run.spec.k)
            if published is not None and measured["wire"] is not None:
                measured["from_published"] = abs(measured["wire"] - 100 * published)
            for name in TURNS if run.turns and control.turns else ():
                measured[f"{name}_to_control"] = _compute_percent(
                    getattr(run.turns, name), getattr(control.turns, name)
                )
        measured |= {name: run.costs.get(name) for name in COSTS}
        for classed in run.completion:
            for name in COMPLETION if classed.mean_s is not None and classed.size_class != "all" else ():
                measured[f"{classed.size_class}_{name}_ms"] = 1000 * getattr(classed, f"{name}_s")
        for measure, value in measured.items():
            if value is not None:
                yield measure, run.pattern, run.trial, run.scheme, value


def _compute_percent(mbps: float | None, base: float | None) -> float | None:
    return 100 * mbps / base if mbps is not None and base else None
