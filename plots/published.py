"""Our bars beside the published ones, by scheme and by family of patterns.

All numbers are shares of the control: ours is the median over trials of (run / control of the same trial); the
published bar is divided by the published control. So networks with links of 1 Gb/s and of 10 Mb/s can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hedera.schemes import CONTROL
from plots.style import shorten_name
from plots.summary import Summary
from record.published import COLUMNS, FIGURE_9
from record.run import Run

_PUBLISHED_K = 4
MAYBE_PUBLISHED_ECMP = tuple(name for name in COLUMNS if COLUMNS[name] == COLUMNS["ecmp"])
"""Those of our schemes that the published ECMP might be. Its bars are not what hashing 5-tuples gives, and
section 6.2 says that the testbed hashed destinations."""
FEWEST_FOR_CORRELATION = 3


def find_our_share(summary: Summary, pattern: str, scheme: str) -> float | None:
    """The median over trials of our share of the control; None where no trial has one."""
    bar = summary.bars.get((pattern, scheme))
    return bar.median_ratio if bar else None


def find_published_share(pattern: str, scheme: str, k: int = _PUBLISHED_K) -> float | None:
    """The published share of the control that a scheme is compared with, whatever its hash; None where the paper has
    none."""
    numbers, scheme = find_published_bars(pattern, k), scheme.partition("@")[0]
    return numbers[scheme] / numbers[CONTROL] if scheme in numbers else None


def find_published_bars(pattern: str, k: int) -> Mapping[str, float]:
    """The published bars of a pattern, by scheme; empty if there are none. ``stride:4`` has the flows of
    ``published:stride4`` in a network of the testbed's size."""
    kind, _, name = pattern.partition(":")
    if k != _PUBLISHED_K or kind not in ("published", "stride"):
        return {}
    return FIGURE_9.get(name if kind == "published" else f"stride{name}", {})


# --- by scheme ----------------------------------------------------------------------------------------------


class Match(NamedTuple):
    """A scheme and its published column over the patterns that have both: a row for each with ``pattern``, shares
    ``ours`` and ``published``, and their ``difference``; Pearson's ``correlation`` of the shares (None with fewer than
    three patterns, or when one side does not vary); and the means of differences and of their absolute values."""

    scheme: str
    column: str | None
    rows: Any
    correlation: float | None
    mean: float
    mean_absolute: float


def match_published(summary: Summary, scheme: str, patterns: Iterable[str] | None = None) -> Match:
    """A scheme against its published column, over all ``patterns`` (default: of the summary) that have both."""
    from pandas import DataFrame

    patterns = summary.patterns if patterns is None else patterns
    shares = [(p, find_our_share(summary, p, scheme), find_published_share(p, scheme, summary.k)) for p in patterns]
    rows = DataFrame(shares, columns=["pattern", "ours", "published"]).astype({"ours": float, "published": float})
    rows = rows.dropna().assign(difference=lambda table: table.ours - table.published)
    # Two points always lie on a line, and constant values have no correlation at all.
    vary = len(rows) >= FEWEST_FOR_CORRELATION and np.ptp(rows.ours) > 0 and np.ptp(rows.published) > 0
    correlation = float(np.corrcoef(rows.ours, rows.published)[0, 1]) if vary else None
    means = float(rows.difference.mean()), float(rows.difference.abs().mean())
    return Match(scheme, COLUMNS.get(scheme.partition("@")[0]), rows, correlation, *means)


# --- by family ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Family:
    """Patterns of one kind, and each scheme's mean share on them, if it has one: ``ours``; ``published`` over the same
    patterns (None: some have none) and the mean absolute difference; and how many of the ``possible`` patterns have a
    number. ``all_tries``: the mean share over all tries, for schemes with a try that was left out."""

    name: str
    patterns: Sequence[str]
    means: dict[str, dict[str, Any]]
    all_tries: dict[str, float]


def name_family(pattern: str) -> str:
    """The kind of a pattern: for a published one its name without the number, else the specification without a number
    that only gives its size (``stride:4`` is of kind ``drawn stride``)."""
    name = shorten_name(pattern)
    if pattern.startswith("published:"):
        if staggered := re.fullmatch(r"stag[0-9]+(\(.*\))", name):
            return "staggered" + staggered[1]
        kind, space, load = name.partition(" ")
        return kind.rstrip("0123456789") + space + load
    if replication := re.fullmatch(r"replication:([0-9]x)([a-z]+)[0-9]+(\(.*\))?", pattern):
        return f"replication's {replication[1]} {replication[2]}{replication[3] or ''}"
    head, _, parameters = name.partition(":")
    if head in ("stride", "randx"):
        return " ".join((f"drawn {head}", *parameters.split()[1:]))
    return pattern if head == "file" else f"drawn {name}"


def list_families(summary: Summary) -> list[Family]:
    kinds: dict[str, list[str]] = {}
    for pattern in summary.patterns:
        kinds.setdefault(name_family(pattern), []).append(pattern)
    return [_make_family(summary, kind, patterns) for kind, patterns in kinds.items()]


def make_overall_family(summary: Summary) -> Family:
    return _make_family(summary, "all", summary.patterns)


def _make_family(summary: Summary, name: str, patterns: Sequence[str]) -> Family:
    means, all_tries = {}, {}
    for scheme, bars in summary.frame[summary.frame.pattern.isin(patterns)].groupby("scheme", sort=False):
        tried, own_ratios = bars.all_median_ratio.dropna(), bars.median_ratio.dropna()
        if len(tried) and bars.left_out_tries.any():
            all_tries[scheme] = float(tried.mean())
        if own_ratios.empty or scheme == CONTROL:
            continue
        # A published mean stands beside ours only if it is over the same patterns: means over different ones would
        # differ by the patterns' own levels.
        matched = match_published(summary, scheme, patterns)
        complete = len(matched.rows) == len(own_ratios)
        means[scheme] = {
            "ours": float(own_ratios.mean()),
            "published": float(matched.rows.published.mean()) if complete else None,
            "mean_absolute": matched.mean_absolute if complete else None,
            "patterns": len(own_ratios),
            "possible": len(patterns),
        }
    return Family(name, patterns, means, all_tries)


def find_bijective(runs: Sequence[Run], patterns: Sequence[str]) -> list[str]:
    """The patterns in all of whose runs no host sends, or receives, more than one flow."""
    single: dict[str, bool] = {}
    for run in runs:
        if run.flows:
            ends = ([flow.src for flow in run.flows], [flow.dst for flow in run.flows])
            one_each = all(len(set(side)) == len(side) for side in ends)
            single[run.pattern] = single.get(run.pattern, True) and one_each
    return [pattern for pattern in patterns if single.get(pattern)]
