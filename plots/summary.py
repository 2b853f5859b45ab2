"""From runs to bars: median and 5th and 95th percentile over trials, in Mb/s and as a share of the control.

A bar of the paper's Figure 9 is one of these. Only valid runs count. Each bar also has the numbers over all tries,
whatever their verdict, and how many tries were left out: these may differ from the ones that count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hedera.schemes import CONTROL
from plots.style import scheme_order, short
from results.published import FIGURE_9
from results.record import Run
from results.window import mean_over

Window = tuple[float, float]
"""From and to, seconds since the traffic started."""


@dataclass(frozen=True)
class Spread:
    """Median, 5th and 95th percentile over trials."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """The spread of values; None if there are none."""
        if not values:
            return None
        low, median, high = np.percentile(values, [5, 50, 95])
        return cls(float(median), float(low), float(high))

    def times(self, factor: float) -> Spread:
        """The spread of the values times ``factor``."""
        return Spread(self.median * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True)
class AllTries:
    """First and repeated tries of all trials: how many there were, how many are not valid, and the spread of those
    with a number, in Mb/s on the wire and divided by the control's of the same trial."""

    tries: int
    left_out: int
    mbps: Spread | None
    ratio: Spread | None


@dataclass(frozen=True)
class Bar:
    """One scheme under one pattern.

    ``mbps`` is the spread of the valid trials, on the wire; ``payload`` that of the payload that reached sockets.
    ``ratio`` is the spread of ``mbps`` divided by the valid control run of the same trial, which had the same flows
    (drawn patterns differ from trial to trial). Each is None when there is no such trial. ``invalid_mbps`` is the
    median of the trials that have a number but do not count, being invalid or ``unjudged``; ``reasons`` are theirs.
    ``late`` is ``ratio`` over the last third of the run, when TCP has found its rates after most moves (None: flows
    arrive and end). ``before`` and ``after`` are ``ratio`` over the parts of the window before the first failure and
    after the last failure or repair.
    """

    pattern: str
    scheme: str
    valid: int
    invalid: int
    unjudged: int
    mbps: Spread | None
    payload: Spread | None
    ratio: Spread | None
    invalid_mbps: float | None
    every: AllTries
    late: Spread | None
    before: Spread | None
    after: Spread | None
    reasons: tuple[str, ...]

    @property
    def trials(self) -> int:
        """Whatever their verdict."""
        return self.valid + self.invalid + self.unjudged

    @property
    def void(self) -> str:
        """The name of a bar without a valid trial."""
        return "NOT JUDGED" if self.unjudged and not self.invalid else "INVALID"


@dataclass(frozen=True)
class Summary:
    """All bars of a sweep by (pattern, scheme), and the order to show them in; the most that all hosts could receive,
    on the wire and as payload, in Mb/s."""

    patterns: tuple[str, ...]
    schemes: tuple[str, ...]
    capacity_mbps: float
    payload_capacity_mbps: float
    bars: Mapping[tuple[str, str], Bar]


@dataclass(frozen=True)
class Tally:
    """A scheme over all its patterns: numbers of valid trials, of all trials, of all tries and of tries left out; the
    mean over patterns of its median share of the control, by valid trials and by all tries, and the number of
    patterns; ``late``, ``before`` and ``after``: the same mean of these fields of `Bar`, by valid trials."""

    scheme: str
    valid: int
    trials: int
    tries: int
    left_out: int
    share: float | None
    patterns: int
    all_share: float | None
    all_patterns: int
    late: float | None
    before: float | None
    after: float | None


def summarise(runs: Sequence[Run], tries: Sequence[Run] | None = None) -> Summary:
    """The bars of these runs, one run per trial; ``tries``: all runs, if there were more. Raises ValueError when
    there is no run."""
    if not runs:
        raise ValueError("there is no run to summarise")
    trials, all_tries = _by_bar(runs), _by_bar(runs if tries is None else tries)
    patterns = pattern_order(run.pattern for run in runs)
    schemes = scheme_order(run.scheme for run in runs)
    bars = {}
    for pattern in patterns:
        control = {run.trial: run for run in trials.get((pattern, CONTROL), []) if run.valid}
        every_control = all_tries.get((pattern, CONTROL), [])
        for scheme in schemes:
            if (pattern, scheme) in trials:
                every = _every(all_tries[pattern, scheme], every_control)
                bars[pattern, scheme] = _bar(pattern, scheme, trials[pattern, scheme], control, every)
    capacity = max(run.capacity_mbps for run in runs)
    payload_capacity = max(run.payload_capacity_mbps for run in runs)
    return Summary(tuple(patterns), tuple(schemes), capacity, payload_capacity, bars)


def tallies(summary: Summary) -> tuple[Tally, ...]:
    """One for each scheme."""
    found = []
    for scheme in summary.schemes:
        bars = [bar for bar in summary.bars.values() if bar.scheme == scheme]
        ours = [bar.ratio.median for bar in bars if bar.ratio]
        every = [bar.every.ratio.median for bar in bars if bar.every.ratio]
        windows = [
            [one.median for one in found if one]
            for found in zip(*((b.late, b.before, b.after) for b in bars), strict=True)
        ]
        found.append(
            Tally(
                scheme,
                sum(bar.valid for bar in bars),
                sum(bar.trials for bar in bars),
                sum(bar.every.tries for bar in bars),
                sum(bar.every.left_out for bar in bars),
                _mean(ours),
                len(ours),
                _mean(every),
                len(every),
                *map(_mean, windows),
            )
        )
    return tuple(found)


def windows(found: Sequence[Tally]) -> list[tuple[str, list[float | None]]]:
    """The additional windows in which any of these schemes has a share, by name, with the share of each scheme."""
    every = {
        "in the last third": [one.late for one in found],
        "before the failure": [one.before for one in found],
        "after it": [one.after for one in found],
    }
    return [(name, shares) for name, shares in every.items() if any(share is not None for share in shares)]


def pattern_order(patterns: Iterable[str]) -> list[str]:
    """Patterns in the order of the paper's Figure 9, then the others by name, numbers in them by value."""
    published = list(FIGURE_9)

    def key(pattern: str) -> tuple[int, list[tuple[int, str]]]:
        name = short(pattern)
        parts = [(int(part), "") if i % 2 else (0, part) for i, part in enumerate(re.split(r"([0-9]{1,18})", name))]
        return (published.index(name) if name in FIGURE_9 else len(published), parts)

    return sorted(set(patterns), key=key)


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _by_bar(runs: Iterable[Run]) -> dict[tuple[str, str], list[Run]]:
    found: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        found.setdefault((run.pattern, run.scheme), []).append(run)
    return found


def _every(tries: Sequence[Run], control: Sequence[Run]) -> AllTries:
    bases: dict[int, list[float]] = {}
    for run in control:
        if run.bisection_mbps:
            bases.setdefault(run.trial, []).append(run.bisection_mbps)
    rates = [(run.trial, run.bisection_mbps) for run in tries if run.bisection_mbps is not None]
    return AllTries(
        len(tries),
        sum(not run.valid for run in tries),
        Spread.of([rate for _, rate in rates]),
        Spread.of([rate / float(np.median(bases[trial])) for trial, rate in rates if trial in bases]),
    )


def _bar(pattern: str, scheme: str, runs: Sequence[Run], control: Mapping[int, Run], every: AllTries) -> Bar:
    good = {run.trial: run.bisection_mbps for run in runs if run.valid and run.bisection_mbps is not None}
    bad = [run for run in runs if not run.valid]
    bad_rates = [run.bisection_mbps for run in bad if run.bisection_mbps is not None]
    pairs = [(run, control[run.trial]) for run in runs if run.valid and run.trial in control]
    ratios = [
        run.bisection_mbps / base.bisection_mbps
        for run, base in pairs
        if run.bisection_mbps is not None and base.bisection_mbps
    ]
    broken = [pair for pair in pairs if pair[0].failures and pair[0].phases]
    return Bar(
        pattern,
        scheme,
        valid=len(runs) - len(bad),
        invalid=sum(run.judged for run in bad),
        unjudged=sum(not run.judged for run in bad),
        mbps=Spread.of(list(good.values())),
        payload=Spread.of([run.payload_mbps for run in runs if run.valid and run.payload_mbps is not None]),
        ratio=Spread.of(ratios),
        invalid_mbps=float(np.median(bad_rates)) if bad_rates else None,
        every=every,
        late=_in_windows([(pair, _last_third(pair[0])) for pair in pairs if _lasts(pair[0])]),
        before=_in_windows([(pair, _phase(pair[0], 0)) for pair in broken]),
        after=_in_windows([(pair, _phase(pair[0], -1)) for pair in broken]),
        reasons=tuple(dict.fromkeys(reason for run in bad for reason in run.reasons)),
    )


def _in_windows(pairs: Sequence[tuple[tuple[Run, Run], Window]]) -> Spread | None:
    """The spread of rates received in a window of each run, divided by its control's in the same window."""
    rates = [[_received(run, window) for run in pair] for pair, window in pairs]
    return Spread.of([own / base for own, base in rates if own is not None and base])


def _received(run: Run, window: Window) -> float | None:
    """The rate received by all hosts, Mb/s on the wire; None if the window has no sample."""
    mean = mean_over(np.array(run.rates.t), np.array(run.rates.total_mbps), window)
    return None if np.isnan(mean) else mean


def _lasts(run: Run) -> bool:
    """Whether all flows last to the end, so that a lower rate there does not come from flows that ended."""
    return all(flow.size_bytes is None for flow in run.flows)


def _last_third(run: Run) -> Window:
    return run.spec.seconds * 2 / 3, run.spec.seconds


def _phase(run: Run, number: int) -> Window:
    return run.phases[number].from_s, run.phases[number].to_s
