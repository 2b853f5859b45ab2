"""Whether a run counts: what it did is held against what it should have done, and every doubt is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LIMIT_EXCESS = 0.01
"""A shaped port may carry this much more than its rate before its limit is in doubt (sampling jitter)."""
TOOLS_DISAGREE = 0.05
"""How far apart bwm-ng's and iperf's totals may be, after iperf's payload is converted to bytes on the wire."""
LEAST_OF_MAXMIN = 0.85
"""A run below this share of the max-min fair total for its own paths was slowed by the machine, not by paths."""
LEAST_IDLE_PERCENT = 35.0
"""The Mininet-HiFi rule: every second at least this idle. Says little when ovs-vswitchd polls (userspace)."""

# A full segment is 1448 bytes of payload in a 1514-byte frame (timestamps on); every second one is answered by a
# 66-byte frame, which bwm-ng counts at the flow's sender.
WIRE_PER_PAYLOAD = (1514 + 66 / 2) / 1448


@dataclass(frozen=True)
class Evidence:
    """What was seen of a run. Rates in Mb/s over the measuring window, times in seconds since traffic start."""

    bw: float
    datapath: str
    port_mbps: Mapping[str, float]
    measured_mbps: float
    iperf_mbps: float
    predicted_mbps: float
    unfinished_flows: Sequence[str]
    idle_percent: Sequence[float]
    dead_processes: Sequence[str]


def reasons(seen: Evidence) -> list[str]:
    """Why the run does not count, one sentence each; empty when it does."""
    found = [f"{name} ended during the run" for name in seen.dead_processes]
    excess = {port: rate for port, rate in seen.port_mbps.items() if not rate <= seen.bw * (1 + LIMIT_EXCESS)}
    if excess:
        port, rate = max(excess.items(), key=lambda item: item[1])
        found.append(f"port {port} carried {rate:.2f} Mb/s, above its limit of {seen.bw:g} Mb/s")
    if seen.unfinished_flows:
        found.append(
            f"{len(seen.unfinished_flows)} flows did not run from start to end: "
            + ", ".join(seen.unfinished_flows[:4])
        )
    wire = seen.iperf_mbps * WIRE_PER_PAYLOAD
    if not abs(wire - seen.measured_mbps) <= TOOLS_DISAGREE * max(wire, seen.measured_mbps):
        found.append(
            f"bwm-ng saw {seen.measured_mbps:.1f} Mb/s where iperf's {seen.iperf_mbps:.1f} Mb/s of payload "
            f"make {wire:.1f} Mb/s on the wire: more than {TOOLS_DISAGREE:.0%} apart"
        )
    if not seen.measured_mbps >= LEAST_OF_MAXMIN * seen.predicted_mbps:
        share = seen.measured_mbps / seen.predicted_mbps if seen.predicted_mbps else 0.0
        found.append(
            f"the machine was too slow: {seen.measured_mbps:.1f} Mb/s is {share:.0%} of the "
            f"{seen.predicted_mbps:.1f} Mb/s that these paths allow (at least {LEAST_OF_MAXMIN:.0%} counts)"
        )
    if seen.datapath == "kernel" and seen.idle_percent and min(seen.idle_percent) < LEAST_IDLE_PERCENT:
        second = min(range(len(seen.idle_percent)), key=lambda i: seen.idle_percent[i])
        found.append(
            f"the processors were only {seen.idle_percent[second]:.0f} % idle in second {second + 1} "
            f"(at least {LEAST_IDLE_PERCENT:.0f} % counts)"
        )
    return found
