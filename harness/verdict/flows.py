"""What each flow of a run did, and what it could have had.

What it did: the path that it had and when, what its receiver says arrived, and how it is stored. What it could have
had: max-min fair rates, at every moment on the paths that the flows had then. A run is held against the very flows
that ran, each from when it began until it has got what it had to send. A link that is out of service carries nothing,
so a flow whose path has one counts as 0 until it is moved. Times are seconds since the traffic started, rates payload,
fair rates on the wire.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from harness.run import EmulatedFlow, Event, Observation, Outage
from hedera.maxmin import compute_max_min_rates
from record.run import FlowRecord, PathChange
from topos.arrays import Float64, Int32
from topos.links import NO_LINK, link_rates, num_links, path_links
from topos.network import Network
from topos.wire import compute_payload_share
from traffic.flows import SERVER_PORT

Window = tuple[float, float]
"""Beginning and end, seconds since the traffic started."""
# Otherwise rounding could have them take turns for ever, each with a little left when the other one ends.
SAME_MOMENT_S = 1e-9
"""Flows whose ends are no further apart end together."""


@dataclass(frozen=True)
class RoutedFlow:
    """A flow's hosts and its paths, oldest first; none: they are not known. It is there from ``start`` on, until it has
    sent ``mbit`` (None: it lasts)."""

    src: int
    dst: int
    paths: tuple[PathChange, ...] = ()
    start: float = -np.inf
    mbit: float | None = None

    def core_at(self, t: float) -> int:
        """The core of its path at a time (before its first path: that first path)."""
        core = self.paths[0].core if self.paths else 0
        for change in self.paths:
            if change.t <= t:
                core = change.core
        return core


def find_links_down_at(outages: Sequence[Outage], t: float) -> frozenset[int]:
    """The directed links that are out of service at a time. ``outages`` are in the order of their times."""
    return next((outage.links for outage in reversed(outages) if outage.t <= t), frozenset())


def compute_capacities(topo: Network, mbps: float, down: Iterable[int]) -> Float64:
    """What each directed link carries, Mb/s, float64 (links,), hosts' links ``mbps``; nothing where it is down."""
    capacity = mbps * link_rates(topo)
    capacity[list(down)] = 0.0
    return capacity


@dataclass(frozen=True)
class Fair:
    """What max-min fairness gives a run.

    ``total_mbps``: the sum of all rates, its mean over the window; ``full_links``: the directed links that are full
    from its beginning to its end; ``end``: when each flow had sent all, float64 (flows,), nan where it had not.
    """

    total_mbps: float
    full_links: frozenset[int]
    end: Float64


def compute_fair(
    topo: Network,
    flows: Sequence[RoutedFlow],
    window: Window,
    mbps: float,
    outages: Sequence[Outage] = (),
    until: float | None = None,
) -> Fair:
    """The flows, hosts' links of that rate, up to the end of the window, or to a later time, for the ends of flows.
    Rates are computed anew whenever a flow comes, goes or is moved, and when a link changes its state.

    A flow whose path is not known is held to its hosts' links alone.
    """
    until = window[1] if until is None else until
    left = np.array([np.inf if flow.mbit is None else flow.mbit for flow in flows], dtype=np.float64)
    end = np.full(len(flows), np.nan)
    began = min([window[0], *(flow.start for flow in flows if np.isfinite(flow.start))])
    moments = {flow.start for flow in flows} | {change.t for flow in flows for change in flow.paths}
    moments |= {outage.t for outage in outages} | set(window) | {began}
    times = sorted(t for t in moments if began <= t < until)
    starting = sorted(range(len(flows)), key=lambda number: -flows[number].start)
    active_flows: list[int] = []
    total = 0.0
    full = np.ones(num_links(topo), dtype=np.bool_)
    for now, then in zip(times, [*times[1:], until], strict=True):
        while starting and flows[starting[-1]].start <= now:
            active_flows.append(starting.pop())
        capacity = compute_capacities(topo, mbps, find_links_down_at(outages, now))
        while now < then:
            links = _find_links(topo, [flows[number] for number in active_flows], now)
            rates = compute_max_min_rates(links, capacity, calls=len(times) + len(flows))
            active = np.array(active_flows, dtype=np.int64)
            with np.errstate(divide="ignore"):
                lasts = np.where(rates > 0, left[active] / np.maximum(rates, 1e-12), np.inf)
            step = min(then - now, float(lasts.min(initial=np.inf)))
            inside = min(now + step, window[1]) - max(now, window[0])
            if inside > 0:
                total += float(rates.sum()) * inside
                on = links != NO_LINK
                rate_at_link = np.broadcast_to(rates[:, None], links.shape)
                loads = np.bincount(links[on], weights=rate_at_link[on], minlength=full.size)
                full &= (loads >= capacity * (1 - 1e-9)) & (capacity > 0)
            left[active] = np.maximum(0.0, left[active] - rates * step)
            now += step
            done = lasts <= step + SAME_MOMENT_S
            end[active[done]] = now
            active_flows = active[~done].tolist()
    return Fair(total / (window[1] - window[0]), frozenset(np.flatnonzero(full).tolist()), end)


def _find_links(topo: Network, flows: Sequence[RoutedFlow], t: float) -> Int32:
    src, dst, core = np.array([(f.src, f.dst, f.core_at(t)) for f in flows], dtype=np.int64).reshape(-1, 3).T
    links = np.array(path_links(topo, src, dst, core))
    if topo.num_cores > 1:
        links[np.array([not flow.paths for flow in flows], dtype=np.bool_), 1:-1] = NO_LINK
    return links


Interval = tuple[float, float, float]
"""Beginning, end, and Mb/s of payload that arrived in between."""
Ends = tuple[int, int, int]
"""Source, destination, and the client's port."""


def group_paths(events: Sequence[Event], *, acknowledgements: bool = False) -> dict[Ends, list[tuple[float, int]]]:
    """(seconds since the epoch, core) of each path a flow had, oldest first; of ``acknowledgements`` those alone, which
    flow the other way, from the server's port."""
    server, client = ("src_port", "dst_port") if acknowledgements else ("dst_port", "src_port")
    paths_of_key: dict[int, list[tuple[float, int]]] = {}
    paths: dict[Ends, list[tuple[float, int]]] = {}
    for event in events:
        if event["event"] == "flow" and event[server] == SERVER_PORT:
            changes = paths_of_key[event["key"]] = paths.setdefault((event["src"], event["dst"], event[client]), [])
            # A switch that placed a flow by itself had done so before the controller read of it, and tells since when.
            changes.append((event["t"] - event.get("age_s", 0.0), event["core"]))
        elif event["event"] == "reroute" and event["key"] in paths_of_key:
            paths_of_key[event["key"]].append((event["t"], event["core"]))
    return paths


@dataclass(frozen=True)
class MeasuredFlow:
    """One flow, its path and that of its acknowledgements.

    ``start``: when its receiver heard of it, maybe long after its client was started; where no whole second was
    reported, the client's start. ``end``: when its sender was done with it, inf for one that is there all the time.
    """

    emulated: EmulatedFlow
    start: float
    end: float
    routed: RoutedFlow
    acknowledgements: RoutedFlow

    @property
    def ends(self) -> Ends:
        return self.emulated.src, self.emulated.dst, self.emulated.src_port

    @property
    def completion_s(self) -> float | None:
        """Seconds from asking for a connection to the last byte's arrival; None when it did not complete."""
        sent, arrived = self.emulated.sent, self.emulated.arrived
        if sent is None or arrived is None or sent.start is None or not sent.outcome == arrived.outcome == "done":
            return None
        return arrived.last - sent.start

    def mean_mbps(self, window: Window) -> float:
        """A flow that began or ended inside the window sent nothing in the rest of it."""
        return self.mbit(window) / (window[1] - window[0])

    def mbit(self, window: Window) -> float:
        """What arrived inside the window, 10^6 bits."""
        return sum(mbps * max(0.0, min(end, window[1]) - max(start, window[0])) for start, end, mbps in self.intervals)

    @property
    def seconds(self) -> list[tuple[float, float]]:
        """(beginning, Mb/s) of each second the receiver reported on."""
        lines = () if self.emulated.report is None else self.emulated.report.intervals
        return [(self.start + line.start_s, line.bits_per_s / 1e6) for line in lines]

    @cached_property
    def intervals(self) -> list[Interval]:
        """Each second reported on, and what came after the last of them, which only the flow's total tells."""
        if (report := self.emulated.report) is None:
            return []
        rates = [
            (self.start + line.start_s, self.start + line.end_s, line.bits_per_s / 1e6) for line in report.intervals
        ]
        total = report.total
        end = report.intervals[-1].end_s if report.intervals else 0.0
        if total is not None and total.end_s > end:
            rest = total.bits_per_s * total.end_s / 1e6 - sum(mbps * (b - a) for a, b, mbps in rates)
            rates.append((self.start + end, self.start + total.end_s, max(0.0, rest) / (total.end_s - end)))
        return rates

    def record(self, window: Window, fair_end: float) -> FlowRecord:
        """The flow as it is stored in run.json. ``fair_end``: when it should have had all, in seconds since the traffic
        started; nan for a flow without an end."""
        report, sent, duration = self.emulated.report, self.emulated.sent, self.completion_s
        more: dict[str, Any] = {}
        if sent is not None and sent.start is not None:
            more = {"late_s": round(sent.start - sent.scheduled, 6), "rtt_ms": round(sent.rtt_us / 1e3, 3)}
            more |= {"retransmissions": sent.retransmissions}
            if sent.connected is not None:
                more |= {"connect_s": round(sent.connected - sent.start, 6)}
        return FlowRecord(
            src=self.emulated.src,
            dst=self.emulated.dst,
            src_port=self.emulated.src_port,
            start=round(self.start, 3),
            seconds=None if report is None or report.total is None else report.total.end_s,
            mbps=0.0 if report is None else round(report.mbps, 4),
            window_mbps=round(self.mean_mbps(window), 4),
            per_second_mbps=() if report is None else tuple(round(mbps, 3) for mbps in report.per_second_mbps),
            paths=_to_stored(self.routed.paths),
            ack_paths=_to_stored(self.acknowledgements.paths),
            size_bytes=self.emulated.size_bytes,
            completion_s=None if duration is None else round(duration, 6),
            how=sent.outcome if sent is not None else None if math.isinf(self.end) else "not started",
            fluid_s=None if math.isnan(fair_end) else round(fair_end - self.start, 6),
            **more,
        )


def _to_stored(paths: Iterable[PathChange]) -> tuple[PathChange, ...]:
    return tuple(PathChange(round(change.t, 3), change.core) for change in paths)


def count_acknowledgement_streams(topo: Network, flows: Sequence[MeasuredFlow], window: Window) -> Float64:
    """How many flows' acknowledgements are on each directed link, the mean over the window: float64 (links,). What goes
    back by a path that is not known counts nowhere; on one switch no path has to be known."""
    streams = np.zeros(num_links(topo))
    for flow in flows:
        back = flow.acknowledgements
        paths = back.paths or ((PathChange(-math.inf, 0),) if topo.num_cores == 1 else ())
        lifetime = max(window[0], flow.routed.start), min(window[1], flow.end)
        times = [-math.inf, *(change.t for change in paths[1:]), math.inf]
        for change, (begin, end) in zip(paths, pairwise(times), strict=False):  # without a path none
            inside = min(end, lifetime[1]) - max(begin, lifetime[0])
            if inside > 0:
                links = path_links(topo, [back.src], [back.dst], [change.core])[0]
                streams[links[links != NO_LINK]] += inside / (window[1] - window[0])
    return streams


def measure_flows(observation: Observation, mtu: int, lasts: bool) -> list[MeasuredFlow]:
    """``lasts``: whether all of them are there all the time."""
    paths, back_paths = group_paths(observation.events), group_paths(observation.events, acknowledgements=True)
    return [_measure_flow(flow, observation, mtu, lasts, paths, back_paths) for flow in observation.flows]


Paths = Mapping[Ends, Sequence[tuple[float, int]]]


def _measure_flow(
    flow: EmulatedFlow, observation: Observation, mtu: int, lasts: bool, paths: Paths, back_paths: Paths
) -> MeasuredFlow:
    def find_path(paths: Paths, src: int, dst: int) -> tuple[PathChange, ...]:
        return tuple(PathChange(t - observation.begin, core) for t, core in paths.get((src, dst, flow.src_port), ()))

    start = (flow.started if flow.report is None else flow.report.began(flow.started)) - observation.begin
    end = (
        math.inf
        if lasts
        else 0.0
        if flow.sent is None
        else flow.sent.end + observation.clock_offset - observation.begin
    )
    mbit = None if flow.size_bytes is None else flow.size_bytes * 8e-6 / compute_payload_share(mtu)
    forward = RoutedFlow(flow.src, flow.dst, find_path(paths, flow.src, flow.dst), -math.inf if lasts else start, mbit)
    return MeasuredFlow(
        flow, start, end, forward, RoutedFlow(flow.dst, flow.src, find_path(back_paths, flow.dst, flow.src))
    )
