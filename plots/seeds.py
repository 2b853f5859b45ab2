"""What all trials of a sweep say together of each scheme, and of how far it is beyond others: ``seeds.csv`` of a
published sweep, which the documents quote.

A trial is one seed. A value is first averaged over the patterns that all trials have, then over the trials, with
Student's 95 % interval over them (None with fewer than three). Differences are paired by the trial. Intervals are not
corrected for their number. Completion times are of each pattern by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hedera.schemes import CONTROL
from plots.load import Sweep
from plots.trials import first_to_last, over_patterns

COLUMNS = ("measure", "pattern", "scheme", "beyond", "patterns", "seeds", "mean", "low", "high")
COSTS = ("retransmitted_segments", "needless_retransmissions", "segments_out_of_order", "timeouts", "moves")
"""Of a run's ``costs``: how many."""
COMPLETION = ("median", "p99")
TURNS = ("shuffle_s", "host_completion_s", "goodput_mbytes_per_s")
BASES = ("ecmp", "spanning-tree", "hedera-sa")


def csv_text(sweep: Sweep) -> str:
    """A row for each measure, pattern (``all``: over all patterns) and scheme; and one for how far it is ``beyond``
    those of BASES that come after it. ``wire``, ``payload`` and what ends with ``to_control`` (of shuffles) are in % of
    the control, ``of_links`` is payload in % of all hosts' links; costs are counts in a run; completion times are by
    size class, in ms."""
    from pandas import DataFrame

    values = DataFrame(_values(sweep), columns=["measure", "pattern", "trial", "scheme", "value"])
    groups = values.assign(group=values.pattern.where(values.measure.str.endswith("_ms"), "all"))
    rows = [
        (*names, *row)
        for names, part in groups.groupby(["measure", "group"], sort=False)
        for row in _rows(part.pivot(index=["pattern", "trial"], columns="scheme", values="value"))
    ]
    text: str = DataFrame(rows, columns=COLUMNS).to_csv(index=False, float_format="%.5g", lineterminator="\n")
    return text


def _values(sweep: Sweep) -> Iterator[tuple[str, str, int, str, float]]:
    """Every measure of every valid run, with its pattern, trial and scheme."""
    valid = [run for run in sweep.runs if run.valid]
    controls = {(run.pattern, run.trial): run for run in valid if run.scheme == CONTROL}
    for run in valid:
        measured: dict[str, float | None] = {"of_links": _percent(run.payload_mbps, run.capacity_mbps)}
        control = controls.get((run.pattern, run.trial))
        if control is not None and run.scheme != CONTROL:
            measured["wire"] = _percent(run.bisection_mbps, control.bisection_mbps)
            measured["payload"] = _percent(run.payload_mbps, control.payload_mbps)
            for name in TURNS if run.turns and control.turns else ():
                measured[f"{name}_to_control"] = _percent(getattr(run.turns, name), getattr(control.turns, name))
        measured |= {name: run.costs.get(name) for name in COSTS}
        for classed in run.completion:
            for name in COMPLETION if classed.mean_s is not None and classed.size_class != "all" else ():
                measured[f"{classed.size_class}_{name}_ms"] = 1000 * getattr(classed, f"{name}_s")
        for measure, value in measured.items():
            if value is not None:
                yield measure, run.pattern, run.trial, run.scheme, value


def _percent(mbps: float | None, of: float | None) -> float | None:
    return 100 * mbps / of if mbps is not None and of else None


def _rows(table: Any) -> Iterator[tuple[Any, ...]]:
    """The last columns, of a table of patterns and trials by schemes."""
    schemes = first_to_last(table.columns)
    for place, scheme in enumerate(schemes):
        yield scheme, None, *_mean(table[scheme])
        for base in BASES:
            if base in schemes[place + 1 :]:
                yield scheme, base, *_mean(table[scheme] - table[base])


def _mean(values: Any) -> tuple[int, int, float | None, float | None, float | None]:
    mean, patterns = over_patterns(values)
    return patterns, mean.pairs, mean.mean, mean.low, mean.high
