"""What the flow counters of the edge switches say: how fast a flow is, and whether it is worth scheduling."""

from __future__ import annotations

from collections.abc import Iterable

from controllers.driver import FlowStat
from controllers.packet import TCP
from hedera.rates import RateMeter

ACK_BYTES = 128
"""A TCP stream whose packets are smaller than this on average is the acknowledgements of a stream the other
way. A frame without data has at most 14 + 20 + 60 = 94 bytes; a full one has 1,514. Such a stream must not be
scheduled nor have a demand: every TCP flow would halve the demand of the flows its receiver sends."""

IDLE_RATE = 0.001
"""A flow below this fraction of the NIC rate (10 kb/s at 10 Mb/s) moves nothing to speak of: a ping, a
connection that waits. Demand estimation would take it to want a share of two NICs."""


class Measurements:
    """Rates by flow key, each from its switch's last whole reply. ``nic_bps`` is the NIC rate in bits/s."""

    def __init__(self, nic_bps: float):
        self._nic_bps = nic_bps
        self._meters: dict[str, RateMeter] = {}
        self._counted: dict[str, dict[int, tuple[int, int]]] = {}  # by switch and key: packets, bytes
        self._rates: dict[str, dict[int, float]] = {}  # by switch and key, of flows that carry data

    def update(self, switch: str, stats: Iterable[FlowStat]) -> None:
        """Take a switch's whole reply; flows that are not in it are forgotten."""
        stats = list(stats)
        meter = self._meters.setdefault(switch, RateMeter(self._nic_bps))
        rates = meter.update([s.cookie for s in stats], [s.bytes for s in stats], [s.duration_s for s in stats])
        before = self._counted.get(switch, {})
        known = self._rates.get(switch, {})
        self._counted[switch] = {s.cookie: (s.packets, s.bytes) for s in stats}
        self._rates[switch] = {
            s.cookie: rate
            for s, rate in zip(stats, rates.tolist(), strict=True)
            if _carries_data(s, before.get(s.cookie, (0, 0)), s.cookie in known)
        }

    def rate(self, switch: str, key: int) -> float:
        """A flow's rate as a fraction of the NIC rate; 0 for acknowledgements and for what is not known yet."""
        rate = self._rates.get(switch, {}).get(key, 0.0)
        return rate if rate >= IDLE_RATE else 0.0


def _carries_data(stat: FlowStat, before: tuple[int, int], so_far: bool) -> bool:
    """Whether the packets since the last poll say that a flow is more than acknowledgements."""
    if stat.flow.protocol != TCP:
        return True
    packets, size = stat.packets - before[0], stat.bytes - before[1]
    if packets < 0 or size < 0:  # the entry was made anew
        packets, size = stat.packets, stat.bytes
    return size >= ACK_BYTES * packets if packets else so_far
