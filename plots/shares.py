"""Our bars and the published ones as shares of the same thing, so that links of 1 Gb/s and of 10 Mb/s compare.

Shares of the control: ours is the median over trials of (run / control of the same trial); the published bar is
divided by the published control. Shares of the capacity: section 6.2 counts what the sinks' sockets received, so both
sides are payload, divided by the most that full segments could deliver on all links to hosts: 1448 of every 1514
bytes that an emulated link counts, 1448 of every 1538 byte times of the testbed's cables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hedera.schemes import CONTROL
from plots.summary import Summary
from record.published import CAPACITY_MBPS, COLUMNS, FIGURE_9
from topos.wire import payload_share

PUBLISHED_PAYLOAD_CAPACITY_MBPS = CAPACITY_MBPS * payload_share(cable=True)
_PUBLISHED_K = 4
STATIC = tuple(name for name in COLUMNS if COLUMNS[name] == COLUMNS["ecmp"])
"""Our schemes that the published ECMP might be."""


class Spread(NamedTuple):
    """Median over trials, and the ends of its whisker (`plots.summary`): the median itself where there is none."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Shares:
    """Shares of the control, or else of the payload capacity; ``whole`` is the number for a share of 1."""

    summary: Summary
    of_control: bool
    whole: float = 1.0

    def ours(self, pattern: str, scheme: str) -> Spread | None:
        """The spread over our valid trials; None when there is none."""
        what = "ratio" if self.of_control else "payload_mbps"
        bar = self.summary.bars.get((pattern, scheme))
        if bar is None or (median := getattr(bar, f"median_{what}")) is None:
            return None
        factor = self.whole if self.of_control else self.whole / self.summary.payload_capacity_mbps
        ends = (getattr(bar, f"{which}_{what}") for which in ("low", "high"))
        return Spread(factor * median, *(factor * (median if end is None else end) for end in ends))

    def published(self, pattern: str, scheme: str) -> float | None:
        """The published bar that a scheme is held against under a pattern; None when there is none."""
        numbers = published_bars(pattern, self.summary.k)
        if scheme not in numbers:
            return None
        return self.whole * numbers[scheme] / (numbers[CONTROL] if self.of_control else PUBLISHED_PAYLOAD_CAPACITY_MBPS)


def our_share(summary: Summary, pattern: str, scheme: str) -> float | None:
    """Our median share of the control; None when there is none."""
    bar = summary.bars.get((pattern, scheme))
    return bar.median_ratio if bar else None


def published_share(pattern: str, scheme: str, k: int = _PUBLISHED_K) -> float | None:
    """The published share of the control that a scheme is held against; None when there is none."""
    numbers = published_bars(pattern, k)
    return numbers[scheme] / numbers[CONTROL] if scheme in numbers else None


def published_bars(pattern: str, k: int) -> Mapping[str, float]:
    """The published bars of a pattern, by scheme; empty if there are none. ``stride:4`` has the flows of
    ``published:stride4`` in a network of the testbed's size."""
    kind, _, name = pattern.partition(":")
    if k != _PUBLISHED_K or kind not in ("published", "stride"):
        return {}
    return FIGURE_9.get(name if kind == "published" else f"stride{name}", {})
