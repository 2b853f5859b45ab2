"""What became of the flows of a run, what they could have had at the times and on the paths that they had, and what a
failure did to them: which it hit, how soon they moved again, what was left of the bandwidth."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from harness.hosts.connections import NUMBER
from harness.run import Observation, Outage
from harness.verdict.flows import (
    Fair,
    MeasuredFlow,
    RoutedFlow,
    Window,
    compute_capacities,
    compute_fair,
    find_links_down_at,
    measure_flows,
)
from harness.verdict.rules import RoundsDone, compute_queue_s
from hedera.linkstate import LinkState
from hedera.maxmin import bound_total, compute_alone_rates
from record.completion_times import summarise_by_class
from record.run import Completion, Failure, Phase, Round, Turns
from record.spec import SHORTEST_S, RunSpec, find_lasting, find_middle, split_phases
from topos.arrays import Float64
from topos.fattree import FatTree
from topos.links import list_cables, list_moments, path_links
from topos.network import Network
from topos.wire import (
    BARE_FRAME,
    ETHERNET_HEADER,
    SYN_FRAME,
    TCP_IP_HEADERS,
    compute_acknowledgements_per_payload,
    compute_payload_share,
    compute_wire_per_payload,
)
from traffic.workload import Workload

# A shorter flow shows how TCP starts, and not whether the machine kept up.
LONG_FLOW_S = 0.5
"""A flow is long that takes at least so long by its fair share."""
CONNECTION_BYTES = 2 * SYN_FRAME + 5 * BARE_FRAME
"""What a connection brings to its two hosts besides data and acknowledgements: SYN, SYN-ACK and ACK; the sink's FIN and
its ACK, the sender's FIN and its ACK."""
REORDERED_BYTES = BARE_FRAME + 28
"""The acknowledgement that a segment out of order causes. It names three blocks that came (RFC 2018)."""
ANSWER_BYTES = 2 * BARE_FRAME + NUMBER.size
"""What a message of a collective brings besides its data: the receiver's answer, and the acknowledgement of that."""
# The epoch's clock tells when counters were read and paths changed. A clock that nobody sets is at most 0.05 % fast;
# whoever sets it moves it by more than this.
CLOCK_S = 0.25
"""The epoch's clock may gain or lose this much against the monotonic one during a run."""
# Open loop: a flow starts at its time, whatever became of those before. Where half of them could not, the network had
# another workload than was asked for.
LATE_S = 0.1
"""The median flow's sender may open its connection so much later than it was to."""
# No measurement that led to this is kept.
UNKNOWN_PATHS = 0.01
"""The paths of this share of flows may be unknown."""


@dataclass(frozen=True)
class MeasuredRun:
    """Times are seconds since the traffic started, rates on the wire."""

    spec: RunSpec
    observation: Observation

    @cached_property
    def topo(self) -> Network:
        return self.spec.network()

    @cached_property
    def workload(self) -> Workload:
        return self.spec.workload()

    @property
    def has_lasting_flows(self) -> bool:
        """Whether all flows are there all the time."""
        return find_lasting(self.workload) is not None

    @cached_property
    def flows(self) -> Sequence[MeasuredFlow]:
        return measure_flows(self.observation, self.spec.mtu, self.has_lasting_flows)

    @property
    def is_shuffle(self) -> bool:
        """Whether it is a shuffle, in which every host has one flow after the other."""
        return self.workload.matrix is not None and self.workload.matrix.sequential

    @property
    def ends_with_last_flow(self) -> bool:
        """Whether the run ends with its last flow: a shuffle or a collective."""
        return self.is_shuffle or self.workload.graph is not None

    @cached_property
    def end(self) -> float:
        ends = [flow.end for flow in self.flows if flow.emulated.sent is not None] if self.ends_with_last_flow else []
        return max(ends, default=self.spec.seconds)

    @cached_property
    def window(self) -> Window:
        return find_middle(self.end)

    @cached_property
    def fair(self) -> Fair:
        return self.fair_in(self.window)

    def fair_in(self, window: Window) -> Fair:
        flows = [flow.routed for flow in self.flows]
        return compute_fair(
            self.topo, flows, window, self.spec.link_mbps, self.observation.outages, max(window[1], self.end)
        )

    @cached_property
    def progress(self) -> float | None:
        """How long the flows that take long (of a collective, whose connections stay, all flows) should have taken, all
        together, over how long they took; None when no flow took so long. A flow that was cut off took at least the
        time that it had."""
        # They are summed, because TCP does not share a link fairly: what one flow has less, another one has more.
        fair_durations_s = durations_s = 0.0
        minimum_s = LONG_FLOW_S if self.workload.graph is None else 0.0
        for flow, end in zip(self.flows, self.fair.end.tolist(), strict=True):
            # The end of a flow without a size is nan, which is not as large as anything.
            if flow.emulated.sent is not None and end - flow.start >= minimum_s:
                fair_durations_s += end - flow.start
                durations_s += flow.end - flow.start if flow.completion_s is None else flow.completion_s
        return fair_durations_s / durations_s if durations_s else None

    def handshakes_mbps(self, window: Window) -> float:
        """What opening and closing the flows' connections brings to hosts, on the wire; and that a flow's last
        segment has a header of its own, however short it is. Flows that last opened their connections before the
        window, and bring nothing."""
        segment = self.spec.mtu - TCP_IP_HEADERS
        connection_bytes = CONNECTION_BYTES if self.workload.graph is None else ANSWER_BYTES
        started = [flow for flow in self.flows if not self.has_lasting_flows and window[0] <= flow.start < window[1]]
        total = sum(connection_bytes + -(flow.emulated.size_bytes or 0) / segment % 1 * BARE_FRAME for flow in started)
        return total * 8e-6 / (window[1] - window[0])

    @property
    def repeated_mbps(self) -> float:
        """Segments that arrived twice, on the wire: sent again though no queue had dropped them. After a timeout TCP
        sends again what the receiver has, unless selective acknowledgements tell it (RFC 2018)."""
        sent_again = self.observation.tcp.get("retransmitted_segments", 0)
        twice = max(0, sent_again - sum(self.observation.drops.values()))
        return twice * (self.spec.mtu + ETHERNET_HEADER) * 8e-6 / self.end

    @property
    def reordering_mbps(self) -> float:
        """What TCP's doubts bring to hosts where packets are spread, on the wire: an acknowledgement for each segment
        out of order, besides those that the payload makes anyway."""
        if self.spec.chosen.gap_us is None:
            return 0.0
        return self.observation.tcp.get("segments_out_of_order", 0) * REORDERED_BYTES * 8e-6 / self.end

    def spread_mbps(self, ports: Mapping[str, float]) -> tuple[float, float] | None:
        """What flows between pods, or the leaves of a leaf-spine, brought to hosts in the window, and what the switches
        above these sent, of all ``ports``; Mb/s on the wire. None where a flow has one path."""
        if self.spec.chosen.gap_us is None:
            return None
        topo, tree = self.topo, isinstance(self.topo, FatTree)
        below = [host.split("_")[0] if tree else topo.edge_of(number) for number, host in enumerate(topo.hosts)]
        flow_rates = [
            (below[flow.emulated.src] != below[flow.emulated.dst], flow.mean_mbps(self.window)) for flow in self.flows
        ]
        total, between = sum(mbps for _, mbps in flow_rates), sum(mbps for is_between, mbps in flow_rates if is_between)
        wire = compute_wire_per_payload(self.spec.mtu) + compute_acknowledgements_per_payload(self.spec.mtu)
        top = "core" if tree else "aggregation"
        cores = {f"{name}-" for name in topo.switches if topo.layer(name) == top}
        carried = sum(mbps for port, mbps in ports.items() if port.partition("eth")[0] in cores)
        doubts = self.repeated_mbps + self.reordering_mbps
        return between * wire + (doubts * between / total if total else 0.0), carried

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """All that the controller told of."""
        return tuple(
            Round(
                t=round(event["t"] - self.observation.begin, 3),
                **{name: event[name] for name in ("round", "flows", "large", "placed", "changed")},
                **{f"{name}_ms": round(event[f"{name}_s"] * 1e3, 3) for name in ("polled", "compute", "install")},
            )
            for event in self.observation.events
            if event["event"] == "round"
        )

    @property
    def rounds_done(self) -> RoundsDone | None:
        """The scheduler's rounds, of the time that the traffic ran. None of a scheme without rounds, where none was
        due, and in virtual time, in which no round waits for a processor."""
        if self.spec.chosen.scheduler is None or self.spec.time == "virtual":
            return None
        # A controller that was started again begins its rounds a period after it is ready. That one was missing is told
        # elsewhere: here it is asked what those did that were there.
        missed_s = 0.0
        for restart in self.observation.restarts:
            ready = [event["t"] for event in self.observation.events if event["event"] == "ready"]
            again = min((t for t in ready if t > restart.t), default=self.observation.begin + self.end)
            missed_s += again - restart.t + 2 * self.spec.interval_s
        due = math.floor((self.end - missed_s) / self.spec.interval_s)
        if due < 1:
            return None
        period_ms = self.spec.interval_s * 1e3
        in_time = [one for one in self.rounds if 0 <= one.began < self.end and (one.total_ms or 0.0) <= period_ms]
        return RoundsDone(due, len(in_time))

    @property
    def why_too_short(self) -> str | None:
        """Why the traffic was over too soon to be measured. This sentence is then the only reason, because all else
        that would be told of the run stands on rates that it does not have. None if it lasted long enough, or if a
        program died or a flow failed, which is then the reason."""
        observation = self.observation
        if self.end >= SHORTEST_S or observation.dead_programs or observation.unfinished or observation.troubles:
            return None
        return (
            f"all was sent after {self.end:.1f} s, and rates are read once a second: it has to last {SHORTEST_S} s "
            "at least (send more, or on slower links)"
        )

    def reasons(self) -> list[str]:
        """Doubts about what sends, and of traffic that comes and goes."""
        reasons = list(self.observation.troubles)
        if abs(moved := self.observation.clock_moved_s) > CLOCK_S:
            reasons.append(f"this machine's clock was set during the run: it moved by {moved:+.2f} s")
        if self.has_lasting_flows:
            return reasons
        late = [sent.start - sent.scheduled for flow in self.observation.flows if (sent := flow.sent) and sent.start]
        if late and float(np.median(late)) > LATE_S:
            reasons.append(f"the machine was too slow: half of the flows began {np.median(late):.2f} s late or more")
        unknown = sum(not flow.routed.paths and bool(flow.intervals) for flow in self.flows)
        if self.topo.num_cores > 1 and self.spec.chosen.gap_us is None and unknown > UNKNOWN_PATHS * len(self.flows):
            reasons.append(f"the controller does not know the paths of {unknown} of {len(self.flows)} flows")
        return reasons

    @property
    def completion(self) -> tuple[Completion, ...]:
        flows_alone = zip(self.flows, self._alone_bytes_per_s.tolist(), strict=True)
        rows = [row for flow, alone in flows_alone if (row := self._measure_sized(flow, alone)) is not None]
        size, durations, is_done, per_s = np.array(rows).reshape(-1, 4).T
        sent = [flow.sent for flow in self.observation.flows if flow.sent is not None]
        shakes = [end.connected - end.start for end in sent if end.connected is not None and end.start is not None]
        # A flow alone needs a handshake, which is a round trip, and half a round trip more for its last byte to arrive.
        alone = size / per_s + 1.5 * min(shakes, default=0.0)
        # The classes are those of links of 1 Gb/s.
        classes = summarise_by_class(size / self.workload.size_scale, durations, alone, is_done.astype(bool))
        return tuple(row for row in classes if row.flows)

    def _measure_sized(self, measured: MeasuredFlow, alone: float) -> tuple[float, float, bool, float] | None:
        """Bytes, seconds, whether it ended, and what it has ``alone``, bytes per second: of a flow that has a size and
        was to start in the window (where the run ends with its last flow: of every flow). None for all others, and for
        one that failed, which the verdict names. One that was cut off has the least that it would have taken."""
        # A flow is chosen by when it was to start and not by when it ended: so schemes are compared on the same flows.
        size, sent, arrived = measured.emulated.size_bytes, measured.emulated.sent, measured.emulated.arrived
        if size is None or sent is None or sent.start is None:
            return None
        scheduled_s = sent.scheduled - (self.observation.begin - self.observation.clock_offset)
        if not self.ends_with_last_flow and not self.window[0] <= scheduled_s < self.window[1]:
            return None
        if measured.completion_s is not None:
            return size, measured.completion_s, True, alone
        if sent.outcome != "cut off":
            return None
        left = size - (0 if arrived is None else arrived.bytes)
        return size, sent.end - sent.start + left / alone, False, alone

    @property
    def _alone_bytes_per_s(self) -> Float64:
        """The payload that each flow would have alone by its last path, float64 (flows,)."""
        ends = [(flow.emulated.src, flow.emulated.dst, flow.routed.core_at(np.inf)) for flow in self.flows]
        src, dst, core = np.array(ends, dtype=np.int32).reshape(-1, 3).T
        sprayed = self.spec.chosen.sprays
        mbps = compute_alone_rates(self.topo, src, dst, core, self.spec.link_mbps, sprayed=sprayed)
        return mbps * 1e6 / 8 * compute_payload_share(self.spec.mtu)

    @property
    def turns(self) -> Turns | None:
        """How long a shuffle took, when its hosts were done on average, and their goodput (section 6.3). None for other
        traffic."""
        if not self.is_shuffle:
            return None
        if any(flow.completion_s is None for flow in self.flows):
            return Turns(shuffle_s=None, host_completion_s=None, goodput_mbytes_per_s=None)
        done: dict[int, float] = {}
        size: dict[int, int] = {}
        for flow in self.flows:
            src = flow.emulated.src
            done[src] = max(done.get(src, 0.0), flow.start + (flow.completion_s or 0.0))
            size[src] = size.get(src, 0) + (flow.emulated.size_bytes or 0)
        hosts = float(np.mean(list(done.values())))
        return Turns(
            shuffle_s=round(max(done.values()), 3),
            host_completion_s=round(hosts, 3),
            goodput_mbytes_per_s=round(float(np.mean(list(size.values()))) / 1e6 / hosts, 6),
        )


# No measurement that led to this is kept.
STAYED_S = 2.0
"""Of flows that come and go, those that were there for so long after a failure tell how they fared."""


class Recovery:
    """``outages``: what was out of service from when on. Times are seconds since the traffic started."""

    def __init__(self, topo: Network, spec: RunSpec, outages: Sequence[Outage], flows: Sequence[MeasuredFlow]) -> None:
        self._topo = topo
        self._spec = spec
        self._outages = outages
        self._flows = flows
        self._src = np.array([flow.routed.src for flow in flows], dtype=np.int64)
        self._dst = np.array([flow.routed.dst for flow in flows], dtype=np.int64)

    @cached_property
    def cut_off(self) -> set[str]:
        """The flows, named by their hosts, that had no path at all at some time."""
        without = {i for outage in self._outages for i in np.flatnonzero(self._find_stranded(outage.links))}
        return {f"{self._src[i]} to {self._dst[i]}" for i in without}

    def _find_stranded(self, down: frozenset[int]) -> NDArray[np.bool_]:
        """Whether each flow has no working path, one way or the other: bool (flows,)."""
        if not down:
            return np.zeros(self._src.size, dtype=np.bool_)
        links = LinkState(self._topo)
        links.fail(down)
        return ~(links.connected(self._src, self._dst) & links.connected(self._dst, self._src))

    def _find_hit(self, down: frozenset[int], t: float) -> NDArray[np.bool_]:
        """Whether each flow, or what acknowledges it, was on a path through these links just before ``t``."""
        hit = np.zeros(self._src.size, dtype=np.bool_)
        for streams in ([flow.routed for flow in self._flows], [flow.acknowledgements for flow in self._flows]):
            cores = [stream.core_at(np.nextafter(t, 0.0)) for stream in streams]
            src, dst = [stream.src for stream in streams], [stream.dst for stream in streams]
            hit |= np.isin(path_links(self._topo, src, dst, cores), list(down)).any(axis=1)
        return hit & [flow.routed.start < t and flow.end > t + STAYED_S for flow in self._flows]

    def failures(self) -> tuple[Failure, ...]:
        return tuple(map(self._measure_failure, range(len(self._outages))))

    def phases(self, mean_total: Callable[[Window], float], fair_total: Callable[[Window], float]) -> tuple[Phase, ...]:
        """The parts of the window; what all hosts received on average in one, Mb/s, and what was fair."""
        outages_planned = zip(self._outages, list_moments(self._spec.faults), strict=False)
        windows = split_phases(
            [outage.t for outage, moment in outages_planned if moment > 0], self._spec.window_s, self._spec.seconds
        )
        return tuple(self._measure_phase(window, mean_total(window), fair_total(window)) for window in windows)

    def _measure_phase(self, window: Window, received: float, predicted: float) -> Phase:
        down = find_links_down_at(self._outages, window[0])
        best = None
        if all(np.isinf(flow.end) for flow in self._flows):  # of flows that are there all the time
            capacity = compute_capacities(self._topo, self._spec.link_mbps, down)
            best = bound_total(self._topo, self._src, self._dst, capacity)
        return Phase(
            from_s=round(window[0], 3),
            to_s=round(window[1], 3),
            down=self._name_cables(down),
            mbps=round(received, 3),
            maxmin_mbps=round(predicted, 3),
            best_mbps=None if best is None else round(best, 3),
        )

    def _name_cables(self, down: frozenset[int]) -> tuple[str, ...]:
        return tuple("-".join(cable) for cable in list_cables(self._topo, down))

    def _measure_failure(self, number: int) -> Failure:
        outage = self._outages[number]
        before = self._outages[number - 1].links if number else frozenset()
        broken, mended = outage.links - before, before - outage.links
        stranded = self._find_stranded(outage.links)
        hit = self._find_hit(broken, outage.t) if broken else np.zeros(self._src.size, dtype=np.bool_)
        back = self._find_stranded(before) & ~stranded
        until = self._outages[number + 1].t if number + 1 < len(self._outages) else self._spec.seconds
        return Failure(
            t=round(outage.t, 3),
            broken=self._name_cables(broken),
            mended=self._name_cables(mended),
            affected=int(hit.sum()),
            cut_off=int((hit & stranded).sum()),
            rerouted_s=self._measure_rerouted_s(np.flatnonzero(hit & ~stranded), outage, until),
            moving_s=self._measure_moving_s(np.flatnonzero((hit | back) & ~stranded), outage.t),
        )

    def _measure_rerouted_s(self, hit: NDArray[np.intp], outage: Outage, until: float) -> float | None:
        """Until the controller had moved the last of these flows, and its acknowledgements, to a path that works
        (by its log); None when there was none to move, or one was not moved before anything else happened."""
        latest = None
        moved = [self._flows[i] for i in hit]
        for stream in (stream for flow in moved for stream in (flow.routed, flow.acknowledgements)):
            if self._is_working(stream, np.nextafter(outage.t, 0.0), outage):
                continue
            times = [change.t for change in stream.paths if outage.t <= change.t < until]
            then = next((t for t in times if self._is_working(stream, t, outage)), None)
            if then is None:
                return None
            latest = max(then - outage.t, latest or 0.0)
        return None if latest is None else round(latest, 3)

    def _is_working(self, stream: RoutedFlow, t: float, outage: Outage) -> bool:
        links = path_links(self._topo, [stream.src], [stream.dst], [stream.core_at(t)])
        return not outage.links.intersection(links[0].tolist())

    def _measure_moving_s(self, flows: NDArray[np.intp], t: float) -> float | None:
        """Until the last of these flows had moved again, an upper bound: to the end of iperf's first second in which it
        received something, of those that begin when a full queue behind the failure has been delivered. None when
        there is no flow, or one did not move again."""
        drained = t + compute_queue_s(self._spec)
        ends = []
        for i in flows:
            end = next((begin + 1 for begin, mbps in self._flows[i].seconds if begin >= drained and mbps > 0), None)
            if end is None:
                return None
            ends.append(end - t)
        return round(max(ends), 3) if ends else None
