"""Our bars against the published ones: per family of patterns, per scheme, and whether the order is the paper's.

All numbers are shares of the control: for ours the median over trials, for the paper's the published bar divided by
the published bar of the non-blocking switch. So networks with links of 1 Gb/s and of 10 Mb/s can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hedera.schemes import CONTROL, best_first
from plots.shares import our_share, published_share
from plots.style import short
from plots.summary import Summary
from results.published import COLUMNS
from results.record import Run

HEADLINE = tuple(name for name in best_first() if name in COLUMNS and name != CONTROL)
"""The schemes with a published bar to compare with, the best first."""
STATIC = tuple(name for name in reversed(HEADLINE) if COLUMNS[name] == COLUMNS["ecmp"])
"""Our schemes that the published ECMP might be."""
EXPECTED_ORDER = ("hedera-sa", "hedera-gff", "ecmp", "spanning-tree")
"""The order expected from the paper under patterns where every host sends to one and receives from one."""
NOTICEABLE = 0.01
"""A rate lower by less than this share does not break the order: a link's limit is not known more exactly."""
FEWEST_FOR_CORRELATION = 3


@dataclass(frozen=True)
class Pair:
    """One pattern under one scheme: our share of the control and the published one."""

    pattern: str
    ours: float
    published: float

    @property
    def difference(self) -> float:
        """Ours minus published."""
        return self.ours - self.published


@dataclass(frozen=True)
class Match:
    """How one scheme compares with its published column over the patterns that have both.

    ``correlation`` is Pearson's; None with fewer than three patterns, or when one side does not vary.
    """

    scheme: str
    column: str
    pairs: tuple[Pair, ...]
    correlation: float | None
    mean_absolute: float | None
    mean: float | None

    @classmethod
    def of(cls, scheme: str, pairs: Iterable[Pair]) -> Match:
        """The match of these pairs."""
        pairs = tuple(pairs)
        differences = [pair.difference for pair in pairs]
        return cls(
            scheme,
            COLUMNS[scheme],
            pairs,
            _correlation(pairs),
            float(np.mean(np.abs(differences))) if pairs else None,
            float(np.mean(differences)) if pairs else None,
        )


@dataclass(frozen=True)
class Mean:
    """Means over the patterns of a family: ours, the published one over the same patterns (None: there is none), and
    the mean absolute difference. ``patterns`` of the family's ``possible`` ones have a number."""

    ours: float
    published: float | None
    mean_absolute: float | None
    patterns: int
    possible: int


@dataclass(frozen=True)
class Family:
    """Patterns of one kind, and each scheme's mean share on them. A scheme without a number is absent. ``all_tries``:
    the mean share over all tries, for schemes with a try that was left out."""

    name: str
    patterns: tuple[str, ...]
    means: dict[str, Mean]
    all_tries: dict[str, float]


@dataclass(frozen=True)
class Breach:
    """A pattern on which a scheme was worse than one that it should match or exceed, in Mb/s."""

    pattern: str
    expected: str
    other: str
    expected_mbps: float
    other_mbps: float


@dataclass(frozen=True)
class Order:
    """The patterns on which the expected order of these schemes could be checked, and where it does not hold.
    ``unknown``: patterns where some scheme has no valid number, so that the order cannot be checked."""

    schemes: tuple[str, ...]
    patterns: tuple[str, ...]
    unknown: tuple[str, ...]
    breaches: tuple[Breach, ...]

    @property
    def held(self) -> int:
        """The number of patterns on which the whole order holds."""
        return len(self.patterns) - len({breach.pattern for breach in self.breaches})


@dataclass(frozen=True)
class Load:
    """Patterns grouped by flows per host and share of flows kept: mean shares of the control by scheme, over the
    patterns that have a number for ecmp and both Hedera schemes."""

    flows_per_host: int
    keep: float
    patterns: int
    shares: dict[str, float]

    def gain(self, scheme: str) -> float:
        """How much a scheme is above ecmp, as a share of the control."""
        return self.shares[scheme] - self.shares["ecmp"]


def match(summary: Summary, scheme: str) -> Match:
    """A scheme against its published column, over all patterns that have both."""
    return Match.of(scheme, _pairs(summary, scheme, summary.patterns))


def like_for_like(summary: Summary, schemes: Sequence[str] = STATIC) -> tuple[Match, ...]:
    """Each static scheme that was run against the published ECMP, all over the same patterns: those where all of them
    have a number."""
    run = [scheme for scheme in schemes if _pairs(summary, scheme, summary.patterns)]
    common = [p for p in summary.patterns if all(_pairs(summary, scheme, [p]) for scheme in run)]
    return tuple(Match.of(scheme, _pairs(summary, scheme, common)) for scheme in run)


def closer(a: Match, b: Match) -> int:
    """On how many patterns scheme a is closer to the published bar than scheme b."""
    other = {pair.pattern: abs(pair.difference) for pair in b.pairs}
    return sum(abs(pair.difference) < other[pair.pattern] for pair in a.pairs if pair.pattern in other)


def family(pattern: str) -> str:
    """The kind of a pattern: for a published one its name without the number, else the specification without a number
    that only gives its size (``stride:4`` is of kind ``drawn stride``)."""
    name = short(pattern)
    if pattern.startswith("published:"):
        if staggered := re.fullmatch(r"stag[0-9]+(\(.*\))", name):
            return "staggered" + staggered[1]
        kind, space, load = name.partition(" ")
        return kind.rstrip("0123456789") + space + load
    head, _, rest = name.partition(":")
    if head in ("stride", "randx"):
        return " ".join((f"drawn {head}", *rest.split()[1:]))
    return pattern if head == "file" else f"drawn {name}"


def families(summary: Summary) -> tuple[Family, ...]:
    """All families, in the order of their first patterns."""
    members: dict[str, list[str]] = {}
    for pattern in summary.patterns:
        members.setdefault(family(pattern), []).append(pattern)
    return tuple(_family(summary, name, tuple(patterns)) for name, patterns in members.items())


def everything(summary: Summary) -> Family:
    """All patterns that were published, as one family."""
    return _family(summary, "all", tuple(p for p in summary.patterns if published_share(p, CONTROL)))


def expected_order(summary: Summary, runs: Sequence[Run]) -> Order:
    """Whether the medians follow EXPECTED_ORDER, apart from differences that are not NOTICEABLE. Checked on patterns
    whose flows are a bijection, for those of its schemes that were run, where all of them have a number."""
    schemes = tuple(scheme for scheme in EXPECTED_ORDER if scheme in summary.schemes)
    seen, unknown, breaches = [], [], []
    for pattern in bijective(runs, summary.patterns) if len(schemes) > 1 else ():
        bars = [summary.bars.get((pattern, scheme)) for scheme in schemes]
        rates = [bar.mbps.median for bar in bars if bar and bar.mbps]
        if len(rates) < len(schemes):
            unknown.append(pattern)
            continue
        seen.append(pattern)
        for (scheme, rate), (other, other_rate) in pairwise(zip(schemes, rates, strict=True)):
            if rate < other_rate * (1 - NOTICEABLE):
                breaches.append(Breach(pattern, scheme, other, rate, other_rate))
    return Order(schemes, tuple(seen), tuple(unknown), tuple(breaches))


def loads(summary: Summary, runs: Sequence[Run]) -> tuple[Load, ...]:
    """The gain over ecmp for each number of flows per host, the fewest first."""
    schemes = ("ecmp", "hedera-gff", "hedera-sa")
    found: dict[tuple[int, float], dict[str, list[float]]] = {}
    for pattern in summary.patterns:
        spec = next(run.spec for run in runs if run.pattern == pattern)
        shares = {scheme: our_share(summary, pattern, scheme) for scheme in schemes}
        values = {scheme: share for scheme, share in shares.items() if share is not None}
        if len(values) == len(schemes):
            key = (spec.flows_per_host, spec.keep)
            for scheme, value in values.items():
                found.setdefault(key, {}).setdefault(scheme, []).append(value)
    return tuple(
        Load(*key, len(shares["ecmp"]), {scheme: float(np.mean(found)) for scheme, found in shares.items()})
        for key, shares in sorted(found.items())
    )


def bijective(runs: Sequence[Run], patterns: Sequence[str]) -> list[str]:
    """The patterns in all of whose runs no host sends, or receives, more than one flow."""
    single: dict[str, bool] = {}
    for run in runs:
        if run.flows:
            ends = ([flow.src for flow in run.flows], [flow.dst for flow in run.flows])
            one_each = all(len(set(side)) == len(side) for side in ends)
            single[run.pattern] = single.get(run.pattern, True) and one_each
    return [pattern for pattern in patterns if single.get(pattern)]


def _pairs(summary: Summary, scheme: str, patterns: Iterable[str]) -> list[Pair]:
    found = ((p, our_share(summary, p, scheme), published_share(p, scheme)) for p in patterns)
    return [Pair(p, ours, theirs) for p, ours, theirs in found if ours is not None and theirs is not None]


def _family(summary: Summary, name: str, patterns: tuple[str, ...]) -> Family:
    means = {}
    for scheme in summary.schemes:
        shares = [share for p in patterns if (share := our_share(summary, p, scheme)) is not None]
        pairs = _pairs(summary, scheme, patterns)
        if shares and scheme != CONTROL:
            means[scheme] = Mean(
                float(np.mean([pair.ours for pair in pairs] or shares)),
                float(np.mean([pair.published for pair in pairs])) if pairs else None,
                float(np.mean([abs(pair.difference) for pair in pairs])) if pairs else None,
                len(pairs) or len(shares),
                len(patterns),
            )
    found = {scheme: _over_all_tries(summary, scheme, patterns) for scheme in summary.schemes}
    return Family(name, patterns, means, {scheme: share for scheme, share in found.items() if share is not None})


def _over_all_tries(summary: Summary, scheme: str, patterns: Iterable[str]) -> float | None:
    """The mean share over all tries of a scheme; None if none was left out, so that it equals the other mean."""
    bars = [bar.every for p in patterns if (bar := summary.bars.get((p, scheme)))]
    shares = [every.ratio.median for every in bars if every.ratio]
    return float(np.mean(shares)) if shares and any(every.left_out for every in bars) else None


def _correlation(pairs: Sequence[Pair]) -> float | None:
    ours, published = [pair.ours for pair in pairs], [pair.published for pair in pairs]
    if len(pairs) < FEWEST_FOR_CORRELATION or np.ptp(ours) == 0 or np.ptp(published) == 0:
        return None
    return float(np.corrcoef(ours, published)[0, 1])
