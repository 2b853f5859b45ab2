"""What became of the flows of a run, and what they could have had at the times and on the paths that they had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness.hosts.connections import NUMBER
from harness.run.observation import Observation
from harness.run.spec import SHORTEST_S, RunSpec, lasting
from harness.verdict.fair import Fair, Window, fair
from harness.verdict.flows import MeasuredFlow, measured_flows
from hedera.experiment import middle
from hedera.maxmin import alone_rates
from record.completion import by_class
from record.parts import Collective, Completion, Turns
from topos.arrays import Float64
from topos.network import Network
from topos.wire import (
    BARE_FRAME,
    ETHERNET_HEADER,
    SYN_FRAME,
    TCP_IP_HEADERS,
    acknowledgements_per_payload,
    payload_share,
    wire_per_payload,
)
from traffic.workload import Workload

SETTLED_S = 0.5
"""Flows that would take this long at least show whether the machine kept up; shorter ones show how TCP starts."""
CONNECTION_BYTES = 2 * SYN_FRAME + 5 * BARE_FRAME
"""What a connection brings to both its hosts besides data and acknowledgements: SYN, SYN-ACK, ACK; the sink's FIN,
its ACK, the sender's FIN, its ACK."""
REORDERED_BYTES = BARE_FRAME + 28
"""An acknowledgement that a segment out of order causes, which names three blocks that came (RFC 2018)."""
ANSWER_BYTES = 2 * BARE_FRAME + NUMBER.size
"""What a message of a collective brings besides: its receiver's answer, and the acknowledgement of that."""
CLOCK_S = 0.25
"""The epoch's clock, which tells when counters were read and paths changed, may gain or lose this much during a run: it
runs 0.05 % fast at most, and is set by more."""
LATE_S = 0.1
"""A sender may open a connection this long after it was due; the median flow is meant."""


@dataclass(frozen=True)
class Outcome:
    """Times are seconds since the traffic started, rates on the wire."""

    spec: RunSpec
    seen: Observation

    @cached_property
    def topo(self) -> Network:
        return self.spec.network()

    @cached_property
    def workload(self) -> Workload:
        return self.spec.workload()

    @property
    def lasts(self) -> bool:
        """Whether all flows are there all the time."""
        return lasting(self.workload) is not None

    @cached_property
    def flows(self) -> Sequence[MeasuredFlow]:
        return measured_flows(self.seen, self.spec.mtu, self.lasts)

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
        ends = [one.end for one in self.flows if one.seen.sent is not None] if self.ends_itself else []
        return max(ends, default=self.spec.seconds)

    @cached_property
    def window(self) -> Window:
        return middle(self.ended)

    @cached_property
    def fair(self) -> Fair:
        return self.fair_in(self.window)

    def fair_in(self, window: Window) -> Fair:
        flows = [one.routed for one in self.flows]
        return fair(self.topo, flows, window, self.spec.link_mbps, self.seen.outages, max(window[1], self.ended))

    @cached_property
    def progress(self) -> float | None:
        """How long the flows that take long should have taken, all together, over how long they took; None when there
        was none. One that was cut off took the time it had at least. Over all, because TCP does not share a link as
        max-min fairness does: what one flow has less, another has more. Of a collective, whose connections stay,
        every flow counts."""
        due = took = 0.0
        least = SETTLED_S if self.workload.graph is None else 0.0
        for one, end in zip(self.flows, self.fair.end.tolist(), strict=True):
            if one.seen.sent is not None and end - one.start >= least:  # nan, of one that has no size, is not
                due += end - one.start
                took += one.end - one.start if one.took is None else one.took
        return due / took if took else None

    def handshakes_mbps(self, window: Window) -> float:
        """What opening and closing the flows' connections brings to hosts, on the wire; and that a flow's last
        segment has a header of its own, however short it is. Those of flows that last are of before."""
        segment = self.spec.mtu - TCP_IP_HEADERS
        each = CONNECTION_BYTES if self.workload.graph is None else ANSWER_BYTES
        begun = [one for one in self.flows if not self.lasts and window[0] <= one.start < window[1]]
        total = sum(each + -(one.seen.size_bytes or 0) / segment % 1 * BARE_FRAME for one in begun)
        return total * 8e-6 / (window[1] - window[0])

    @property
    def reordering_mbps(self) -> float:
        """What TCP's doubts bring to hosts where packets are spread, on the wire: an acknowledgement for each segment
        out of order, and segments that were sent again though no queue had dropped them."""
        if self.spec.chosen.gap_us is None:
            return 0.0
        again, late = (self.seen.tcp.get(name, 0) for name in ("retransmitted_segments", "segments_out_of_order"))
        again -= sum(self.seen.drops.values())
        return (again * (self.spec.mtu + ETHERNET_HEADER) + late * REORDERED_BYTES) * 8e-6 / self.ended

    def spread_mbps(self, ports: Mapping[str, float]) -> tuple[float, float] | None:
        """What flows between pods brought to hosts in the window, and what the cores sent, of all ``ports``; Mb/s on
        the wire. None where a flow has one path."""
        if self.spec.chosen.gap_us is None:
            return None
        pods = [host.split("_")[0] for host in self.topo.hosts]
        each = [(pods[one.seen.src] != pods[one.seen.dst], one.mean_mbps(self.window)) for one in self.flows]
        total, between = sum(mbps for _, mbps in each), sum(mbps for other, mbps in each if other)
        wire = wire_per_payload(self.spec.mtu) + acknowledgements_per_payload(self.spec.mtu)
        cores = {f"{name}-" for name in self.topo.switches if self.topo.layer(name) == "core"}
        carried = sum(mbps for port, mbps in ports.items() if port.partition("eth")[0] in cores)
        return between * wire + (self.reordering_mbps * between / total if total else 0.0), carried

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
        """Doubts about what sends, and of traffic that comes and goes."""
        found = list(self.seen.troubles)
        if abs(moved := self.seen.clock_moved_s) > CLOCK_S:
            found.append(f"this machine's clock was set during the run: it moved by {moved:+.2f} s")
        if self.lasts:
            return found
        late = [sent.start - sent.asked for flow in self.seen.flows if (sent := flow.sent) and sent.start]
        if late and float(np.median(late)) > LATE_S:
            found.append(f"the machine was too slow: half of the flows began {np.median(late):.2f} s late or more")
        unknown = sum(not one.routed.paths and bool(one.intervals) for one in self.flows)
        if self.topo.num_cores > 1 and self.spec.chosen.gap_us is None and unknown > 0.01 * len(self.flows):
            found.append(f"the controller does not know the paths of {unknown} of {len(self.flows)} flows")
        return found

    @property
    def completion(self) -> tuple[Completion, ...]:
        each = zip(self.flows, self._alone_bytes_per_s.tolist(), strict=True)
        rows = [row for one, alone in each if (row := self._sized(one, alone)) is not None]
        size, took, ended, per_s = np.array(rows).reshape(-1, 4).T
        sent = [flow.sent for flow in self.seen.flows if flow.sent is not None]
        shakes = [one.connected - one.start for one in sent if one.connected is not None and one.start is not None]
        alone = size / per_s + 1.5 * min(shakes, default=0.0)
        # The classes are those of links of 1 Gb/s.
        classes = by_class(size / self.workload.size_scale, took, alone, ended.astype(bool))
        return tuple(one for one in classes if one.flows)

    def _sized(self, one: MeasuredFlow, alone: float) -> tuple[float, float, bool, float] | None:
        """Bytes, seconds, whether it ended, and what it has ``alone``, bytes per second: of a flow that has a size and
        was due in the window, so that schemes are compared on the same flows (where the run ends with its last flow:
        of all). One that was cut off counts with the least that it would have taken, alone. One that failed is none:
        the verdict names it."""
        size, sent, arrived = one.seen.size_bytes, one.seen.sent, one.seen.arrived
        if size is None or sent is None or sent.start is None:
            return None
        due = sent.asked - (self.seen.begin - self.seen.clock_offset)
        if not self.ends_itself and not self.window[0] <= due < self.window[1]:
            return None
        if one.took is not None:
            return size, one.took, True, alone
        if sent.how != "cut off":
            return None
        left = size - (0 if arrived is None else arrived.bytes)
        return size, sent.end - sent.start + left / alone, False, alone

    @property
    def _alone_bytes_per_s(self) -> Float64:
        """The payload that each flow would have alone by its last path, float64 (flows,)."""
        ends = [(one.seen.src, one.seen.dst, one.routed.core_at(np.inf)) for one in self.flows]
        src, dst, core = np.array(ends, dtype=np.int32).reshape(-1, 3).T
        sprayed = self.spec.chosen.sprays
        mbps = alone_rates(self.topo, src, dst, core, self.spec.link_mbps, sprayed=sprayed)
        return mbps * 1e6 / 8 * payload_share(self.spec.mtu)

    @property
    def collective(self) -> Collective | None:
        return self.seen.collective

    @property
    def turns(self) -> Turns | None:
        """Of a shuffle: how long it took, when the hosts were done on average, and their goodput (section 6.3)."""
        if not self.in_turns:
            return None
        if any(one.took is None for one in self.flows):
            return Turns(shuffle_s=None, host_completion_s=None, goodput_mbytes_per_s=None)
        done: dict[int, float] = {}
        size: dict[int, int] = {}
        for one in self.flows:
            src = one.seen.src
            done[src] = max(done.get(src, 0.0), one.start + (one.took or 0.0))
            size[src] = size.get(src, 0) + (one.seen.size_bytes or 0)
        hosts = float(np.mean(list(done.values())))
        return Turns(
            shuffle_s=round(max(done.values()), 3),
            host_completion_s=round(hosts, 3),
            goodput_mbytes_per_s=round(float(np.mean(list(size.values()))) / 1e6 / hosts, 6),
        )
