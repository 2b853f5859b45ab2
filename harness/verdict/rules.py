"""Whether a run counts: what it did is held against what it should have done, and every doubt is named.

Rules of soundness ask whether the numbers are what they seem: nothing ended, nothing leaked, two ways of counting
agree, and flows took the paths that the controller says they took. What a flow delivered, every link of its path has
carried: a link to which the log gives flows that delivered more than its own counter saw carried something else, so
the log is wrong, or the switches do not do what they were told. The other direction says nothing: a link also carries
what is dropped behind it and sent again.

Rules of speed ask whether the machine was fast enough, as links show that have to be full all the time; in virtual
time, where every machine is, what was slow is told as the doing of TCP. A run is invalid when a rule condemns it, and
not judged when no rule of speed could say that the machine was fast enough. Which rules were applied, and what they
found, is part of the verdict. What the limits of the rules were set by: docs/notes/emulation.md.

Doubts that are no rules condemn a run as well: what troubled the senders, or that they sent for too short a time
(`verdict.measured_run`), the controller's errors (`verdict.result`), and what befell the job (`jobs.carry_out`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from msgspec.structs import replace

from harness.network import shaping
from harness.run import Outage
from harness.verdict.flows import MeasuredFlow, Window, compute_fair
from record import run as record_run
from record.run import Rule, Verdict, mean_over
from record.spec import RunSpec
from topos.arrays import Float64
from topos.links import link_rates, list_sending_ports, num_links, path_links
from topos.network import Network
from topos.wire import compute_acknowledgements_per_payload, compute_wire_per_payload

# The log has the moment at which the controller decided a move. Entries are changed after that, aggregation switches
# first, and packets that waited in a queue of the old path still arrive by it, with those behind them that had come
# before. No measurement that led to a quarter of a second is kept.
MOVED_S = 0.25
"""The log's time of a move and the time of the first packet on the new path may be so far apart, besides what the queue
takes."""


@dataclass(frozen=True)
class PlacedLink:
    """A link on which the controller's log places flows, by its sending port: what these delivered, what its counter
    says, and how far the first may exceed the second because of flows that moved; all Mb/s on the wire over one
    window."""

    port: str
    delivered_mbps: float
    carried_mbps: float
    slack_mbps: float

    @property
    def excess_mbps(self) -> float:
        return self.delivered_mbps - self.carried_mbps - self.slack_mbps


def list_placed_links(
    topo: Network, spec: RunSpec, flows: Sequence[MeasuredFlow], window: Window, carried: Mapping[str, float]
) -> list[PlacedLink]:
    """Every link that any flow is said to have used; ``carried``: Mb/s by sending port, nothing where it was not
    sampled."""
    # For a while after each move the log may be wrong about a flow, also after one shortly before the window. What
    # could have gone by a link in that while is its slack: as much as the link carries at full rate.
    delivered, unsure, moving_s = np.zeros((3, num_links(topo)))  # megabits, megabits, seconds
    late_s = compute_queue_s(spec) + MOVED_S
    moves = np.array([change.t for flow in flows for change in flow.routed.paths[1:]])
    most = spec.link_mbps / compute_wire_per_payload(spec.mtu)
    length = window[1] - window[0]
    for flow in flows:
        for stream, per_payload in (
            (flow.routed, compute_wire_per_payload(spec.mtu)),
            (flow.acknowledgements, compute_acknowledgements_per_payload(spec.mtu)),
        ):
            if not stream.paths and topo.num_cores > 1:
                continue  # the log says nothing of its path
            times = [-np.inf, *(change.t for change in stream.paths[1:]), np.inf]
            for i, core in enumerate([change.core for change in stream.paths] or [0]):
                since, until = max(times[i], window[0]), min(times[i + 1], window[1])
                if since >= until:
                    continue
                links = path_links(topo, [stream.src], [stream.dst], [core])[0]
                links = links[links >= 0]
                delivered[links] += per_payload * flow.mbit((since, until))
                unsure[links] += per_payload * _estimate_unsure(flow, window, (since, until), moves, most)
                moving_s[links] += np.clip(times[i] + late_s - window[0], 0.0, late_s) + late_s * (until < window[1])
    slack, ports = (moving_s * spec.link_mbps * link_rates(topo) + unsure) / length, list_sending_ports(topo)
    return [
        PlacedLink(ports[link], delivered[link] / length, carried.get(ports[link], 0.0), slack[link])
        for link in np.flatnonzero(delivered).tolist()
    ]


def _estimate_unsure(flow: MeasuredFlow, window: Window, part: Window, moves: Float64, most: float) -> float:
    """Megabits by which a flow's traffic inside the window may be overestimated: a report that lies across an edge of
    the window is split evenly, and if the flow moved in it, the true split may differ. Asked only of intervals in which
    a flow moved, so that rates changed; beyond the edge a link carried ``most`` at most."""
    unsure = 0.0
    for edge in {*window} & {*part}:
        for start, end, mbps in flow.intervals:
            before, after = edge - start, end - edge
            if before > 0 and after > 0 and ((start - MOVED_S < moves) & (moves < end)).any():
                inside, outside = (after, before) if edge == window[0] else (before, after)
                unsure += max(0.0, min(mbps * inside, (most - mbps) * outside))
    return unsure


# TCP finds its rate within a number of round trips. Where links are slow and queues long, these take longer than the
# seconds that are enough elsewhere. No measurement that led to 5 s and 25 round trips is kept.
TCP_SETTLES_S = 5.0
SETTLE_ROUND_TRIPS = 25
"""TCP has filled the path that it began on, or was moved to, after the longer of these two."""
CABLES = 6
"""The cables on the longest path of a fat-tree, from host to host."""
# Rates are read once a second: a shorter window may have no reading in it.
LEAST_WINDOW_S = 1.0
"""A window is no shorter."""


@dataclass(frozen=True)
class FullLinkRates:
    """What the links carried that max-min fairness says are full throughout ``window``, by sending port.

    Without a second in which TCP had settled, ``window`` is the measuring one, and ``why_not`` says so: links that are
    full all the same prove a machine fast enough, others nothing.
    """

    window: tuple[float, float]
    mbps: Mapping[str, float]
    why_not: str | None = None

    def record(self) -> record_run.FullLinks | None:
        mbps = {name: round(rate, 3) for name, rate in self.mbps.items()}
        return record_run.FullLinks(window_s=self.window, mbps=mbps) if mbps else None


def find_full_links(
    topo: Network,
    spec: RunSpec,
    flows: Sequence[MeasuredFlow],
    outages: Sequence[Outage],
    sent: Mapping[str, tuple[Float64, Float64]],
) -> FullLinkRates:
    """The links that have to be full once TCP has settled. ``sent``: when (seconds since the traffic started) and how
    fast (Mb/s) each port sent; one without samples counts as nan."""
    changed_at = [t for flow in flows for t in (flow.start, *(change.t for change in flow.routed.paths[1:]))]
    settled = find_settled_window(spec, changed_at, outages)
    unsettled = f"TCP had no second to settle in: that takes {settle_s(spec):.3g} s after a flow began or was moved"
    window = settled or spec.window_s
    full = compute_fair(topo, [flow.routed for flow in flows], window, spec.link_mbps, outages).full_links
    silent: tuple[Float64, Float64] = (np.array([]), np.array([]))
    ports = list_sending_ports(topo)
    mbps = {port: mean_over(*sent.get(port, silent), window=window) for port in sorted(ports[link] for link in full)}
    return FullLinkRates(window, mbps, None if settled else unsettled)


def find_settled_window(
    spec: RunSpec, changed_at: Sequence[float], outages: Sequence[Outage]
) -> tuple[float, float] | None:
    """The part of the measuring window, or else of the traffic, in which TCP has found its rates, a second at least:
    `settle_s` after a flow last began or was moved (``changed_at``), and after the last outage. Seconds since the
    traffic started."""
    # The measuring window comes first, because results are about it. A flow that was moved shortly before its end
    # leaves no settled second in it, and there may be one behind it.
    for end in (spec.window_s[1], spec.seconds):
        last = max([t for t in (*changed_at, *(outage.t for outage in outages)) if t < end], default=-math.inf)
        start = max(spec.window_s[0], last + settle_s(spec))
        if end - start >= LEAST_WINDOW_S:
            return start, end
    return None


def settle_s(spec: RunSpec) -> float:
    """How long TCP takes to fill a path, seconds."""
    delay_s = 2 * CABLES * (spec.delay_ms or 0.0) * 1e-3
    return max(TCP_SETTLES_S, SETTLE_ROUND_TRIPS * (compute_queue_s(spec) + delay_s))


def compute_queue_s(spec: RunSpec) -> float:
    """How long a packet takes through a full queue of the slowest link, seconds."""
    return spec.queue * spec.mtu * 8e-6 / spec.slowest_mbps


# What these limits were set by is in docs/notes/emulation.md, "Why the verdict's limits are what they are".

# Samples are not taken at even times. No port with a limit carried more than 25.04 Mb/s of 25.
LIMIT_EXCESS = 0.01
"""A port may carry so much more than its rate before its limit is in doubt."""
TOOLS_DISAGREE = 0.05
"""The totals of bwm-ng and iperf may be so far apart, once iperf's payload is converted to bytes on the wire."""
# In eight runs the worst link delivered 5 % of its rate beyond its counter, at the window's edges. A log with a wrong
# path exceeds it by more than the rate.
PLACED_EXCESS = 0.10
"""The flows that the log gives to a link may have delivered so much more than the link's counter says, as a share of
its rate, before the log's paths are in doubt."""
# A valid run had 92 % at least, and an overloaded network reaches 55 to 89 %. The rule is coarse: above it, other rules
# have to say that the machine was fast enough.
MIN_OF_MAXMIN = 0.85
"""A run with less than this share of the max-min fair total of its own paths was slowed by the machine, or by TCP, and
not by its paths."""
# docs/notes/emulation.md has what led to a half.
MIN_IN_TIME = 0.5
"""So many of the scheduler's rounds that were due must have been done before the next one was."""
# The worst valid run had 97.1 %. A single link may carry a third of its rate, because TCP does not share a path of
# several full links as max-min fairness does; a machine that is too slow is too slow for every link. Hence the median.
MIN_OF_FULL = 0.97
"""Half of the links that have to be full must carry at least this share of their rate."""
TOTAL = "total"
ROUNDS = "rounds"


@dataclass(frozen=True)
class RoundsDone:
    """``due``: so many rounds of the scheduler, at least, were to begin while the traffic ran; ``in_time``: so many
    began then, and were done before the next one was due."""

    due: int
    in_time: int

    @property
    def share(self) -> float:
        return min(1.0, self.in_time / self.due)


@dataclass(frozen=True)
class Evidence:
    """What was seen of a run. Rates in Mb/s on the wire, over the measuring window.

    ``counted_mbps`` arrived by the switches' counters, and ``payload_mbps`` at the receivers' sockets, over the whole
    time that the counters were read; ``placed_links`` holds paths against counters, link by link.

    ``full`` are the ports that have to be full all the time, if the flows share as max-min fairness has it;
    ``lost_packets`` were lost outside every queue, by place, None where nobody asked. ``overhead_mbps`` is what opening
    and closing connections, segments that arrive twice and segments out of order add to what was counted; of traffic
    that comes and goes, ``progress`` as in `harness.verdict.measured_run`. Where packets are spread, ``spread_mbps`` is
    what flows between pods delivered, and what the links from the cores carried. ``relative_rates``: the rate of each
    port over that of the hosts' links; 1 for ports that it lacks. ``rounds``: the scheduler's, None where nothing is to
    be asked of them.
    """

    spec: RunSpec
    port_mbps: Mapping[str, float]
    measured_mbps: float
    counted_mbps: float
    payload_mbps: float
    predicted_mbps: float
    full: FullLinkRates
    placed_links: Sequence[PlacedLink]
    lost_packets: Mapping[str, int] | None
    unfinished_flows: Sequence[str]
    window: tuple[float, float]
    dead_processes: Sequence[str]
    overhead_mbps: float = 0.0
    progress: float | None = None
    spread_mbps: tuple[float, float] | None = None
    relative_rates: Mapping[str, float] = field(default_factory=dict)
    rounds: RoundsDone | None = None

    def limit_mbps(self, port: str) -> float:
        return self.spec.link_mbps * self.relative_rates.get(port, 1.0)


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


def judge(evidence: Evidence, doubts: Sequence[str] = ()) -> Judgement:
    """The verdict; ``doubts`` are reasons of others."""
    sound = [
        rule(evidence)
        for rule in (_check_processes, _check_limits, _check_flows, _check_counters, _check_paths, _check_losses)
    ]
    speed = [rule(evidence) for rule in (_check_total, _check_progress, _check_full_links, _check_rounds)]
    against = [sentence for check in sound for sentence in check.against]
    against += [sentence for check in speed for sentence in check.against][:1]  # the others would say the same
    remarks = tuple(check.remark for check in speed if check.remark)
    rules = tuple(_round_rule(check.rule) for check in (*sound, *speed))
    if doubts or against:
        return Judgement("invalid", (*doubts, *against), remarks, rules)
    # The rule of the total is coarse: it condemns a run that is far too slow, and never says that the machine was fast
    # enough. That of the rounds says nothing of packets.
    fast = any(check.rule.rule not in (TOTAL, ROUNDS) and (check.rule.passed or check.remark) for check in speed)
    if evidence.spec.time == "virtual" or fast:
        return Judgement("ok", (), remarks, rules)
    why = "; ".join(check.rule.why_not for check in speed if check.rule.why_not)
    return Judgement("not judged", (f"no rule of speed could be applied: {why}",), remarks, rules)


def _round_rule(rule: Rule) -> Rule:
    """The rule as it is stored: numbers are rounded, and None where they are infinite or nan."""
    numbers = {name: getattr(rule, name) for name in ("measured", "minimum", "maximum")}
    finite = {name: round(n, 4) if n is not None and math.isfinite(n) else None for name, n in numbers.items()}
    return replace(rule, passed=None if rule.passed is None else bool(rule.passed), **finite)


# --- soundness ------------------------------------------------------------------------------------------


def _make_sound_check(rule: Rule, *reasons: str) -> Check:
    """``reasons``: what is against the run where the rule is broken."""
    return Check(rule, () if rule.passed else reasons)


def _check_processes(evidence: Evidence) -> Check:
    dead = evidence.dead_processes
    return _make_sound_check(Rule("processes", not dead), *(f"{name} ended during the run" for name in dead))


def _check_limits(evidence: Evidence) -> Check:
    # What a port may send beyond its rate after it was idle.
    bucket_mbit = shaping.shape_of(evidence.spec).burst_bytes * 8e-6
    over = {port: rate / evidence.limit_mbps(port) for port, rate in evidence.port_mbps.items()}
    # A port that was not sampled is nan, which is not equal to itself. It comes first, because nobody knows its rate.
    port = max(over, key=lambda port: (over[port] != over[port], over[port]), default="")
    rate, limit = evidence.port_mbps.get(port, 0.0), evidence.limit_mbps(port)
    most_mbps = limit * (1 + LIMIT_EXCESS) + bucket_mbit / (evidence.window[1] - evidence.window[0])
    reason = f"port {port} carried {rate:.2f} Mb/s, above its limit of {limit:g} Mb/s"
    return _make_sound_check(Rule("limits", rate <= most_mbps, rate, maximum=most_mbps), reason)


def _check_flows(evidence: Evidence) -> Check:
    flows = evidence.unfinished_flows
    reason = f"{len(flows)} flows did not run from start to end: {', '.join(flows[:4])}"
    return _make_sound_check(Rule("flows", not flows), reason)


def _check_counters(evidence: Evidence) -> Check:
    wire = evidence.payload_mbps * (
        compute_wire_per_payload(evidence.spec.mtu) + compute_acknowledgements_per_payload(evidence.spec.mtu)
    )
    wire += evidence.overhead_mbps
    apart = _compare(wire, evidence.counted_mbps)
    reason = (
        f"bwm-ng saw {evidence.counted_mbps:.1f} Mb/s arrive where iperf's {evidence.payload_mbps:.1f} Mb/s of payload "
        f"make {wire:.1f} Mb/s on the wire: more than {TOOLS_DISAGREE:.0%} apart"
    )
    return _make_sound_check(Rule("counters", apart <= TOOLS_DISAGREE, apart, maximum=TOOLS_DISAGREE), reason)


def find_doubted_links(evidence: Evidence) -> list[PlacedLink]:
    """The links to which the log gives flows that delivered more than their counters say."""
    return [link for link in evidence.placed_links if not _compute_excess(evidence, link) <= PLACED_EXCESS]


def _compute_excess(evidence: Evidence, link: PlacedLink) -> float:
    return link.excess_mbps / evidence.limit_mbps(link.port)


def _compare(first: float, second: float) -> float:
    """How far two numbers are apart, as a share of the larger one."""
    return abs(first - second) / larger if (larger := max(first, second)) else 0.0


def _check_conservation(delivered: float, carried: float) -> Check:
    apart = _compare(delivered, carried)
    reason = (
        f"flows between pods delivered {delivered:.1f} Mb/s on the wire, and the cores sent {carried:.1f} Mb/s: more "
        f"than {TOOLS_DISAGREE:.0%} apart"
    )
    return _make_sound_check(Rule("conservation", apart <= TOOLS_DISAGREE, apart, maximum=TOOLS_DISAGREE), reason)


def _check_paths(evidence: Evidence) -> Check:
    if evidence.spread_mbps is not None:
        return _check_conservation(*evidence.spread_mbps)
    if not evidence.placed_links:
        return Check(Rule("paths", None, why_not="the controller claims no path"))
    doubted, excess_of = find_doubted_links(evidence), partial(_compute_excess, evidence)
    worst = max(doubted or evidence.placed_links, key=excess_of)
    reason = (
        f"the flows did not take the paths that the controller claims: those placed on {worst.port} delivered "
        f"{worst.delivered_mbps:.2f} Mb/s, and it carried {worst.carried_mbps:.2f} Mb/s ({len(doubted)} links so)"
    )
    return _make_sound_check(
        Rule("paths", not doubted, max(map(excess_of, evidence.placed_links)), maximum=PLACED_EXCESS), reason
    )


def _check_losses(evidence: Evidence) -> Check:
    if evidence.lost_packets is None:
        return Check(Rule("losses", None, why_not="a cable out of service loses packets"))
    place, count = max(evidence.lost_packets.items(), key=lambda item: item[1], default=("", 0))
    return _make_sound_check(
        Rule("losses", not count, count, maximum=0), f"{count} packets were lost in {place}, outside every queue"
    )


# --- speed ----------------------------------------------------------------------------------------------


def _check_total(evidence: Evidence) -> Check:
    share = evidence.measured_mbps / evidence.predicted_mbps if evidence.predicted_mbps else 0.0
    passed = evidence.measured_mbps >= MIN_OF_MAXMIN * evidence.predicted_mbps
    reason = (
        f"{evidence.measured_mbps:.1f} Mb/s is {share:.0%} of the {evidence.predicted_mbps:.1f} Mb/s that these paths "
        f"allow (at least {MIN_OF_MAXMIN:.0%} counts)"
    )
    return _make_speed_check(evidence, Rule(TOTAL, passed, share, minimum=MIN_OF_MAXMIN), reason)


def _check_progress(evidence: Evidence) -> Check:
    if evidence.progress is None:
        return Check(Rule("progress", None))
    reason = (
        f"for long flows their paths allowed {evidence.progress:.0%} of the time that they took (at least "
        f"{MIN_OF_MAXMIN:.0%} counts)"
    )
    rule = Rule("progress", evidence.progress >= MIN_OF_MAXMIN, evidence.progress, minimum=MIN_OF_MAXMIN)
    return _make_speed_check(evidence, rule, reason)


def _check_full_links(evidence: Evidence) -> Check:
    full = evidence.full
    if not full.mbps:
        return Check(Rule("full links", None, why_not=full.why_not or "no link has to be full all the time"))
    carried = float(np.median([mbps / evidence.limit_mbps(port) for port, mbps in full.mbps.items()]))
    reason = (
        f"half of the {len(full.mbps)} links that have to be full carried less than {carried:.1%} of their rate "
        f"(at least {MIN_OF_FULL:.0%} counts)"
    )
    rule = Rule("full links", carried >= MIN_OF_FULL, carried, minimum=MIN_OF_FULL)
    if not rule.passed and full.why_not is not None:
        return Check(replace(rule, passed=None, why_not=f"{full.why_not}, and {reason}"))
    return _make_speed_check(evidence, rule, reason)


def _check_rounds(evidence: Evidence) -> Check:
    # A machine whose processors are busy with packets fills every link of the flows' first paths, and has the scheduler
    # wait meanwhile. Such a run is no measure of the scheduler.
    rounds = evidence.rounds
    if rounds is None:
        return Check(Rule(ROUNDS, None))
    reason = (
        f"{rounds.share:.0%} of the {rounds.due} rounds of the scheduler that were due were done before the next one "
        f"was due (at least {MIN_IN_TIME:.0%} counts)"
    )
    rule = Rule(ROUNDS, rounds.share >= MIN_IN_TIME, rounds.share, minimum=MIN_IN_TIME)
    return _make_speed_check(evidence, rule, reason)


def _make_speed_check(evidence: Evidence, rule: Rule, reason: str) -> Check:
    """``reason``: in what the run was slow, where the rule is broken. It condemns no run in virtual time."""
    if rule.passed:
        return Check(rule)
    # In virtual time computing takes none, so no machine is slow. What is slow is the doing of TCP, and part of the
    # result.
    if evidence.spec.time == "virtual":
        return Check(rule, remark=f"TCP was slow: {reason}")
    # After a failure TCP takes seconds to find its rate again, and a short run cannot make up for these.
    who = "the machine, or TCP after the failure," if evidence.spec.fail else "the machine"
    return Check(rule, (f"{who} was too slow: {reason}",))
