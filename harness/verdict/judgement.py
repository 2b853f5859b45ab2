"""Whether a run counts: what it did is held against what it should have done, and every doubt is named.

Rules of soundness ask whether the numbers are what they seem: nothing ended, nothing leaked, and two ways of counting
agree. Rules of speed ask whether the machine was fast enough; in virtual time, where every machine is, what was slow
is told as TCP's doing. A run is invalid when a rule condemns it, and not judged when no rule of speed could say that
the machine was fast enough. Which rules were applied, and what they found, is part of the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from msgspec.structs import replace

from harness.run.spec import RunSpec
from harness.verdict.links import Claim, FullLinks
from record.parts import Rule
from record.run import Verdict
from topos.wire import acknowledgements_per_payload, wire_per_payload

LIMIT_EXCESS = 0.01
"""A shaped port may carry this much more than its rate before its limit is in doubt (sampling jitter)."""
TOOLS_DISAGREE = 0.05
"""How far apart bwm-ng's and iperf's totals may be, after iperf's payload is converted to bytes on the wire."""
CLAIM_EXCESS = 0.10
"""What the flows placed on a link may have delivered beyond what its own counter says, as a share of the link's rate,
before the paths that the controller claims are in doubt."""
MIN_OF_MAXMIN = 0.85
"""A run below this share of the max-min fair total for its own paths was slowed by the machine, or by TCP, not by
paths. It is coarse: above it, other rules have to say that the machine was fast enough."""
MIN_OF_FULL = 0.97
"""What half of the links that have to be full must carry of their rate at least. The median, because TCP does not
share a path of several full links as max-min fairness does; a machine that is too slow is so for every link."""

TOTAL = "total"


@dataclass(frozen=True)
class Evidence:
    """What was seen of a run. Rates in Mb/s on the wire, over the measuring window.

    ``counted_mbps`` arrived by the switches' counters, and ``payload_mbps`` at the receivers' sockets, over the whole
    time that the counters were read; ``claims`` holds paths against counters, link by link.

    ``full`` are the ports that have to be full all the time, if the flows share as max-min fairness has it;
    ``lost_packets`` were lost outside every queue, by place, None where nobody asked. Of traffic that comes and goes,
    ``besides_mbps`` is what opening and closing connections, and segments out of order, add to what was counted,
    ``progress`` as in `harness.verdict.outcome`. Where packets are spread, ``spread_mbps`` is what flows between pods
    delivered, and what the links from the cores carried. ``rates``: by port, over that of the hosts' links; 1 where
    nothing is said.
    """

    spec: RunSpec
    port_mbps: Mapping[str, float]
    measured_mbps: float
    counted_mbps: float
    payload_mbps: float
    predicted_mbps: float
    full: FullLinks
    claims: Sequence[Claim]
    lost_packets: Mapping[str, int] | None
    unfinished_flows: Sequence[str]
    window: tuple[float, float]
    dead_processes: Sequence[str]
    besides_mbps: float = 0.0
    progress: float | None = None
    spread_mbps: tuple[float, float] | None = None
    rates: Mapping[str, float] = field(default_factory=dict)

    def limit_mbps(self, port: str) -> float:
        return self.spec.link_mbps * self.rates.get(port, 1.0)


@dataclass(frozen=True)
class Check:
    """A rule applied: a sentence in ``against`` for what condemns the run, ``remark`` for what does not."""

    rule: Rule
    against: tuple[str, ...] = ()
    remark: str | None = None


@dataclass(frozen=True)
class Judgement:
    """``reasons``: why the run does not count, one sentence each; ``remarks``: what is to be said of one that may."""

    verdict: Verdict
    reasons: tuple[str, ...]
    remarks: tuple[str, ...]
    rules: tuple[Rule, ...]


def judge(seen: Evidence, doubts: Sequence[str] = ()) -> Judgement:
    """The verdict; ``doubts`` are reasons of others."""
    sound, speed = of_soundness(seen), of_speed(seen)
    against = [sentence for check in sound for sentence in check.against]
    against += [sentence for check in speed for sentence in check.against][:1]  # the others would say the same
    remarks = tuple(check.remark for check in speed if check.remark)
    rules = tuple(_rounded(check.rule) for check in (*sound, *speed))
    if doubts or against:
        return Judgement("invalid", (*doubts, *against), remarks, rules)
    if seen.spec.time == "virtual" or any(_shows_speed(check) for check in speed):
        return Judgement("ok", (), remarks, rules)
    why = "; ".join(check.rule.why_not for check in speed if check.rule.why_not)
    return Judgement("not judged", (f"no rule of speed could be applied: {why}",), remarks, rules)


def _rounded(rule: Rule) -> Rule:
    """As it is stored: without numbers that are none."""
    numbers = {name: getattr(rule, name) for name in ("found", "least", "most")}
    finite = {name: round(n, 4) if n is not None and math.isfinite(n) else None for name, n in numbers.items()}
    return replace(rule, kept=None if rule.kept is None else bool(rule.kept), **finite)


def _shows_speed(check: Check) -> bool:
    """Whether a rule says that the machine was fast enough, which the coarse one of the total never does."""
    return check.rule.rule != TOTAL and bool(check.rule.kept or check.remark)


# --- soundness ------------------------------------------------------------------------------------------


def of_soundness(seen: Evidence) -> list[Check]:
    return [_processes(seen), _limits(seen), _flows(seen), _counters(seen), _paths(seen), _losses(seen)]


def _held(rule: Rule, *said: str) -> Check:
    """``said``: what is against the run where the rule is broken."""
    return Check(rule, () if rule.kept else said)


def _processes(seen: Evidence) -> Check:
    ended = seen.dead_processes
    return _held(Rule("processes", not ended), *(f"{name} ended during the run" for name in ended))


def _limits(seen: Evidence) -> Check:
    bucket_mbit = seen.spec.shape.burst_bytes * 8e-6  # what a port may send beyond its rate after it was idle
    over = {port: rate / seen.limit_mbps(port) for port, rate in seen.port_mbps.items()}
    port = max(over, key=lambda port: (over[port] != over[port], over[port]), default="")
    rate, limit = seen.port_mbps.get(port, 0.0), seen.limit_mbps(port)
    most = limit * (1 + LIMIT_EXCESS) + bucket_mbit / (seen.window[1] - seen.window[0])
    said = f"port {port} carried {rate:.2f} Mb/s, above its limit of {limit:g} Mb/s"
    return _held(Rule("limits", rate <= most, rate, most=most), said)


def _flows(seen: Evidence) -> Check:
    flows = seen.unfinished_flows
    said = f"{len(flows)} flows did not run from start to end: {', '.join(flows[:4])}"
    return _held(Rule("flows", not flows), said)


def _counters(seen: Evidence) -> Check:
    wire = seen.payload_mbps * (wire_per_payload(seen.spec.mtu) + acknowledgements_per_payload(seen.spec.mtu))
    wire += seen.besides_mbps
    larger = max(wire, seen.counted_mbps)
    kept = abs(wire - seen.counted_mbps) <= TOOLS_DISAGREE * larger
    apart = abs(wire - seen.counted_mbps) / larger if larger else 0.0
    said = (
        f"bwm-ng saw {seen.counted_mbps:.1f} Mb/s arrive where iperf's {seen.payload_mbps:.1f} Mb/s of payload "
        f"make {wire:.1f} Mb/s on the wire: more than {TOOLS_DISAGREE:.0%} apart"
    )
    return _held(Rule("counters", kept, apart, most=TOOLS_DISAGREE), said)


def doubted_claims(seen: Evidence) -> list[Claim]:
    """The links to which the log gives flows that delivered more than their counters say."""
    return [claim for claim in seen.claims if not _excess(seen, claim) <= CLAIM_EXCESS]


def _excess(seen: Evidence, claim: Claim) -> float:
    return claim.excess_mbps / seen.limit_mbps(claim.port)


def _conservation(seen: Evidence, delivered: float, carried: float) -> Check:
    apart = abs(delivered - carried) / larger if (larger := max(delivered, carried)) else 0.0
    said = (
        f"flows between pods delivered {delivered:.1f} Mb/s on the wire, and the cores sent {carried:.1f} Mb/s: more "
        f"than {TOOLS_DISAGREE:.0%} apart"
    )
    return _held(Rule("conservation", apart <= TOOLS_DISAGREE, apart, most=TOOLS_DISAGREE), said)


def _paths(seen: Evidence) -> Check:
    if seen.spread_mbps is not None:
        return _conservation(seen, *seen.spread_mbps)
    if not seen.claims:
        return Check(Rule("paths", None, why_not="the controller claims no path"))
    doubted = doubted_claims(seen)
    worst = max(doubted or seen.claims, key=partial(_excess, seen))
    excess = max(map(partial(_excess, seen), seen.claims))
    said = (
        f"the flows did not take the paths that the controller claims: those placed on {worst.port} delivered "
        f"{worst.delivered_mbps:.2f} Mb/s, and it carried {worst.carried_mbps:.2f} Mb/s ({len(doubted)} links so)"
    )
    return _held(Rule("paths", not doubted, excess, most=CLAIM_EXCESS), said)


def _losses(seen: Evidence) -> Check:
    if seen.lost_packets is None:
        return Check(Rule("losses", None, why_not="a cable out of service loses packets"))
    place, count = max(seen.lost_packets.items(), key=lambda item: item[1], default=("", 0))
    return _held(Rule("losses", not count, count, most=0), f"{count} packets were lost in {place}, outside every queue")


# --- speed ----------------------------------------------------------------------------------------------


def of_speed(seen: Evidence) -> list[Check]:
    return [_total(seen), _progress(seen), _full_links(seen)]


def _total(seen: Evidence) -> Check:
    share = seen.measured_mbps / seen.predicted_mbps if seen.predicted_mbps else 0.0
    kept = seen.measured_mbps >= MIN_OF_MAXMIN * seen.predicted_mbps
    said = (
        f"{seen.measured_mbps:.1f} Mb/s is {share:.0%} of the {seen.predicted_mbps:.1f} Mb/s that these paths allow "
        f"(at least {MIN_OF_MAXMIN:.0%} counts)"
    )
    return _fast(seen, Rule(TOTAL, kept, share, least=MIN_OF_MAXMIN), said)


def _progress(seen: Evidence) -> Check:
    if seen.progress is None:
        return Check(Rule("progress", None))
    said = (
        f"for long flows their paths allowed {seen.progress:.0%} of the time that they took (at least "
        f"{MIN_OF_MAXMIN:.0%} counts)"
    )
    rule = Rule("progress", seen.progress >= MIN_OF_MAXMIN, seen.progress, least=MIN_OF_MAXMIN)
    return _fast(seen, rule, said)


def _full_links(seen: Evidence) -> Check:
    full = seen.full
    if not full.mbps:
        return Check(Rule("full links", None, why_not=full.why_not or "no link has to be full all the time"))
    carried = float(np.median([mbps / seen.limit_mbps(port) for port, mbps in full.mbps.items()]))
    said = (
        f"half of the {len(full.mbps)} links that have to be full carried less than {carried:.1%} of their rate "
        f"(at least {MIN_OF_FULL:.0%} counts)"
    )
    rule = Rule("full links", carried >= MIN_OF_FULL, carried, least=MIN_OF_FULL)
    if not rule.kept and full.why_not is not None:
        return Check(replace(rule, kept=None, why_not=f"{full.why_not}, and {said}"))
    return _fast(seen, rule, said)


def _fast(seen: Evidence, rule: Rule, said: str) -> Check:
    """``said``: in what the run was slow, where the rule is broken."""
    if rule.kept:
        return Check(rule)
    if seen.spec.time == "virtual":  # no machine is slow there
        return Check(rule, remark=f"TCP was slow: {said}")
    # After a failure TCP takes seconds to find its rate again, which a short run cannot make up for.
    who = "the machine, or TCP after the failure," if seen.spec.fail else "the machine"
    return Check(rule, (f"{who} was too slow: {said}",))
