"""From runs to bars: median and 5th and 95th percentile over trials, in Mb/s and as a share of the control; as a table
for the terminal, and as CSV with every number.

A bar of the paper's Figure 9 is one of these. Only valid runs count. Each bar also has its numbers over all tries of
its trials, whatever their verdict, and how many of them were left out: these may differ from the ones that count.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hedera.schemes import CONTROL
from plots.stored_sweep import Sweep
from plots.style import format_number, order_schemes, shorten_name
from record.published import FIGURE_9
from record.run import Run, mean_over

if TYPE_CHECKING:
    from rich.table import Table

BAR = ["pattern", "scheme"]
SWEEPS_KEPT = 4
"""Tables, figures and page are made of the same bars, which are computed once for each of the last sweeps."""
WINDOWS = {
    "late_median_ratio": "in the last third",
    "before_median_ratio": "before the failure",
    "after_median_ratio": "after it",
}
# With two trials Student's t is 12.7, and the interval depends on normality alone.
FEWEST = 3
"""From so many trials on there is an interval."""
ENOUGH = 10
"""From so many trials on there are percentiles of the trials in its place."""
COLUMNS = (
    "pattern", "scheme", "valid_trials", "invalid_trials", "median_mbps", "p5_mbps", "p95_mbps",
    "median_ratio", "p5_ratio", "p95_ratio", "median_payload_mbps", "p5_payload_mbps", "p95_payload_mbps",
    "invalid_median_mbps", "not_judged_trials", "tries", "left_out_tries", "all_median_mbps", "all_median_ratio",
    *WINDOWS, "capacity_mbps", "payload_capacity_mbps", "reasons",
)  # fmt: skip
"""Of summary.csv, a line for each bar: one scheme under one pattern.

Rates are in Mb/s on the wire, or payload where the name says so. A ratio is a run's rate over that of the control of
its trial, which has the same flows. ``late``: over the last third of the run, when TCP has found its rates after most
moves (none: flows arrive and end); ``before`` and ``after``: over the parts of the window before the first failure and
after the last. ``invalid_median_mbps``: of trials that do not count. ``all``: over all tries.
"""


@dataclass(frozen=True)
class Summary:
    """All bars of a sweep; the order to show them in; the fat-tree's size, 0 for a network unlike the paper's; and the
    most payload that all hosts could receive, in Mb/s.

    ``frame`` has COLUMNS; the number of ``trials``; ``no_bar_text``, what to say of a bar without a valid one;
    ``all_payload_mbps``; and the ends of `compute_whiskers`, ``low_...`` and ``high_...``. ``bars`` has its rows by
    (pattern, scheme), with None where there is no number.
    """

    frame: Any
    patterns: tuple[str, ...]
    schemes: tuple[str, ...]
    k: int
    payload_capacity_mbps: float
    bars: Mapping[tuple[str, str], Any]


@lru_cache(SWEEPS_KEPT)
def summarise(sweep: Sweep) -> Summary:
    """The bars of a sweep. Raises ValueError when there is no run."""
    if not sweep.runs:
        raise ValueError("there is no run to summarise")
    tries = make_frame(sweep)
    counted = tries[tries.counts]
    # The runs of a sweep have one network, so all of them agree on these two, unless a file was edited by hand.
    capacity = max(run.capacity_mbps for run in sweep.runs)
    payload = max(run.payload_capacity_mbps for run in sweep.runs)
    bars = _aggregate_bars(tries).assign(capacity_mbps=capacity, payload_capacity_mbps=payload)
    # Trials of a bar mostly fail for the same reason, which its line then has once.
    bad = counted[~counted.valid].explode("reasons").dropna(subset="reasons")
    reasons = bad.groupby(BAR).reasons.agg(lambda group: "; ".join(group.unique()))
    bars["reasons"] = reasons.reindex(bars.index).fillna("")
    patterns, schemes = order_patterns(counted.pattern), order_schemes(counted.scheme)
    order = [(pattern, scheme) for pattern in patterns for scheme in schemes if (pattern, scheme) in bars.index]
    frame = bars.loc[order].reset_index()
    # Pages and JSON have None for a number that is missing: nan is no JSON, and would spoil a sum unseen.
    plain = frame.astype(object).where(frame.notna(), None)
    by_bar = dict(zip(order, plain.itertuples(index=False, name="Bar"), strict=True))
    k = find_published_k(sweep.runs[0])
    return Summary(frame, tuple(patterns), tuple(schemes), k, payload, by_bar)


def find_published_k(run: Run) -> int:
    """The size of a run's fat-tree, by which it may stand beside a published one; 0 for another network."""
    return run.spec.k if run.spec.topology is None and run.spec.oversubscribe in (None, 1) else 0


def _aggregate_bars(tries: Any) -> Any:
    """What was counted and measured of each bar, from a row for each try."""
    from pandas import DataFrame

    counted, every = tries[tries.counts], tries.groupby(BAR)
    valid, bad = (counted[counted.valid == is_valid].groupby(BAR) for is_valid in (True, False))
    verdicts = counted.groupby([*BAR, "verdict"]).size().unstack(fill_value=0)
    spreads = {
        f"{name}_{measure}": valid[measure].quantile(share)
        for measure in ("mbps", "ratio", "payload_mbps")
        for name, share in (("median", 0.5), ("p5", 0.05), ("p95", 0.95))
    }
    ends = [compute_whiskers(valid[measure]).add_suffix(f"_{measure}") for measure in ("ratio", "payload_mbps")]
    bars = DataFrame(
        {
            "trials": counted.groupby(BAR).size(),
            "valid_trials": verdicts.get("ok", 0),
            "invalid_trials": verdicts.get("invalid", 0),
            "not_judged_trials": verdicts.get("not judged", 0),
            "invalid_median_mbps": bad.mbps.median(),
            "tries": every.size(),
            "left_out_tries": every.size() - every.valid.sum(),
            "all_median_mbps": every.mbps.median(),
            "all_median_ratio": every.all_ratio.median(),
            "all_payload_mbps": every.payload_mbps.median(),
            **{column: valid[column].median() for column in WINDOWS},
            **spreads,
        },
        index=verdicts.index,
    ).join(ends)
    # "Invalid" would blame the machine where a run was only too short for the rules of speed; it is said of a bar as
    # soon as one of its trials broke a rule.
    only_short = (bars.not_judged_trials > 0) & (bars.invalid_trials == 0)
    return bars.assign(no_bar_text=np.where(only_short, "NOT JUDGED", "INVALID"))


def compute_half_width(number: Any, error: Any) -> Any:
    """Half of Student's 95 % interval of means of ``number`` values, which have these standard ``error``s: numbers,
    arrays or series."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    return stdtrit(number - 1, 0.975) * error


def compute_whiskers(values: Any) -> Any:
    """The ends ``low`` and ``high`` of the whisker of each group of a grouped series of trials' values: the 5th and
    95th percentile of ENOUGH trials or more; of fewer Student's 95 % interval of their mean; none of fewer than FEWEST.
    """
    from pandas import DataFrame

    # Of many trials readers expect percentiles, but three trials have no 5th one. Lines from the lowest to the highest
    # of them would look as sure as those of fifty, so a picture says which of the two it has.
    number, mean = values.count(), values.mean()
    half = compute_half_width(number, values.sem()).where(number >= FEWEST)
    few = number < ENOUGH
    low, high = (mean - half).where(few, values.quantile(0.05)), (mean + half).where(few, values.quantile(0.95))
    return DataFrame({"low": low, "high": high})


def describe_whiskers(trials: int) -> str:
    """What `compute_whiskers` gives for a bar of so many trials, in words; empty if nothing."""
    if trials < FEWEST:
        return ""
    return "5th to 95th percentile" if trials >= ENOUGH else "95 % interval of the mean"


@lru_cache(SWEEPS_KEPT)
def make_frame(sweep: Sweep) -> Any:
    """A row for each try of a sweep, as a frame; ``counts``: whether it is one of its runs, of which a trial has one.
    ``ratio`` and those of WINDOWS are over the valid control of the trial, ``all_ratio`` over the median of all
    tries of it."""
    from pandas import DataFrame

    counting = set(map(id, sweep.runs))
    control = {(run.pattern, run.trial): run for run in sweep.runs if run.valid and run.scheme == CONTROL}
    rows = []
    for run in sweep.tries:
        counts = id(run) in counting
        # A run is compared with the control of its own trial, which had the same flows with the same ports. So what a
        # seed drew is not taken for a difference between schemes.
        base = control.get((run.pattern, run.trial)) if run.valid and counts else None
        rows.append(
            {name: getattr(run, name) for name in ("pattern", "scheme", "trial", "seed", "verdict", "valid", "reasons")}
            | {"counts": counts, "mbps": run.bisection_mbps, "payload_mbps": run.payload_mbps}
            | {"control_mbps": base.bisection_mbps if base else None}
            | {name: _compute_ratio(run, base, window) for name, window in _find_windows(run).items()}
        )
    frame = DataFrame(rows).astype(dict.fromkeys(["mbps", "payload_mbps", "control_mbps", *WINDOWS], float))
    frame["ratio"] = frame.mbps / frame.control_mbps.where(frame.control_mbps > 0)
    # Over all tries there may be several of the control in a trial, some of them invalid. Their median is taken, so
    # that no single one decides about a whole trial.
    controls = frame[(frame.scheme == CONTROL) & (frame.mbps > 0)].groupby(["pattern", "trial"]).mbps.median()
    frame["all_ratio"] = frame.mbps / frame.join(controls.rename("of_tries"), on=["pattern", "trial"]).of_tries
    return frame


def _find_windows(run: Run) -> dict[str, tuple[float, float] | None]:
    """The parts of a run that WINDOWS names, in seconds; None: it has no such part."""
    lasting = all(flow.size_bytes is None for flow in run.flows)
    phases = [(phase.from_s, phase.to_s) for phase in run.phases] if run.failures else []
    before_failure, after_failure = (None if run.phases[0].down else phases[0], phases[-1]) if phases else (None, None)
    # Only flows that are there all the time have rates that settle, and by the last third TCP has found them.
    third = (run.spec.seconds * 2 / 3, run.spec.seconds) if lasting else None
    return dict(zip(WINDOWS, (third, before_failure, after_failure), strict=True))


def _compute_ratio(run: Run, control: Run | None, window: tuple[float, float] | None) -> float | None:
    """What all hosts received in a window, over what they received in the control."""
    if control is None or window is None:
        return None
    mbps, base = (mean_over(np.array(r.rates.t), np.array(r.rates.total_mbps), window) for r in (run, control))
    return mbps / base if base else None


def select_patterns_of_all_trials(values: Any) -> Any:
    """Of a series by pattern and trial, those patterns that all its trials have: a column for each trial."""
    return values.dropna().unstack("trial").dropna()


def average_by_scheme(frame: Any) -> Any:
    """A row for each scheme over its patterns: sums of trials and tries, and means over patterns of median shares of
    the control: of the trials that count, of all tries, and in other windows where there are such. ``patterns`` and
    ``all_patterns``: how many have one."""
    schemes = frame.groupby("scheme", sort=False)
    sums = schemes[["valid_trials", "invalid_trials", "not_judged_trials", "tries", "left_out_tries"]].sum()
    shares = ["median_ratio", "all_median_ratio", *(name for name in WINDOWS if frame[name].notna().any())]
    rows = sums.join(schemes[shares].mean())
    rows["patterns"], rows["all_patterns"] = schemes.median_ratio.count(), schemes.all_median_ratio.count()
    return rows.loc[order_schemes(rows.index)]


def order_patterns(patterns: Iterable[str]) -> list[str]:
    """Patterns in the order of the paper's Figure 9, then the others by name, numbers in them by value."""
    published = list(FIGURE_9)

    def key(pattern: str) -> tuple[int, list[tuple[int, str]]]:
        name = shorten_name(pattern)
        # As text, stride10 would come before stride2. More than 18 digits are no number that a pattern means.
        parts = [(int(part), "") if i % 2 else (0, part) for i, part in enumerate(re.split(r"([0-9]{1,18})", name))]
        return (published.index(name) if name in FIGURE_9 else len(published), parts)

    return sorted(set(patterns), key=key)


# --- as a table ----------------------------------------------------------------------------------------------


def format_csv(sweep: Sweep) -> str:
    """summary.csv: a line per bar (COLUMNS)."""
    if not sweep.runs:
        return ",".join(COLUMNS) + "\n"
    frame = summarise(sweep).frame[list(COLUMNS)]
    return as_csv(frame.assign(capacity_mbps=frame.capacity_mbps.map("{:g}".format)), "%.4f")


def as_csv(frame: Any, float_format: str | None = None) -> str:
    """The rows of a frame as CSV."""
    return str(frame.to_csv(index=False, float_format=float_format, lineterminator="\n"))


def show(sweep: Sweep, sentence: str = "") -> str:
    """Every bar as a table for a terminal, in full width, with a ``sentence`` below it."""
    if not sweep.runs:
        return "no runs"
    from rich.console import Console
    from rich.markup import escape

    meaning, bars = make_table(sweep)
    bars.title = None
    text = io.StringIO()
    console = Console(file=text, width=400, color_system=None)
    console.print(meaning, bars, sep="\n")
    console.print(escape(sentence), soft_wrap=True)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def make_table(sweep: Sweep) -> tuple[str, Table]:
    """What the numbers mean, in sentences, and a row for each pattern with a column for each scheme."""
    from rich.markup import escape

    from record.output import make_plain_table

    summary = summarise(sweep)
    schemes = average_by_scheme(summary.frame)
    meaning = (
        "Payload received by all hosts in Mb/s, and its share of the control: medians of the valid trials. "
        f"All links could carry {format_number(summary.payload_capacity_mbps)} Mb/s."
    )
    if schemes.left_out_tries.any():
        meaning += " Behind a bar with tries that do not count: the same with them."
    table = make_plain_table(meaning, "pattern", *summary.schemes)
    for pattern in summary.patterns:
        cells = [_format_cell(summary.bars.get((pattern, scheme))) for scheme in summary.schemes]
        table.add_row(*map(escape, (shorten_name(pattern), *cells)))  # a file name in brackets is not markup
    if len(summary.patterns) > 1:
        cells = []
        for share, patterns in zip(schemes.median_ratio, schemes.patterns, strict=True):
            pattern_count = f" ({patterns})" if patterns < len(summary.patterns) else ""
            cells.append(f"{share:.1%}{pattern_count}" if patterns else "-")
        table.add_row("mean share", *cells)
    return meaning, table


def _format_cell(bar: Any) -> str:
    if bar is None:
        return "-"
    text: str = bar.no_bar_text
    if bar.median_payload_mbps is not None:
        text = f"{bar.median_payload_mbps:.1f}{_format_share(bar, bar.median_ratio)}"
        if bar.valid_trials < bar.trials:
            text += f" ({bar.valid_trials} of {bar.trials})"
    if bar.left_out_tries and bar.all_payload_mbps is not None:
        text += f", all {bar.all_payload_mbps:.1f}{_format_share(bar, bar.all_median_ratio)}"
    return text


def _format_share(bar: Any, ratio: float | None) -> str:
    return "" if ratio is None or bar.scheme == CONTROL else f" {ratio:.0%}"
