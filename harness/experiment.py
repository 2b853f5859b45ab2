"""One run from start to end: build, connect, send, watch, judge, tear down; the result as plain data."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness import shaping
from harness.congestion import permitted
from harness.controller import PORT, Controller, choose_platform
from harness.cpulimit import HostGroups
from harness.errors import RunFailed
from harness.fabric import CONTROLLER_ADDRESS, Fabric, FabricOptions
from harness.footprint import owner_name, run_folder, sole_use
from harness.machine import choose_datapath, instances_for, machine, require_root, require_tools
from harness.prediction import PathChange, RoutedFlow, predicted_mbps
from harness.processes import Children
from harness.spec import RunSpec
from harness.store import RESULT, new_run, write_json
from harness.verdict import Evidence, reasons
from harness.watch import ProcessorWatch, mean_over
from harness.workload import Flow, Workload
from traffic.bwmng import Series, parse_samples, sample_command
from traffic.ports import SERVER_PORT

SCHEMA = 1
READY_DEADLINE = 15.0
"""Seconds the controller has to connect every switch and confirm its rules."""

Say = Callable[[str], None]


@dataclass
class _Observed:
    """What is gathered while the run goes on."""

    begin: float = 0.0
    unfinished: list[str] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    drops: dict[str, int] = field(default_factory=dict)
    series: dict[str, Series] = field(default_factory=dict)
    cpu_times: list[float] = field(default_factory=list)
    cpu_idle: list[float] = field(default_factory=list)
    timing: dict[str, float] = field(default_factory=dict)
    limited_hosts: bool = False
    limit_reason: str = ""


def run_experiment(spec: RunSpec, folder: Path, say: Say = lambda stage: None) -> dict[str, Any]:
    """Carry out a run and publish its result in ``folder``; returns the result (see docs/results.md).

    A run that fails on the way is published too, as invalid, with the reason. Raises UserMistake or
    UnfitMachine before anything is built, RunFailed when the machine is taken or ``folder`` is.
    """
    require_root()
    require_tools()
    matrix = spec.matrix()
    datapath, platform = choose_datapath(spec.datapath), choose_platform(spec.platform)
    topo = spec.topology()
    result: dict[str, Any] = {
        "schema": SCHEMA,
        "scheme": spec.scheme,
        "traffic": spec.traffic,
        "trial": spec.trial,
        "seed": spec.seed,
        "capacity_mbps": spec.capacity_mbps,
        "bisection_mbps": None,
        "window_s": list(spec.window),
        "spec": {**spec.as_json(), "platform": platform, "datapath": datapath},
        "matrix": [[int(s), int(d)] for s, d in zip(matrix.src, matrix.dst, strict=True)],
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    seen = _Observed()
    clock = time.monotonic()
    with sole_use(), permitted(spec.congestion_control), new_run(folder) as raw:
        try:
            with run_folder() as sockets, Children() as children:
                groups = HostGroups(owner_name(), 4 / spec.k**3)
                try:
                    options = FabricOptions(
                        datapath,
                        instances_for(datapath),
                        shaping.Shape(spec.bw, spec.queue),
                        spec.congestion_control,
                    )
                    with Fabric(topo, options, sockets, children) as fabric:
                        controller = _start_network(spec, fabric, platform, raw, children, seen, say)
                        workload = Workload(fabric, matrix, spec.seed, spec.seconds, raw, children, groups)
                        _send(spec, fabric, controller, workload, raw, children, seen, say)
                    clock_down = time.monotonic()
                finally:
                    seen.limited_hosts, seen.limit_reason = groups.applied, groups.reason
                    children.end_all()
                    groups.remove()
            seen.timing["teardown_s"] = time.monotonic() - clock_down
            result.update(_judge(spec, seen, controller, workload))
        except RunFailed as failure:
            result.update(verdict="invalid", reasons=[str(failure)], flows=[])
        seen.timing["total_s"] = time.monotonic() - clock
        seen.timing["overhead_s"] = seen.timing["total_s"] - min(
            spec.seconds, seen.timing.get("traffic_s", 0.0)
        )
        result["timing"] = {name: round(value, 3) for name, value in seen.timing.items()}
        result["environment"] = {
            **machine().as_json(),
            "datapath": datapath,
            "openvswitch_instances": min(instances_for(datapath), topo.num_switches),
            "platform": platform,
            "host_cpu_limit": 4 / spec.k**3 if seen.limited_hosts else None,
            "host_cpu_limit_reason": seen.limit_reason,
        }
        write_json(raw / RESULT, result)
    return result


def _start_network(
    spec: RunSpec,
    fabric: Fabric,
    platform: str,
    raw: Path,
    children: Children,
    seen: _Observed,
    say: Say,
) -> Controller:
    """Controller and network, side by side, until every switch is connected and every port limited."""
    clock = time.monotonic()
    say("building")
    options: dict[str, object] = {
        "scheme": spec.scheme,
        "k": spec.k,
        "seed": spec.seed,
        "interval": spec.interval,
        "bw": spec.bw,
        "threshold": spec.threshold,
    }
    controller = Controller(platform, CONTROLLER_ADDRESS, fabric.control.pid, options, raw, children)
    fabric.build()
    controller.wait_for("start", READY_DEADLINE)
    fabric.connect(PORT)
    seen.timing["build_s"] = time.monotonic() - clock
    ready = controller.wait_for("ready", READY_DEADLINE)
    if ready["switches"] != fabric.topo.num_switches:
        raise RunFailed(f"the controller counts {ready['switches']} switches, not {fabric.topo.num_switches}")
    started = controller.find("start")[0]
    if (started["scheme"], started["platform"]) != (spec.scheme, platform):
        raise RunFailed(f"asked for {spec.scheme} on {platform}, but {started['scheme']} runs")
    seen.timing["ready_s"] = time.monotonic() - clock
    return controller


def _send(
    spec: RunSpec,
    fabric: Fabric,
    controller: Controller,
    workload: Workload,
    raw: Path,
    children: Children,
    seen: _Observed,
    say: Say,
) -> None:
    """The traffic, and everything that watches it."""
    workload.listen()
    samples = []
    for instance in fabric.instances:
        interfaces = fabric.interfaces_of(instance)
        output = raw / f"bwm-ng-{instance.number}.csv"
        samples.append(output)
        children.spawn("bwm-ng", sample_command(interfaces, output), namespace=instance.pid)
    processors = ProcessorWatch()
    clock = time.monotonic()
    say("sending")
    seen.begin = workload.start()
    seen.unfinished = workload.wait(controller.read)
    seen.timing["traffic_s"] = time.monotonic() - clock
    say("finishing")
    processors.stop()
    seen.cpu_times, seen.cpu_idle = processors.times, processors.idle_percent
    seen.dead = [name for name in children.dead() if not name.startswith("client")]
    time.sleep(0.1)  # the servers write a flow's last line when they have read its end
    children.end([*children.named("bwm-ng"), *children.named("iperf server")])
    controller.read()
    fabric.verify()
    for interfaces, namespace in fabric.ports_by_namespace():
        seen.drops.update(shaping.dropped_in_queue(interfaces, namespace))
    for output in samples:
        seen.series.update(parse_samples(output.read_text()))


def _judge(spec: RunSpec, seen: _Observed, controller: Controller, workload: Workload) -> dict[str, Any]:
    """The numbers and the verdict, from what was gathered."""
    unfinished = workload.collect() or seen.unfinished
    topo = spec.topology()
    window = spec.window
    absolute = (seen.begin + window[0], seen.begin + window[1])
    host_port = {topo.host_name(h): _port_to(topo, h) for h in range(topo.num_hosts)}
    received = {host: seen.series[port] for host, port in host_port.items() if port in seen.series}
    if len(received) < topo.num_hosts:
        raise RunFailed(f"bwm-ng has samples for {len(received)} of {topo.num_hosts} hosts")
    measured = sum(mean_over(series.t, series.out_mbps, absolute) for series in received.values())
    ports = {name: mean_over(series.t, series.out_mbps, absolute) for name, series in seen.series.items()}
    # What a host sends enters its switch, so a host's own limit is seen there.
    ports |= {host: mean_over(series.t, series.in_mbps, absolute) for host, series in received.items()}
    events = _by_tuple(controller)
    flows = [_flow_record(flow, seen.begin, events, absolute) for flow in workload.flows]
    routed = [
        RoutedFlow(f["src"], f["dst"], tuple(PathChange(p["t"], p["core"]) for p in f["paths"]))
        for f in flows
    ]
    predicted = predicted_mbps(topo, routed, window, spec.bw)
    evidence = Evidence(
        bw=spec.bw,
        datapath=choose_datapath(spec.datapath),
        port_mbps=ports,
        measured_mbps=measured,
        iperf_mbps=sum(f["window_mbps"] for f in flows),
        predicted_mbps=predicted,
        unfinished_flows=unfinished,
        idle_percent=seen.cpu_idle,
        dead_processes=seen.dead,
    )
    found = [*_controller_reasons(controller), *reasons(evidence)]
    times = _common_times(received)
    return {
        "bisection_mbps": round(measured, 3),
        "maxmin_mbps": round(predicted, 3),
        "iperf_mbps": round(evidence.iperf_mbps, 3),
        "verdict": "invalid" if found else "ok",
        "reasons": found,
        "rates": {
            "t": [round(t - seen.begin, 2) for t in times],
            "total_mbps": [
                round(sum(s.out_mbps[i] for s in received.values()), 3) for i in range(len(times))
            ],
            "hosts": {host: _rounded(s.out_mbps[: len(times)]) for host, s in received.items()},
        },
        "links": {name: round(rate, 3) for name, rate in sorted(ports.items())},
        "queue_drops": {name: drops for name, drops in seen.drops.items() if drops},
        "flows": flows,
        "cpu": {
            "t": [round(t - seen.begin, 2) for t in seen.cpu_times],
            "idle_percent": _rounded(seen.cpu_idle),
        },
        "rounds": [_round_record(event, seen.begin) for event in controller.find("round")],
    }


def _port_to(topo: Any, host: int) -> str:
    edge = topo.edge_of(host)
    port = next(link.upper_port for link in topo.links() if link.lower == topo.host_name(host))
    return f"{edge}-eth{port}"


def _common_times(received: dict[str, Series]) -> list[float]:
    """Sample times of the shortest series (all namespaces are sampled in the same seconds)."""
    shortest = min(received.values(), key=lambda series: len(series.t))
    return [float(t) for t in shortest.t]


def _rounded(values: Any) -> list[float]:
    return [round(float(value), 3) for value in values]


def _by_tuple(controller: Controller) -> dict[tuple[int, int, int], list[tuple[float, int]]]:
    """(time, core) of each path a flow had, by (src, dst, source port), oldest first."""
    flow_of_key = {}
    paths: dict[tuple[int, int, int], list[tuple[float, int]]] = {}
    for event in controller.events:
        if event["event"] == "flow" and event["dst_port"] == SERVER_PORT:
            flow = (event["src"], event["dst"], event["src_port"])
            flow_of_key[event["key"]] = flow
            paths.setdefault(flow, []).append((event["t"], event["core"]))
        elif event["event"] == "reroute" and event["key"] in flow_of_key:
            paths[flow_of_key[event["key"]]].append((event["t"], event["core"]))
    return paths


def _flow_record(
    flow: Flow,
    begin: float,
    paths: dict[tuple[int, int, int], list[tuple[float, int]]],
    window: tuple[float, float],
) -> dict[str, Any]:
    record: dict[str, Any] = {
        "src": flow.src,
        "dst": flow.dst,
        "src_port": flow.src_port,
        "start": round(flow.started - begin, 3),
        "mbps": 0.0,
        "window_mbps": 0.0,
        "per_second_mbps": [],
        "paths": [
            {"t": round(t - begin, 3), "core": core}
            for t, core in paths.get((flow.src, flow.dst, flow.src_port), [])
        ],
    }
    if flow.report is not None:
        intervals = flow.report.intervals or ((flow.report.total,) if flow.report.total else ())
        ends = np.array([flow.started + interval.end_s for interval in intervals])
        rates = np.array([interval.bits_per_s / 1e6 for interval in intervals])
        record["mbps"] = round(flow.report.mbps, 4)
        if flow.report.total is not None:
            record["seconds"] = flow.report.total.end_s
        record["per_second_mbps"] = _rounded(rates)
        # A transfer that ended, or began, inside the window sent nothing in the rest of it.
        record["window_mbps"] = round(_mean_in(intervals, flow.started, window), 4)
        del ends
    return record


def _mean_in(intervals: Any, started: float, window: tuple[float, float]) -> float:
    bits = 0.0
    for interval in intervals:
        a, b = started + interval.start_s, started + interval.end_s
        inside = max(0.0, min(b, window[1]) - max(a, window[0]))
        bits += interval.bits_per_s * inside
    return bits / 1e6 / (window[1] - window[0])


def _round_record(event: dict[str, Any], begin: float) -> dict[str, Any]:
    return {
        "t": round(event["t"] - begin, 3),
        "round": event["round"],
        "flows": event["flows"],
        "large": event["large"],
        "placed": event["placed"],
        "changed": event["changed"],
        "polled_ms": round(event["polled_s"] * 1e3, 3),
        "compute_ms": round(event["compute_s"] * 1e3, 3),
        "install_ms": round(event["install_s"] * 1e3, 3),
    }


def _controller_reasons(controller: Controller) -> list[str]:
    return [f"the controller reported an error: {event['message']}" for event in controller.find("error")[:3]]
