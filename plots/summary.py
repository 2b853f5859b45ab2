"""From runs to bars: median and 5th and 95th percentile over trials, in Mb/s and as a share of the control.

A bar of the paper's Figure 9 is one of these. Only valid runs count; how many were not is kept beside.
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


@dataclass(frozen=True)
class Spread:
    """Median, 5th and 95th percentile over trials."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """The spread of values, None of no value."""
        if not values:
            return None
        low, median, high = np.percentile(values, [5, 50, 95])
        return cls(float(median), float(low), float(high))

    def times(self, factor: float) -> Spread:
        """The spread of the values times ``factor``."""
        return Spread(self.median * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True)
class Bar:
    """One scheme under one pattern.

    ``mbps`` sums up the valid trials, on the wire, ``payload`` what of it reached sockets. ``ratio`` sums up the
    quotients of ``mbps`` by the valid control run of the same trial, which had the same flows: drawn patterns differ
    from trial to trial. Each is None when there is no such trial. ``invalid_mbps`` is the median of the invalid
    trials that came to a number.
    """

    pattern: str
    scheme: str
    valid: int
    invalid: int
    mbps: Spread | None
    payload: Spread | None
    ratio: Spread | None
    invalid_mbps: float | None
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """All bars of a sweep by (pattern, scheme), and the order in which to show them. What all hosts could receive, on
    the wire and of that as payload, in Mb/s."""

    patterns: tuple[str, ...]
    schemes: tuple[str, ...]
    capacity_mbps: float
    payload_capacity_mbps: float
    bars: Mapping[tuple[str, str], Bar]


def summarise(runs: Sequence[Run]) -> Summary:
    """The bars of these runs. Raises ValueError when there is no run."""
    if not runs:
        raise ValueError("there is no run to summarise")
    trials: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        trials.setdefault((run.pattern, run.scheme), []).append(run)
    patterns = pattern_order(run.pattern for run in runs)
    schemes = scheme_order(run.scheme for run in runs)
    bars = {}
    for pattern in patterns:
        control = {run.trial: run.bisection_mbps for run in trials.get((pattern, CONTROL), []) if run.valid}
        for scheme in schemes:
            if (pattern, scheme) in trials:
                bars[pattern, scheme] = _bar(pattern, scheme, trials[pattern, scheme], control)
    capacity = max(run.capacity_mbps for run in runs)
    payload_capacity = max(run.payload_capacity_mbps for run in runs)
    return Summary(tuple(patterns), tuple(schemes), capacity, payload_capacity, bars)


def pattern_order(patterns: Iterable[str]) -> list[str]:
    """Patterns in the order of the paper's Figure 9, then the others by name, numbers in them by value."""
    published = list(FIGURE_9)

    def key(pattern: str) -> tuple[int, list[tuple[int, str]]]:
        name = short(pattern)
        parts = [
            (int(part), "") if i % 2 else (0, part) for i, part in enumerate(re.split(r"([0-9]{1,18})", name))
        ]
        return (published.index(name) if name in FIGURE_9 else len(published), parts)

    return sorted(set(patterns), key=key)


def _bar(pattern: str, scheme: str, runs: Sequence[Run], control: Mapping[int, float | None]) -> Bar:
    good = {run.trial: run.bisection_mbps for run in runs if run.valid and run.bisection_mbps is not None}
    bad = [run for run in runs if not run.valid]
    bad_rates = [run.bisection_mbps for run in bad if run.bisection_mbps is not None]
    ratios = [rate / base for trial, rate in good.items() if (base := control.get(trial))]
    return Bar(
        pattern,
        scheme,
        valid=len(runs) - len(bad),
        invalid=len(bad),
        mbps=Spread.of(list(good.values())),
        payload=Spread.of([run.payload_mbps for run in runs if run.valid and run.payload_mbps is not None]),
        ratio=Spread.of(ratios),
        invalid_mbps=float(np.median(bad_rates)) if bad_rates else None,
        reasons=tuple(dict.fromkeys(reason for run in bad for reason in run.reasons)),
    )
