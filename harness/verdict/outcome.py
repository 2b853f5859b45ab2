"""What became of the flows of a run, and what they could have had at the times and on the paths that they had."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from harness.hosts.connections import NUMBER
from harness.run.observation import Observation
from harness.run.spec import SHORTEST_S, RunSpec, lasting
from harness.run.traffic import EmulatedFlow
from harness.verdict.fair import Fair, RoutedFlow, Window, fair
from harness.verdict.flows import MeasuredFlow
from hedera.experiment import middle
from results.parts import Collective, Completion, FlowRecord, Turns
from topos.network import Network
from topos.wire import BARE_FRAME, SYN_FRAME, TCP_IP_HEADERS, payload_share
from traffic.completion import by_class
from traffic.workload import Workload

SETTLED_S = 0.5
"""Flows that would take this long at least show whether the machine kept up; shorter ones show how TCP starts."""
CONNECTION_BYTES = 2 * SYN_FRAME + 5 * BARE_FRAME
"""What a connection brings to both its hosts besides data and acknowledgements: SYN, SYN-ACK, ACK; the sink's FIN,
its ACK, the sender's FIN, its ACK."""
ANSWER_BYTES = 2 * BARE_FRAME + NUMBER.size
"""What a message of a collective brings besides: its receiver's answer, and the acknowledgement of that."""
LATE_S = 0.1
"""A sender may open a connection this long after it was due; the median flow is meant."""


@dataclass(frozen=True)
class Outcome:
    """``flows`` in the order of ``seen.flows``. Times are seconds since the traffic started, rates on the wire."""

    topo: Network
    spec: RunSpec
    workload: Workload
    seen: Observation
    flows: Sequence[MeasuredFlow]

    @property
    def lasts(self) -> bool:
        return lasting(self.workload) is not None

    @property
    def in_turns(self) -> bool:
        """Whether it is a shuffle, in which every host has one flow after the other."""
        return self.workload.matrix is not None and self.workload.matrix.sequential

    @property
    def ends_itself(self) -> bool:
        """Whether the run ends with its last flow: a shuffle or a collective."""
        return self.in_turns or self.workload.graph is not None

    @cached_property
    def ended(self) -> float:
        if not self.ends_itself:
            return self.spec.seconds
        ends = [one.sent.end for one in self.seen.flows if one.sent is not None]
        return max(ends, default=self._begin + self.spec.seconds) - self._begin

    @cached_property
    def window(self) -> Window:
        return middle(self.ended)

    @cached_property
    def routed(self) -> list[RoutedFlow]:
        """The flows as they could have been: those that last are there all the time."""
        if self.lasts:
            return [one.routed for one in self.flows]
        share = payload_share(self.spec.mtu)
        sizes = [None if flow.size_bytes is None else flow.size_bytes * 8e-6 / share for flow in self.seen.flows]
        return [replace(one.routed, start=one.start, mbit=mbit) for one, mbit in zip(self.flows, sizes, strict=True)]

    @cached_property
    def fair(self) -> Fair:
        return self.fair_in(self.window)

    def fair_in(self, window: Window) -> Fair:
        until = max(window[1], self.ended)
        return fair(self.topo, self.routed, window, self.spec.link_mbps, self.seen.outages, until)

    @property
    def lives(self) -> list[Window]:
        if self.lasts:
            return [(-math.inf, math.inf)] * len(self.flows)
        ends = [one.sent.end - self._begin if one.sent is not None else 0.0 for one in self.seen.flows]
        return [(one.start, end) for one, end in zip(self.flows, ends, strict=True)]

    @cached_property
    def progress(self) -> float | None:
        """How long the flows that take long should have taken, all together, over how long they took; None when there
        was none. One that was cut off took the time it had at least. Over all, because TCP does not share a link as
        max-min fairness does: what one flow has less, another has more. Of a collective, whose connections stay,
        every flow counts."""
        due = took = 0.0
        least = SETTLED_S if self.workload.graph is None else 0.0
        for one, flow, end in zip(self.flows, self.seen.flows, self.fair.end.tolist(), strict=True):
            if flow.size_bytes is not None and flow.sent is not None and end - one.start >= least:  # nan is not
                lasted = self._took(flow)
                due += end - one.start
                took += flow.sent.end - self._begin - one.start if lasted is None else lasted
        return due / took if took else None

    def handshakes_mbps(self, window: Window) -> float:
        """What opening and closing the flows' connections brings to hosts, on the wire; and that a flow's last
        segment has a header of its own, however short it is."""
        if self.lasts:
            return 0.0
        segment = self.spec.mtu - TCP_IP_HEADERS
        each = CONNECTION_BYTES if self.workload.graph is None else ANSWER_BYTES
        total = 0.0
        for one, flow in zip(self.flows, self.seen.flows, strict=True):
            if window[0] <= one.start < window[1]:
                short = -(flow.size_bytes or 0) / segment % 1
                total += each + short * BARE_FRAME
        return total * 8e-6 / (window[1] - window[0])

    @property
    def too_short(self) -> str | None:
        """A sentence where all went well, and was over before it could be measured: no other doubt says anything."""
        seen = self.seen
        if self.ended >= SHORTEST_S or seen.dead or seen.unfinished or seen.troubles:
            return None
        return (
            f"all was sent after {self.ended:.1f} s, and rates are read once a second: it has to last {SHORTEST_S} s "
            "at least (send more, or on slower links)"
        )

    def reasons(self) -> list[str]:
        """Doubts that only traffic raises that comes and goes."""
        found = list(self.seen.troubles)
        if self.lasts:
            return found
        late = [one.sent.start - one.sent.asked for one in self._sent if one.sent and one.sent.start]
        if late and float(np.median(late)) > LATE_S:
            found.append(f"the machine was too slow: half of the flows began {np.median(late):.2f} s late or more")
        unknown = sum(not one.routed.paths and bool(one.intervals) for one in self.flows)
        if self.topo.num_cores > 1 and unknown > 0.01 * len(self.flows):
            found.append(f"the controller does not know the paths of {unknown} of {len(self.flows)} flows")
        return found

    @property
    def records(self) -> tuple[FlowRecord, ...]:
        if self.lasts:
            return tuple(one.record(self.window) for one in self.flows)
        rows = zip(self.seen.flows, self.flows, self.fair.end.tolist(), strict=True)
        return tuple(self._record(flow, one, end) for flow, one, end in rows)

    @property
    def completion(self) -> tuple[Completion, ...]:
        rows = [self._sized(flow) for flow in self.seen.flows]
        counted = np.array([row for row in rows if row is not None]).reshape(-1, 3)
        size, took, ended = counted.T
        alone = size / self._bytes_per_s + 1.5 * self._idle_rtt_s
        # The classes are those of links of 1 Gb/s.
        classes = by_class(size / self.workload.size_scale, took, alone, ended.astype(bool))
        return tuple(Completion(**asdict(one)) for one in classes if one.flows)

    # --- one flow ---------------------------------------------------------------------------------------

    @property
    def _sent(self) -> list[EmulatedFlow]:
        return [flow for flow in self.seen.flows if flow.sent is not None]

    @property
    def _begin(self) -> float:
        return self.seen.begin - self.seen.clock_offset

    @cached_property
    def _idle_rtt_s(self) -> float:
        shakes = [
            one.sent.connected - one.sent.start
            for one in self._sent
            if one.sent is not None and one.sent.connected is not None and one.sent.start is not None
        ]
        return min(shakes, default=0.0)

    def _took(self, flow: EmulatedFlow) -> float | None:
        """Seconds from asking for a connection to the last byte's arrival; None when it did not complete."""
        sent, arrived = flow.sent, flow.arrived
        if sent is None or arrived is None or sent.start is None or arrived.last is None:
            return None
        return arrived.last - sent.start if sent.how == arrived.how == "done" else None

    def _sized(self, flow: EmulatedFlow) -> tuple[float, float, bool] | None:
        """Bytes, seconds, and whether it ended: of a flow that has a size and was due in the window, so that schemes
        are compared on the same flows (where the run ends with its last flow: of all). One that was cut off counts
        with the least that it would have taken, at the full rate of its link. One that failed is none: the verdict
        names it."""
        sent, arrived, took = flow.sent, flow.arrived, self._took(flow)
        if flow.size_bytes is None or sent is None or sent.start is None:
            return None
        due = sent.asked - self._begin
        if not self.ends_itself and not self.window[0] <= due < self.window[1]:
            return None
        if took is not None:
            return flow.size_bytes, took, True
        if sent.how != "cut off":
            return None
        left = flow.size_bytes - (0 if arrived is None else arrived.bytes)
        return flow.size_bytes, sent.end - sent.start + left / self._bytes_per_s, False

    @property
    def _bytes_per_s(self) -> float:
        return self.spec.link_mbps * 1e6 / 8 * payload_share(self.spec.mtu)

    def _record(self, flow: EmulatedFlow, one: MeasuredFlow, fair_end: float) -> FlowRecord:
        sent, took = flow.sent, self._took(flow)
        more: dict[str, Any] = {}
        if sent is not None and sent.start is not None:
            more["late_s"] = round(sent.start - sent.asked, 6)
            more["retransmissions"] = sent.retransmissions
            more["rtt_ms"] = round(sent.rtt_us / 1e3, 3)
            if sent.connected is not None:
                more["connect_s"] = round(sent.connected - sent.start, 6)
        if not math.isnan(fair_end):
            more["fluid_s"] = round(fair_end - (flow.started - self.seen.begin), 6)
        return one.record(
            self.window,
            size_bytes=flow.size_bytes,
            completion_s=None if took is None else round(took, 6),
            how="not started" if sent is None else sent.how,
            **more,
        )

    @property
    def collective(self) -> Collective | None:
        found = self.seen.collective
        return None if found is None else Collective(**asdict(found))

    @property
    def turns(self) -> Turns | None:
        """Of a shuffle: how long it took, when the hosts were done on average, and their goodput (section 6.3)."""
        if not self.in_turns:
            return None
        if any(self._took(flow) is None for flow in self.seen.flows):
            return Turns(shuffle_s=None, host_completion_s=None, goodput_mbytes_per_s=None)
        done: dict[int, float] = {}
        size: dict[int, int] = {}
        for flow, one in zip(self.seen.flows, self.flows, strict=True):
            done[flow.src] = max(done.get(flow.src, 0.0), one.start + (self._took(flow) or 0.0))
            size[flow.src] = size.get(flow.src, 0) + (flow.size_bytes or 0)
        hosts = float(np.mean(list(done.values())))
        return Turns(
            shuffle_s=round(max(done.values()), 3),
            host_completion_s=round(hosts, 3),
            goodput_mbytes_per_s=round(float(np.mean(list(size.values()))) / 1e6 / hosts, 6),
        )
