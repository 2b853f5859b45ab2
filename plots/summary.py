"""From runs to bars: median and 5th and 95th percentile over trials, in Mb/s and as a share of the control.

A bar of the paper's Figure 9 is one of these. Only valid runs count. Each bar also has its numbers over all tries of
its trials, whatever their verdict, and how many of them were left out: these may differ from the ones that count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hedera.schemes import CONTROL
from plots.style import scheme_order, short
from results.published import FIGURE_9
from results.record import Run
from results.window import mean_over

BAR = ["pattern", "scheme"]
WINDOWS = {
    "late_median_ratio": "in the last third",
    "before_median_ratio": "before the failure",
    "after_median_ratio": "after it",
}


class Bar(NamedTuple):
    """One scheme under one pattern, a line of summary.csv; None where there is no number.

    Rates are in Mb/s on the wire, or payload where the name says so. A ratio is a run's rate over that of the control
    of its trial, which has the same flows. ``late``: over the last third of the run, when TCP has found its rates
    after most moves (None: flows arrive and end); ``before`` and ``after``: over the parts of the window before the
    first failure and after the last. ``invalid_median_mbps``: of trials that do not count. ``all``: over all tries.
    """

    pattern: str
    scheme: str
    valid_trials: int
    invalid_trials: int
    median_mbps: float | None
    p5_mbps: float | None
    p95_mbps: float | None
    median_ratio: float | None
    p5_ratio: float | None
    p95_ratio: float | None
    median_payload_mbps: float | None
    p5_payload_mbps: float | None
    p95_payload_mbps: float | None
    invalid_median_mbps: float | None
    not_judged_trials: int
    tries: int
    left_out_tries: int
    all_median_mbps: float | None
    all_median_ratio: float | None
    late_median_ratio: float | None
    before_median_ratio: float | None
    after_median_ratio: float | None
    capacity_mbps: float
    payload_capacity_mbps: float
    reasons: str
    all_payload_mbps: float | None

    @property
    def trials(self) -> int:
        return self.valid_trials + self.invalid_trials + self.not_judged_trials

    @property
    def void(self) -> str:
        return "NOT JUDGED" if self.not_judged_trials and not self.invalid_trials else "INVALID"


COLUMNS = Bar._fields[:-1]
"""Of summary.csv."""


@dataclass(frozen=True)
class Summary:
    """All bars of a sweep, as a frame and by (pattern, scheme); the order to show them in; the network's size and the
    most that all hosts could receive, on the wire and as payload, in Mb/s."""

    frame: Any
    patterns: tuple[str, ...]
    schemes: tuple[str, ...]
    k: int
    capacity_mbps: float
    payload_capacity_mbps: float
    bars: Mapping[tuple[str, str], Bar]


def summarise(runs: Sequence[Run], tries: Sequence[Run] | None = None) -> Summary:
    """The bars of these runs, one run per trial; ``tries``: all runs, if there were more. Raises ValueError when
    there is no run."""
    if not runs:
        raise ValueError("there is no run to summarise")
    from pandas import DataFrame, concat

    frame = tries_of(runs, runs if tries is None else tries)
    counted = frame[frame.counts]
    valid, bad = counted[counted.valid], counted[~counted.valid]
    verdicts = counted.groupby([*BAR, "verdict"]).size().unstack(fill_value=0)
    every = frame.groupby(BAR)
    one_each = {
        "valid_trials": verdicts.get("ok", 0),
        "invalid_trials": verdicts.get("invalid", 0),
        "not_judged_trials": verdicts.get("not judged", 0),
        "invalid_median_mbps": bad.groupby(BAR).mbps.median(),
        "tries": every.size(),
        "left_out_tries": every.size() - every.valid.sum(),
        "all_median_mbps": every.mbps.median(),
        "all_median_ratio": every.all_ratio.median(),
        "all_payload_mbps": every.payload_mbps.median(),
        **{f"{when}_median_ratio": valid.groupby(BAR)[when].median() for when in ("late", "before", "after")},
        "capacity_mbps": max(run.capacity_mbps for run in runs),
        "payload_capacity_mbps": max(run.payload_capacity_mbps for run in runs),
    }
    spreads = [_spread(valid, what) for what in ("mbps", "ratio", "payload_mbps")]
    bars = concat([DataFrame(one_each, index=verdicts.index), *spreads], axis=1)
    said = bad.groupby(BAR).reasons.agg(lambda found: "; ".join(dict.fromkeys(one for own in found for one in own)))
    bars["reasons"] = said.reindex(bars.index).fillna("") if len(bad) else ""
    patterns, schemes = pattern_order(counted.pattern), scheme_order(counted.scheme)
    index = [(p, s) for p in patterns for s in schemes if (p, s) in bars.index]
    bars = bars.loc[index].reset_index()[[*COLUMNS, "all_payload_mbps"]]
    plain = bars.astype(object).where(bars.notna(), None)
    by_bar = {(row.pattern, row.scheme): row for row in map(Bar._make, plain.itertuples(index=False))}
    first = plain.iloc[0]
    return Summary(
        bars, tuple(patterns), tuple(schemes), runs[0].spec.k, first.capacity_mbps, first.payload_capacity_mbps, by_bar
    )


def tries_of(runs: Sequence[Run], tries: Sequence[Run]) -> Any:
    """A row for each of the ``tries``, as a frame; ``counts``: whether it is one of ``runs``, of which a trial has
    one. ``ratio``, ``late``, ``before`` and ``after`` are over the valid control of the trial, ``all_ratio`` over the
    median of all tries of it."""
    from pandas import DataFrame

    counting = set(map(id, runs))
    control = {(run.pattern, run.trial): run for run in runs if run.valid and run.scheme == CONTROL}
    rows = []
    for run in tries:
        base = control.get((run.pattern, run.trial)) if run.valid and id(run) in counting else None
        lasting = all(flow.size_bytes is None for flow in run.flows)
        third = (run.spec.seconds * 2 / 3, run.spec.seconds) if lasting else None
        phases = [(one.from_s, one.to_s) for one in run.phases] if run.failures else []
        rows.append(
            {
                "pattern": run.pattern,
                "scheme": run.scheme,
                "trial": run.trial,
                "seed": run.seed,
                "verdict": run.verdict,
                "valid": run.valid,
                "counts": id(run) in counting,
                "mbps": run.bisection_mbps,
                "payload_mbps": run.payload_mbps,
                "ratio": _ratio(run.bisection_mbps, base.bisection_mbps if base else None),
                "late": _ratio(*(_received(one, third) for one in (run, base))),
                "before": _ratio(*(_received(one, phases[0] if phases else None) for one in (run, base))),
                "after": _ratio(*(_received(one, phases[-1] if phases else None) for one in (run, base))),
                "reasons": run.reasons,
            }
        )
    frame = DataFrame(rows)
    numbers = ["mbps", "payload_mbps", "ratio", "late", "before", "after"]
    frame[numbers] = frame[numbers].astype(float)
    controls = frame[(frame.scheme == CONTROL) & (frame.mbps > 0)].groupby(["pattern", "trial"]).mbps.median()
    frame["all_ratio"] = frame.mbps / frame.join(controls.rename("control"), on=["pattern", "trial"]).control
    return frame


def by_scheme(frame: Any) -> Any:
    """A row for each scheme over its patterns: sums of trials and tries, and means over patterns of median shares of
    the control: of the trials that count, of all tries, and in other windows where there are such. ``patterns`` and
    ``all_patterns``: how many have one."""
    schemes = frame.groupby("scheme", sort=False)
    sums = schemes[["valid_trials", "invalid_trials", "not_judged_trials", "tries", "left_out_tries"]].sum()
    shares = ["median_ratio", "all_median_ratio", *(name for name in WINDOWS if frame[name].notna().any())]
    made = sums.join(schemes[shares].mean())
    made["patterns"], made["all_patterns"] = schemes.median_ratio.count(), schemes.all_median_ratio.count()
    return made.loc[scheme_order(made.index)]


def pattern_order(patterns: Iterable[str]) -> list[str]:
    """Patterns in the order of the paper's Figure 9, then the others by name, numbers in them by value."""
    published = list(FIGURE_9)

    def key(pattern: str) -> tuple[int, list[tuple[int, str]]]:
        name = short(pattern)
        parts = [(int(part), "") if i % 2 else (0, part) for i, part in enumerate(re.split(r"([0-9]{1,18})", name))]
        return (published.index(name) if name in FIGURE_9 else len(published), parts)

    return sorted(set(patterns), key=key)


def _spread(frame: Any, what: str) -> Any:
    """Median, 5th and 95th percentile over the trials of each bar."""
    quantiles = [0.5, 0.05, 0.95]
    found = frame.groupby(BAR)[what].quantile(quantiles).unstack().reindex(columns=quantiles)
    return found.set_axis([f"median_{what}", f"p5_{what}", f"p95_{what}"], axis=1)


def _received(run: Run | None, window: tuple[float, float] | None) -> float | None:
    """The rate received by all hosts, Mb/s on the wire; None if the window has no sample."""
    if run is None or window is None:
        return None
    mean = mean_over(np.array(run.rates.t), np.array(run.rates.total_mbps), window)
    return None if np.isnan(mean) else mean


def _ratio(own: float | None, base: float | None) -> float | None:
    return own / base if own is not None and base else None
