"""Our bars against the published ones: per family of patterns, per scheme, and whether the order is the paper's.

All numbers are shares of the control: for ours the median over trials, for the paper's the published bar divided by
the published bar of the non-blocking switch. So networks with links of 1 Gb/s and of 10 Mb/s can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hedera.schemes import CONTROL
from plots.shares import STATIC, our_share, published_share
from plots.style import short
from plots.summary import Summary
from plots.trials import first_to_last
from record.published import COLUMNS
from record.run import Run

EXPECTED_ORDER = ("hedera-sa", "hedera-gff", "ecmp", "spanning-tree")
"""The order expected from the paper under patterns where every host sends to one and receives from one."""
NOTICEABLE = 0.01
"""A rate lower by less than this share does not break the order: a link's limit is not known more exactly."""
FEWEST_FOR_CORRELATION = 3


@dataclass(frozen=True)
class Match:
    """A scheme and its published column over the patterns that have both: a row for each with ``pattern``, shares
    ``ours`` and ``published``, and their ``difference``."""

    scheme: str
    rows: Any

    @property
    def pairs(self) -> list[Any]:
        return list(self.rows.itertuples(index=False))

    @property
    def column(self) -> str:
        return COLUMNS[self.scheme]

    @property
    def correlation(self) -> float | None:
        """Pearson's; None with fewer than three patterns, or when one side does not vary."""
        ours, published = self.rows.ours, self.rows.published
        if len(ours) < FEWEST_FOR_CORRELATION or np.ptp(ours) == 0 or np.ptp(published) == 0:
            return None
        return float(np.corrcoef(ours, published)[0, 1])

    @property
    def mean_absolute(self) -> float | None:
        return float(self.rows.difference.abs().mean()) if len(self.rows) else None

    @property
    def mean(self) -> float | None:
        return float(self.rows.difference.mean()) if len(self.rows) else None


@dataclass(frozen=True)
class Family:
    """Patterns of one kind, and each scheme's mean share on them, if it has one: ``ours``; ``published`` over the same
    patterns (None: some have none) and the mean absolute difference; and how many of the ``possible`` patterns have a
    number. ``all_tries``: the mean share over all tries, for schemes with a try that was left out."""

    name: str
    patterns: Sequence[str]
    means: dict[str, dict[str, Any]]
    all_tries: dict[str, float]


@dataclass(frozen=True)
class Order:
    """The patterns on which the expected order of these schemes could be checked, and the ``breaches`` of it: pattern,
    the scheme that was worse, and its rate, the other one and its, in Mb/s. ``unknown``: patterns where some scheme
    has no valid number."""

    schemes: list[str]
    patterns: list[str]
    unknown: list[str]
    breaches: list[dict[str, Any]]

    @property
    def held(self) -> int:
        return len(self.patterns) - len({breach["pattern"] for breach in self.breaches})


def match(summary: Summary, scheme: str, patterns: Iterable[str] | None = None) -> Match:
    """A scheme against its published column, over all ``patterns`` (default: of the summary) that have both."""
    from pandas import DataFrame

    asked = summary.patterns if patterns is None else patterns
    found = [(p, our_share(summary, p, scheme), published_share(p, scheme, summary.k)) for p in asked]
    rows = DataFrame(found, columns=["pattern", "ours", "published"]).astype({"ours": float, "published": float})
    return Match(scheme, rows.dropna().assign(difference=lambda both: both.ours - both.published))


def like_for_like(summary: Summary) -> list[Match]:
    """Each static scheme that was run against the published ECMP, all over the same patterns: those where all of them
    have a number."""
    every = [found for scheme in reversed(first_to_last(STATIC)) if len((found := match(summary, scheme)).rows)]
    common = [p for p in summary.patterns if all(p in set(found.rows.pattern) for found in every)]
    return [match(summary, found.scheme, common) for found in every]


def closer(a: Match, b: Match) -> int:
    """On how many patterns scheme a is closer to the published bar than scheme b."""
    one, other = (found.rows.set_index("pattern").difference.abs() for found in (a, b))
    return int((one < other.reindex(one.index)).sum())


def family(pattern: str) -> str:
    """The kind of a pattern: for a published one its name without the number, else the specification without a number
    that only gives its size (``stride:4`` is of kind ``drawn stride``)."""
    name = short(pattern)
    if pattern.startswith("published:"):
        if staggered := re.fullmatch(r"stag[0-9]+(\(.*\))", name):
            return "staggered" + staggered[1]
        kind, space, load = name.partition(" ")
        return kind.rstrip("0123456789") + space + load
    if ours := re.fullmatch(r"replication:([0-9]x)([a-z]+)[0-9]+(\(.*\))?", pattern):
        return f"replication's {ours[1]} {ours[2]}{ours[3] or ''}"
    head, _, rest = name.partition(":")
    if head in ("stride", "randx"):
        return " ".join((f"drawn {head}", *rest.split()[1:]))
    return pattern if head == "file" else f"drawn {name}"


def families(summary: Summary) -> list[Family]:
    kinds = dict.fromkeys(map(family, summary.patterns))
    return [_family(summary, kind, [p for p in summary.patterns if family(p) == kind]) for kind in kinds]


def everything(summary: Summary) -> Family:
    return _family(summary, "all", summary.patterns)


def _family(summary: Summary, name: str, patterns: Sequence[str]) -> Family:
    means, every = {}, {}
    own = summary.frame[summary.frame.pattern.isin(patterns)]
    for scheme, bars in own.groupby("scheme", sort=False):
        tried, ours = bars.all_median_ratio.dropna(), bars.median_ratio.dropna()
        if len(tried) and bars.left_out_tries.any():
            every[scheme] = float(tried.mean())
        if ours.empty or scheme == CONTROL:
            continue
        both = match(summary, scheme, patterns)
        whole = len(both.rows) == len(ours)
        means[scheme] = {
            "ours": float(ours.mean()),
            "published": float(both.rows.published.mean()) if whole else None,
            "mean_absolute": both.mean_absolute if whole else None,
            "patterns": len(ours),
            "possible": len(patterns),
        }
    return Family(name, patterns, means, every)


def expected_order(summary: Summary, runs: Sequence[Run]) -> Order:
    """Whether the medians follow EXPECTED_ORDER, apart from differences that are not NOTICEABLE. Checked on patterns
    whose flows are a bijection, for those of its schemes that were run, where all of them have a number."""
    schemes = [scheme for scheme in EXPECTED_ORDER if scheme in summary.schemes]
    rates = summary.frame.pivot(index="pattern", columns="scheme", values="median_mbps")
    rates = rates.loc[bijective(runs, summary.patterns) if len(schemes) > 1 else [], schemes]
    breaches = [
        {"pattern": pattern, "expected": a, "expected_mbps": own[a], "other": b, "other_mbps": own[b]}
        for pattern, own in rates.dropna().iterrows()
        for a, b in pairwise(schemes)
        if own[a] < own[b] * (1 - NOTICEABLE)
    ]
    seen, unknown = (list(rates.index[which]) for which in (rates.notna().all(axis=1), rates.isna().any(axis=1)))
    return Order(schemes, seen, unknown, breaches)


def bijective(runs: Sequence[Run], patterns: Sequence[str]) -> list[str]:
    """The patterns in all of whose runs no host sends, or receives, more than one flow."""
    single: dict[str, bool] = {}
    for run in runs:
        if run.flows:
            ends = ([flow.src for flow in run.flows], [flow.dst for flow in run.flows])
            one_each = all(len(set(side)) == len(side) for side in ends)
            single[run.pattern] = single.get(run.pattern, True) and one_each
    return [pattern for pattern in patterns if single.get(pattern)]
