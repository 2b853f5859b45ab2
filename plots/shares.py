"""Our bars and the published ones as shares of the same thing, so that links of 1 Gb/s and of 10 Mb/s compare.

Shares of the control: ours is the median over trials of (run / control of the same trial); the published bar is
divided by the published control. Shares of the capacity: section 6.2 counts what the sinks' sockets received, so both
sides are payload, divided by the most that full segments could deliver on all links to hosts: 1448 of every 1514
bytes that an emulated link counts, 1448 of every 1538 byte times of the testbed's cables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hedera.schemes import CONTROL
from plots.style import short
from plots.summary import Spread, Summary
from results.published import CAPACITY_MBPS, FIGURE_9
from topos.wire import payload_share

PUBLISHED_PAYLOAD_CAPACITY_MBPS = CAPACITY_MBPS * payload_share(cable=True)


@dataclass(frozen=True)
class Shares:
    """Shares of the control, or else of the payload capacity; ``whole`` is the number for a share of 1."""

    summary: Summary
    of_control: bool
    whole: float = 1.0

    def ours(self, pattern: str, scheme: str) -> Spread | None:
        """The spread over our valid trials; None when there is none."""
        bar = self.summary.bars.get((pattern, scheme))
        if bar is None:
            return None
        spread, unit = (bar.ratio, 1.0) if self.of_control else (bar.payload, self.summary.payload_capacity_mbps)
        return spread and spread.times(self.whole / unit)

    def published(self, pattern: str, scheme: str) -> float | None:
        """The published bar that a scheme is held against under a pattern; None when there is none."""
        numbers = _published(pattern)
        if scheme not in numbers:
            return None
        return self.whole * numbers[scheme] / (numbers[CONTROL] if self.of_control else PUBLISHED_PAYLOAD_CAPACITY_MBPS)


def our_share(summary: Summary, pattern: str, scheme: str) -> float | None:
    """Our median share of the control; None when there is none."""
    spread = Shares(summary, of_control=True).ours(pattern, scheme)
    return spread.median if spread else None


def published_share(pattern: str, scheme: str) -> float | None:
    """The published share of the control that a scheme is held against; None when there is none."""
    numbers = _published(pattern)
    return numbers[scheme] / numbers[CONTROL] if scheme in numbers else None


def _published(pattern: str) -> Mapping[str, float]:
    return FIGURE_9.get(short(pattern), {}) if pattern.startswith("published:") else {}
