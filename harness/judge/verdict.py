"""Whether a run counts: what it did is held against what it should have done, and every doubt is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.judge.claims import Claim
from harness.judge.saturation import FullLinks
from results.wire import acknowledgements_per_payload, wire_per_payload

LIMIT_EXCESS = 0.01
"""A shaped port may carry this much more than its rate before its limit is in doubt (sampling jitter)."""
TOOLS_DISAGREE = 0.05
"""How far apart bwm-ng's and iperf's totals may be, after iperf's payload is converted to bytes on the wire."""
LEAST_OF_MAXMIN = 0.85
"""A run below this share of the max-min fair total for its own paths was slowed by the machine, not by paths."""
LEAST_OF_FULL = 0.97
"""What half of the links that have to be full must carry of their rate at least. The median, because TCP does not
share a path of several full links as max-min fairness does; a machine that is too slow is so for every link."""
CLAIM_EXCESS = 0.10
"""What the flows placed on a link may have delivered beyond what its own counter says, as a share of the link's rate,
before the paths that the controller claims are in doubt."""


@dataclass(frozen=True)
class Second:
    """One second of a run: idle processors, forwarding processes waiting for one (by name), Mb/s received."""

    number: int
    idle_percent: float
    waiting_percent: Mapping[str, float]
    total_mbps: float


@dataclass(frozen=True)
class Evidence:
    """What was seen of a run. Rates in Mb/s on the wire, over the measuring window.

    ``counted_mbps`` arrived by the switches' counters, and ``payload_mbps`` at the receivers' sockets, over the whole
    time that the counters were read; ``claims`` holds paths against counters, link by link; ``throttled_s`` is how
    long the CPU limit held back each host that it did, in seconds.

    ``mtu`` is that of every link, in bytes, ``bucket_mbit`` what a port may send beyond its rate after it was idle;
    ``full`` are the ports that have to be full all the time, if the flows share as max-min fairness has it;
    ``lost_packets`` were lost outside every queue, by place;
    ``failures`` is whether links failed on purpose. Of traffic that comes and goes, ``handshakes_mbps`` is what
    opening and closing connections adds to what was counted, ``progress`` as in `harness.judge.dynamic`.
    """

    bw: float
    mtu: int
    bucket_mbit: float
    port_mbps: Mapping[str, float]
    measured_mbps: float
    counted_mbps: float
    payload_mbps: float
    predicted_mbps: float
    full: FullLinks
    claims: Sequence[Claim]
    lost_packets: Mapping[str, int]
    throttled_s: Mapping[str, float]
    unfinished_flows: Sequence[str]
    window: tuple[float, float]
    seconds: Sequence[Second]
    failures: bool
    dead_processes: Sequence[str]
    handshakes_mbps: float = 0.0
    progress: float | None = None


def reasons(seen: Evidence) -> list[str]:
    """Why the run does not count, one sentence each; empty when it does."""
    found = [f"{name} ended during the run" for name in seen.dead_processes]
    most = seen.bw * (1 + LIMIT_EXCESS) + seen.bucket_mbit / (seen.window[1] - seen.window[0])
    excess = {port: rate for port, rate in seen.port_mbps.items() if not rate <= most}
    if excess:
        port, rate = max(excess.items(), key=lambda item: item[1])
        found.append(f"port {port} carried {rate:.2f} Mb/s, above its limit of {seen.bw:g} Mb/s")
    if seen.unfinished_flows:
        found.append(
            f"{len(seen.unfinished_flows)} flows did not run from start to end: "
            + ", ".join(seen.unfinished_flows[:4])
        )
    wire = seen.payload_mbps * (wire_per_payload(seen.mtu) + acknowledgements_per_payload(seen.mtu))
    wire += seen.handshakes_mbps
    if not abs(wire - seen.counted_mbps) <= TOOLS_DISAGREE * max(wire, seen.counted_mbps):
        found.append(
            f"bwm-ng saw {seen.counted_mbps:.1f} Mb/s arrive where iperf's {seen.payload_mbps:.1f} Mb/s of payload "
            f"make {wire:.1f} Mb/s on the wire: more than {TOOLS_DISAGREE:.0%} apart"
        )
    found += _doubted_paths(seen)
    if seen.lost_packets:
        place, count = max(seen.lost_packets.items(), key=lambda item: item[1])
        found.append(f"{count} packets were lost in {place}, outside every queue")
    if not seen.measured_mbps >= LEAST_OF_MAXMIN * seen.predicted_mbps:
        share = seen.measured_mbps / seen.predicted_mbps if seen.predicted_mbps else 0.0
        # After a failure TCP takes seconds to find its rate again, which a short run cannot make up for.
        slow = "the machine, or TCP after the failure," if seen.failures else "the machine"
        found.append(
            f"{slow} was too slow: {seen.measured_mbps:.1f} Mb/s is {share:.0%} of the "
            f"{seen.predicted_mbps:.1f} Mb/s that these paths allow (at least {LEAST_OF_MAXMIN:.0%} counts)"
            + _worst_second(seen)
        )
    elif seen.progress is not None and not seen.progress >= LEAST_OF_MAXMIN:
        found.append(
            f"the machine was too slow: for long flows their paths allowed {seen.progress:.0%} of the time that they "
            f"took (at least {LEAST_OF_MAXMIN:.0%} counts)" + _worst_second(seen)
        )
    elif seen.full.mbps:
        carried = float(np.median(list(seen.full.mbps.values()))) / seen.bw
        if not carried >= LEAST_OF_FULL:
            found.append(
                f"the machine was too slow: half of the {len(seen.full.mbps)} links that have to be full carried "
                f"less than {carried:.1%} of their rate (at least {LEAST_OF_FULL:.0%} counts)"
                + _worst_second(seen, seen.full.window)
            )
    return found


def doubted_claims(seen: Evidence) -> list[Claim]:
    """The links to which the log gives flows that delivered more than their counters say."""
    return [claim for claim in seen.claims if not claim.excess_mbps <= CLAIM_EXCESS * seen.bw]


def _doubted_paths(seen: Evidence) -> list[str]:
    doubted = doubted_claims(seen)
    if not doubted:
        return []
    worst = max(doubted, key=lambda claim: claim.excess_mbps)
    return [
        f"the flows did not take the paths that the controller claims: those placed on {worst.port} delivered "
        f"{worst.delivered_mbps:.2f} Mb/s, and it carried {worst.carried_mbps:.2f} Mb/s ({len(doubted)} links so)"
    ]


def _worst_second(seen: Evidence, window: tuple[float, float] | None = None) -> str:
    """When least arrived in a window (the measuring one), and who had to wait for a processor then."""
    begin, end = window or seen.window
    inside = [second for second in seen.seconds if begin < second.number <= end]
    if not inside:
        return ""
    worst = min(inside, key=lambda second: second.total_mbps)
    said = f"; least arrived in second {worst.number}, {worst.total_mbps:.1f} Mb/s"
    if worst.waiting_percent:
        name, waited = max(worst.waiting_percent.items(), key=lambda item: item[1])
        said += f", when {name} waited {waited:.0f} % of the time for a processor"
    said += f" and the processors were {worst.idle_percent:.0f} % idle"
    if seen.throttled_s:
        host, held = max(seen.throttled_s.items(), key=lambda item: item[1])
        said += f"; its CPU limit held host {host} back for {held:.1f} s"
    return said
