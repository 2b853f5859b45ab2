"""From what was observed of a run to its result: rates, paths, prediction, verdict, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.errors import RunFailed
from harness.judge.prediction import PathChange, RoutedFlow, predict
from harness.judge.recovery import Recovery
from harness.judge.saturation import full_links
from harness.judge.verdict import Evidence, Second, reasons
from harness.run.events import Event
from harness.run.observation import Observation
from harness.run.senders import Flow
from harness.run.spec import RunSpec
from harness.run.watch import mean_over
from topos.fattree import FatTree
from topos.nonblocking import NonBlocking
from traffic.bwmng import Series
from traffic.iperf import Interval
from traffic.ports import SERVER_PORT

Window = tuple[float, float]


def describe(spec: RunSpec, datapath: str, seen: Observation) -> dict[str, Any]:
    """The measured part of run.json (docs/results.md says what each entry is).

    Raises RunFailed when a host was not sampled.
    """
    topo = spec.topology()
    window = (seen.begin + spec.window[0], seen.begin + spec.window[1])
    received = _received(topo, seen.series)
    measured = sum(mean_over(series.t, series.out_mbps, window) for series in received.values())
    sent = {name: (series.t - seen.begin, series.out_mbps) for name, series in seen.series.items()}
    # A host's own limit shows in what enters its switch.
    sent |= {host: (series.t - seen.begin, series.in_mbps) for host, series in received.items()}
    ports = {name: mean_over(t, mbps, spec.window) for name, (t, mbps) in sent.items()}
    _check_cores(topo, seen.events)
    paths = paths_by_flow(seen.events)
    flows = [_flow(flow, seen.begin, paths, window) for flow in seen.flows]
    routed = [_routed(flow) for flow in flows]
    predicted = predict(topo, routed, spec.window, spec.bw, seen.outages)
    full = full_links(topo, spec, routed, [flow["start"] for flow in flows], seen.outages, sent)
    recovery = Recovery(topo, spec, seen.outages, routed, _acknowledgements(flows, seen))
    samples = min(len(series.t) for series in received.values())
    times = next(iter(received.values())).t[:samples] - seen.begin
    total = np.sum([series.out_mbps[:samples] for series in received.values()], axis=0)

    def mean_total(window: Window) -> float:
        return mean_over(times, total, window)

    evidence = Evidence(
        bw=spec.bw,
        datapath=datapath,
        port_mbps=ports,
        measured_mbps=measured,
        iperf_mbps=sum(flow["window_mbps"] for flow in flows),
        predicted_mbps=predicted.total_mbps,
        full_ports=full.mbps,
        # A flow that had no path cannot be blamed for what it did not send.
        unfinished_flows=[flow for flow in seen.unfinished if flow.split(" (")[0] not in recovery.cut_off],
        lost_packets=seen.lost_packets,
        window=spec.window,
        seconds=_seconds_of(seen, mean_total),
        failures=bool(spec.fail),
        dead_processes=seen.dead,
    )
    errors = [event["message"] for event in seen.events if event["event"] == "error"]
    found = [f"the controller reported an error: {message}" for message in errors[:3]] + reasons(evidence)
    if seen.lost is not None:
        found.insert(0, seen.lost)
    return {
        "bisection_mbps": round(measured, 3),
        "maxmin_mbps": round(predicted.total_mbps, 3),
        "iperf_mbps": round(evidence.iperf_mbps, 3),
        "verdict": "invalid" if found else "ok",
        "reasons": found,
        "rates": {
            "t": _rounded(times),
            "total_mbps": _rounded(total),
            "hosts": {host: _rounded(series.out_mbps[:samples]) for host, series in received.items()},
        },
        "links": {name: round(rate, 3) for name, rate in sorted(ports.items())},
        **({"full_links": full.as_json()} if full.mbps else {}),
        "queue_drops": {name: drops for name, drops in sorted(seen.drops.items()) if drops},
        "flows": flows,
        "cpu": {
            "t": [round(t - seen.begin, 3) for t in seen.cpu_times],
            "idle_percent": _rounded(seen.cpu_idle),
            "waiting_percent": {name: _rounded(waits) for name, waits in seen.cpu_waiting.items()},
        },
        "rounds": [_round(event, seen.begin) for event in seen.events if event["event"] == "round"],
        **({"lost_packets": seen.lost_packets} if seen.lost_packets else {}),
        **({"controller_restarts": _restarts(seen)} if seen.restarts else {}),
        **(recovery.as_json(mean_total, [_seconds(flow) for flow in flows]) if spec.fail else {}),
    }


def _seconds_of(seen: Observation, mean_total: Callable[[Window], float]) -> list[Second]:
    """What was seen of each second of the run."""
    return [
        Second(
            number=i + 1,
            idle_percent=idle,
            waiting_percent={name: waits[i] for name, waits in seen.cpu_waiting.items() if i < len(waits)},
            total_mbps=mean_total((t - seen.begin - 1, t - seen.begin)),
        )
        for i, (t, idle) in enumerate(zip(seen.cpu_times, seen.cpu_idle, strict=True))
    ]


def _check_cores(topo: FatTree | NonBlocking, events: Sequence[Event]) -> None:
    cores = {event["core"] for event in events if event["event"] in ("flow", "reroute")}
    if isinstance(topo, FatTree) and (strange := cores - set(range(topo.num_cores))):
        raise RunFailed(f"the controller sent flows by way of core {min(strange)}, which is not there")


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
            paths.setdefault(flow, []).append((event["t"], event["core"]))
        elif event["event"] == "reroute" and event["key"] in flow_of_key:
            paths[flow_of_key[event["key"]]].append((event["t"], event["core"]))
    return paths


def _seconds(flow: dict[str, Any]) -> list[tuple[float, float]]:
    """(beginning, Mb/s) of each second of a flow, since traffic start."""
    return [(flow["start"] + second, mbps) for second, mbps in enumerate(flow["per_second_mbps"])]


def _acknowledgements(flows: Sequence[dict[str, Any]], seen: Observation) -> list[RoutedFlow]:
    """The stream of acknowledgements of each flow, and the paths it had: without it a flow moves nothing."""
    paths = paths_by_flow(seen.events, acknowledgements=True)
    history = [paths.get((flow["dst"], flow["src"], flow["src_port"]), []) for flow in flows]
    return [
        RoutedFlow(flow["dst"], flow["src"], tuple(PathChange(t - seen.begin, core) for t, core in changes))
        for flow, changes in zip(flows, history, strict=True)
    ]


def _received(topo: FatTree | NonBlocking, series: dict[str, Series]) -> dict[str, Series]:
    """The samples of the switch port that faces each host, by host name."""
    ports = {link.lower: f"{link.upper}-eth{link.upper_port}" for link in topo.links()}
    missing = [host for host in topo.hosts if ports[host] not in series or not len(series[ports[host]].t)]
    if missing:
        raise RunFailed(f"bwm-ng has no samples for {len(missing)} hosts: {', '.join(missing[:4])}")
    return {host: series[ports[host]] for host in topo.hosts}


def _flow(
    flow: Flow,
    begin: float,
    paths: dict[tuple[int, int, int], list[tuple[float, int]]],
    window: Window,
) -> dict[str, Any]:
    report = flow.report
    total = None if report is None else report.total
    # A transfer shorter than a second has a total alone.
    intervals: Sequence[Interval] = ()
    if report is not None:
        intervals = report.intervals or ((total,) if total else ())
    history = paths.get((flow.src, flow.dst, flow.src_port), [])
    return {
        "src": flow.src,
        "dst": flow.dst,
        "src_port": flow.src_port,
        "start": round(flow.started - begin, 3),
        "seconds": total.end_s if total else None,
        "mbps": 0.0 if report is None else round(report.mbps, 4),
        "window_mbps": round(_mean_inside(intervals, flow.started, window), 4),
        "per_second_mbps": [] if report is None else _rounded(report.per_second_mbps),
        "paths": [{"t": round(t - begin, 3), "core": core} for t, core in history],
    }


def _mean_inside(intervals: Sequence[Interval], started: float, window: Window) -> float:
    """Mb/s over the window; a flow that began or ended inside it sent nothing in the rest of it."""
    bits = 0.0
    for interval in intervals:
        a, b = started + interval.start_s, started + interval.end_s
        bits += interval.bits_per_s * max(0.0, min(b, window[1]) - max(a, window[0]))
    return bits / 1e6 / (window[1] - window[0])


def _routed(flow: dict[str, Any]) -> RoutedFlow:
    return RoutedFlow(
        flow["src"], flow["dst"], tuple(PathChange(path["t"], path["core"]) for path in flow["paths"])
    )


def _restarts(seen: Observation) -> list[dict[str, Any]]:
    """When a controller was missed, and when the next one had every switch under control again."""
    records = []
    for restart in seen.restarts:
        ready = (event["t"] for event in seen.events if event["event"] == "ready" and event["t"] > restart.t)
        adopted = (
            event for event in seen.events if event["t"] > restart.t and event.get("reason") == "adopted"
        )
        t = next(ready, None)
        records.append(
            {
                "t": round(restart.t - seen.begin, 3),
                "reason": restart.reason,
                "ready_t": None if t is None else round(t - seen.begin, 3),
                "adopted": sum(1 for _ in adopted),
            }
        )
    return records


def _round(event: Event, begin: float) -> dict[str, Any]:
    record = {name: event[name] for name in ("round", "flows", "large", "placed", "changed")}
    spans = {f"{name}_ms": round(event[f"{name}_s"] * 1e3, 3) for name in ("polled", "compute", "install")}
    return {"t": round(event["t"] - begin, 3), **record, **spans}


def _rounded(values: Any) -> list[float]:
    return [round(float(value), 3) for value in values]
