"""Whether the numbers of a run are what they seem: nothing ended, nothing leaked, and two ways of counting agree."""

from __future__ import annotations

from harness.verdict.claims import Claim
from harness.verdict.evidence import Check, Evidence
from results.parts import Rule
from topos.wire import acknowledgements_per_payload, wire_per_payload

LIMIT_EXCESS = 0.01
"""A shaped port may carry this much more than its rate before its limit is in doubt (sampling jitter)."""
TOOLS_DISAGREE = 0.05
"""How far apart bwm-ng's and iperf's totals may be, after iperf's payload is converted to bytes on the wire."""
CLAIM_EXCESS = 0.10
"""What the flows placed on a link may have delivered beyond what its own counter says, as a share of the link's rate,
before the paths that the controller claims are in doubt."""
CLOCK_SET_S = 0.01
"""How far the machine's clock may be set during a run, seconds: what makes the rate of one second 1 % wrong, as far
as a port's limit is known. Readings are microseconds apart, and slewing shows in none (`harness.run.watch`)."""


def of_soundness(seen: Evidence) -> list[Check]:
    """Every rule of this kind."""
    return [
        _processes(seen),
        _clock(seen),
        _limits(seen),
        _flows(seen),
        _counters(seen),
        _paths(seen),
        _losses(seen),
    ]


def _processes(seen: Evidence) -> Check:
    ended = tuple(f"{name} ended during the run" for name in seen.dead_processes)
    return Check(Rule("processes", not ended), ended)


def _clock(seen: Evidence) -> Check:
    kept = abs(seen.clock_set_s) <= CLOCK_SET_S
    said = f"the machine's clock was set by {seen.clock_set_s:+.3g} s during the run, or the machine was suspended"
    return Check(Rule("clock", kept, abs(seen.clock_set_s), most=CLOCK_SET_S), () if kept else (said,))


def _limits(seen: Evidence) -> Check:
    most = seen.bw * (1 + LIMIT_EXCESS) + seen.bucket_mbit / (seen.window[1] - seen.window[0])
    port, rate = max(seen.port_mbps.items(), key=lambda item: (item[1] != item[1], item[1]), default=("", 0.0))
    kept = rate <= most
    said = f"port {port} carried {rate:.2f} Mb/s, above its limit of {seen.bw:g} Mb/s"
    return Check(Rule("limits", kept, rate, most=most), () if kept else (said,))


def _flows(seen: Evidence) -> Check:
    if not (unfinished := seen.unfinished_flows):
        return Check(Rule("flows", True))
    named = ", ".join(unfinished[:4])
    return Check(Rule("flows", False), (f"{len(unfinished)} flows did not run from start to end: {named}",))


def _counters(seen: Evidence) -> Check:
    wire = seen.payload_mbps * (wire_per_payload(seen.mtu) + acknowledgements_per_payload(seen.mtu))
    wire += seen.handshakes_mbps
    larger = max(wire, seen.counted_mbps)
    kept = abs(wire - seen.counted_mbps) <= TOOLS_DISAGREE * larger
    apart = abs(wire - seen.counted_mbps) / larger if larger else 0.0
    said = (
        f"bwm-ng saw {seen.counted_mbps:.1f} Mb/s arrive where iperf's {seen.payload_mbps:.1f} Mb/s of payload "
        f"make {wire:.1f} Mb/s on the wire: more than {TOOLS_DISAGREE:.0%} apart"
    )
    return Check(Rule("counters", kept, apart, most=TOOLS_DISAGREE), () if kept else (said,))


def doubted_claims(seen: Evidence) -> list[Claim]:
    """The links to which the log gives flows that delivered more than their counters say."""
    return [claim for claim in seen.claims if not claim.excess_mbps <= CLAIM_EXCESS * seen.bw]


def _paths(seen: Evidence) -> Check:
    if not seen.claims:
        return Check(Rule("paths", None, why_not="the controller claims no path"))
    excess = max(claim.excess_mbps for claim in seen.claims) / seen.bw
    doubted = doubted_claims(seen)
    rule = Rule("paths", not doubted, excess, most=CLAIM_EXCESS)
    if not doubted:
        return Check(rule)
    worst = max(doubted, key=lambda claim: claim.excess_mbps)
    said = (
        f"the flows did not take the paths that the controller claims: those placed on {worst.port} delivered "
        f"{worst.delivered_mbps:.2f} Mb/s, and it carried {worst.carried_mbps:.2f} Mb/s ({len(doubted)} links so)"
    )
    return Check(rule, (said,))


def _losses(seen: Evidence) -> Check:
    if seen.lost_packets is None:
        return Check(Rule("losses", None, why_not="a cable out of service loses packets"))
    place, count = max(seen.lost_packets.items(), key=lambda item: item[1], default=("", 0))
    said = f"{count} packets were lost in {place}, outside every queue"
    return Check(Rule("losses", not count, count, most=0), (said,) if count else ())
