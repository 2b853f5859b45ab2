"""What each flow of a run did: the path it had and when, and what its receiver says arrived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.run.controller import Event
from harness.run.observation import Observation
from harness.run.traffic import EmulatedFlow
from harness.verdict.fair import RoutedFlow, Window
from results.parts import FlowRecord, PathChange
from traffic.iperf import FlowReport
from traffic.ports import SERVER_PORT

Interval = tuple[float, float, float]
"""Beginning and end, seconds since the traffic started, and Mb/s of payload that arrived in between."""


def paths_by_flow(
    events: Sequence[Event], *, acknowledgements: bool = False
) -> dict[tuple[int, int, int], list[tuple[float, int]]]:
    """(time, core) of each path an iperf flow had, oldest first, by (src, dst, the client's port).

    Acknowledgements flow the other way, from the server's port; they are left out, or asked for alone.
    """
    server, client = ("src_port", "dst_port") if acknowledgements else ("dst_port", "src_port")
    flow_of_key: dict[int, tuple[int, int, int]] = {}
    paths: dict[tuple[int, int, int], list[tuple[float, int]]] = {}
    for event in events:
        if event["event"] == "flow" and event[server] == SERVER_PORT:
            flow = (event["src"], event["dst"], event[client])
            flow_of_key[event["key"]] = flow
            # A switch that placed it by itself had done so before the controller read of it.
            paths.setdefault(flow, []).append((event["t"] - event.get("age_s", 0.0), event["core"]))
        elif event["event"] == "reroute" and event["key"] in flow_of_key:
            paths[flow_of_key[event["key"]]].append((event["t"], event["core"]))
    return paths


class MeasuredFlow:
    """One flow: its hosts, when it began, its path and that of its acknowledgements, what arrived and when.

    Times are seconds since the traffic started. A flow began when its receiver heard of it, which may be long after
    its client was started; before the first whole second is reported, the start of the client is all there is.
    """

    def __init__(
        self,
        flow: EmulatedFlow,
        begin: float,
        path: Sequence[tuple[float, int]],
        acknowledged_by: Sequence[tuple[float, int]],
    ) -> None:
        report = flow.report
        self._report = report
        self.start = (flow.started if report is None else report.began(flow.started)) - begin
        self.src_port = flow.src_port
        self.retransmissions = None if flow.sent is None else flow.sent.retransmissions
        self.routed = _routed(flow.src, flow.dst, begin, path)
        self.acknowledgements = _routed(flow.dst, flow.src, begin, acknowledged_by)
        self.intervals = [] if report is None else _intervals(report, self.start)

    def mean_mbps(self, window: Window) -> float:
        """Mb/s of payload over the window; a flow that began or ended inside it sent nothing in the rest of it."""
        return self.mbit(window) / (window[1] - window[0])

    def mbit(self, window: Window) -> float:
        """The payload that arrived inside the window, 10^6 bits."""
        return sum(mbps * max(0.0, min(end, window[1]) - max(start, window[0])) for start, end, mbps in self.intervals)

    @property
    def seconds(self) -> list[tuple[float, float]]:
        """(beginning, Mb/s) of each second the receiver reported on."""
        lines = () if self._report is None else self._report.intervals
        return [(self.start + line.start_s, line.bits_per_s / 1e6) for line in lines]

    def record(self, window: Window, **more: Any) -> FlowRecord:
        """As it is stored (docs/fields.md); ``more`` are fields of flows that come and go."""
        report = self._report
        return FlowRecord(
            src=self.routed.src,
            dst=self.routed.dst,
            src_port=self.src_port,
            start=round(self.start, 3),
            seconds=report.total.end_s if report is not None and report.total is not None else None,
            mbps=0.0 if report is None else round(report.mbps, 4),
            window_mbps=round(self.mean_mbps(window), 4),
            per_second_mbps=() if report is None else tuple(round(mbps, 3) for mbps in report.per_second_mbps),
            paths=tuple(PathChange(round(change.t, 3), change.core) for change in self.routed.paths),
            **more,
        )


def _intervals(report: FlowReport, start: float) -> list[Interval]:
    """Each second reported on, and what came after the last of them, which only the flow's total tells."""
    found = [(start + line.start_s, start + line.end_s, line.bits_per_s / 1e6) for line in report.intervals]
    total = report.total
    end = report.intervals[-1].end_s if report.intervals else 0.0
    if total is not None and total.end_s > end:
        rest = total.bits_per_s * total.end_s / 1e6 - sum(mbps * (b - a) for a, b, mbps in found)
        found.append((start + end, start + total.end_s, max(0.0, rest) / (total.end_s - end)))
    return found


def measured_flows(seen: Observation) -> list[MeasuredFlow]:
    paths = paths_by_flow(seen.events)
    back = paths_by_flow(seen.events, acknowledgements=True)
    return [
        MeasuredFlow(
            flow,
            seen.begin,
            paths.get((flow.src, flow.dst, flow.src_port), ()),
            back.get((flow.dst, flow.src, flow.src_port), ()),
        )
        for flow in seen.flows
    ]


def _routed(src: int, dst: int, begin: float, history: Sequence[tuple[float, int]]) -> RoutedFlow:
    return RoutedFlow(src, dst, tuple(PathChange(t - begin, core) for t, core in history))
