"""One run on stock Mininet, as its documentation has it: TCLink, one Open vSwitch, everything through its own calls.

`benchmarks.peers` starts it in a network namespace of its own, where the Open vSwitch it starts cannot meet
another. Same topology, controller, traffic, sampling and verdict as ours; prints one JSON object.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import OVSSwitch, RemoteController
from msgspec.structs import replace

from harness.errors import RunFailed
from harness.judge.result import describe
from harness.network import shaping
from harness.network.openvswitch import SCHEMA
from harness.network.processes import Children, run, wait_until
from harness.network.sockets import lost_packets
from harness.run.controller import PORT, command
from harness.run.events import parse_events
from harness.run.observation import Observation
from harness.run.senders import EmulatedFlow, label, linger_s
from harness.run.spec import RunSpec
from results.parts import Timing
from results.record import Run, encode
from topos.fattree import mininet_topo, port_name
from topos.network import Network
from topos.wire import DEFAULT_MTU
from traffic.bwmng import parse_samples, sample_command
from traffic.iperf import FlowReport, client_command, parse_report, server_command
from traffic.ports import source_ports

READY_S = 60.0


def one_openvswitch(folder: Path, children: Children) -> subprocess.Popen[bytes]:
    """The machine's one Open vSwitch, as its init script would start it; Mininet's tools find it by OVS_RUNDIR."""
    os.environ |= {"OVS_RUNDIR": str(folder), "OVS_DBDIR": str(folder), "OVS_LOGDIR": str(folder)}
    run(["ovsdb-tool", "create", str(folder / "conf.db"), str(SCHEMA)])
    remote = f"--remote=punix:{folder}/db.sock"
    children.spawn("ovsdb-server", ["ovsdb-server", str(folder / "conf.db"), remote])
    if not wait_until((folder / "db.sock").exists, 10):
        raise RunFailed("ovsdb-server did not start")
    run(["ovs-vsctl", "--no-wait", "init"])
    return children.spawn("ovs-vswitchd", ["ovs-vswitchd", f"unix:{folder}/db.sock"])


def controller_of(spec: RunSpec, log: Path, children: Children) -> None:
    """The controller of this project on os-ken, which listens on the loopback of this namespace."""
    options = {
        "scheme": spec.scheme,
        "k": spec.k,
        "seed": spec.seed,
        "interval": spec.interval_s,
        "bw": spec.link_mbps,
        "log": log,
    }
    children.spawn("controller", command("os-ken", "127.0.0.1", options), output=log.with_suffix(".txt"))


def events(log: Path) -> list[Any]:
    """What the controller has logged, as far as whole lines are there."""
    text = log.read_bytes() if log.exists() else b""
    return parse_events(text[: text.rfind(b"\n") + 1])


def measure(spec: RunSpec, datapath: str, offloads: bool, folder: Path) -> Run:
    """The result, with ``timing``: seconds to build (until every switch is connected and has its
    rules) and to tear down."""
    network, timing = spec.network(), {}
    run(["ip", "link", "set", "lo", "up"])
    with Children() as children:
        clock = time.monotonic()
        switchd = one_openvswitch(folder, children)
        log = folder / "events.jsonl"
        controller_of(spec, log, children)
        if not wait_until(lambda: any(e["event"] == "start" for e in events(log)), READY_S):
            raise RunFailed("the controller did not start")
        topo = mininet_topo(network, bw=spec.link_mbps, max_queue_size=spec.queue, txo=offloads, rxo=offloads)
        net = Mininet(
            topo=topo,
            link=TCLink,
            switch=lambda name, **words: OVSSwitch(name, datapath=datapath, protocols="OpenFlow10", **words),
            controller=lambda name: RemoteController(name, ip="127.0.0.1", port=PORT),
            autoStaticArp=True,
        )
        net.start()
        for node in [*net.hosts, *net.switches] if spec.mtu != DEFAULT_MTU else ():
            for interface in node.intfList():
                if interface.name != "lo":
                    interface.cmd(f"ip link set {interface.name} mtu {spec.mtu}")
        for host in net.hosts:
            host.cmd(f"sysctl -q -w net.ipv4.tcp_congestion_control={spec.congestion_control}")
        if not wait_until(lambda: any(e["event"] == "ready" for e in events(log)), READY_S):
            raise RunFailed(f"the controller did not have every switch within {READY_S:g} s")
        timing["build_s"] = time.monotonic() - clock
        seen = traffic(spec, net, network, switchd.pid, datapath, folder, children)
        seen.events = events(log)
        clock = time.monotonic()
        net.stop()
    timing["teardown_s"] = time.monotonic() - clock
    return replace(describe(spec, seen), timing=Timing(**timing))


def traffic(
    spec: RunSpec,
    net: Mininet,
    network: Network,
    switchd: int,
    datapath: str,
    folder: Path,
    children: Children,
) -> Observation:
    """iperf on every host, bwm-ng beside it, and what was seen; flows not yet with their paths."""
    ports = [port_name(name, port) for name in network.switches for port in net[name].ports.values() if port]
    matrix, seen = spec.matrix(), Observation()
    pid_of = {host: net[name].pid for host, name in enumerate(network.hosts)}
    servers = {dst: folder / f"server-{dst}.csv" for dst in sorted(set(matrix.dst.tolist()))}
    for dst, output in servers.items():
        children.spawn(
            f"server {dst}",
            server_command(),
            namespace=pid_of[dst],
            output=output,
            environment={**os.environ, "TZ": "UTC"},
        )
    time.sleep(1)
    children.spawn("bwm-ng", sample_command(ports, folder / "bwm-ng.csv"))
    lost_before = shaping.dropped_elsewhere(ports, os.getpid())
    if datapath == "user":
        lost_packets(switchd)
    seen.begin = time.time()
    for src, dst, port in zip(matrix.src.tolist(), matrix.dst.tolist(), source_ports(matrix, spec.seed), strict=True):
        flow = EmulatedFlow(src, dst, int(port), started=time.time())
        source = (network.host_ip(src), int(port))
        words = client_command(network.host_ip(dst), source, seconds=spec.seconds)
        flow.client = children.spawn(f"client {src}", words, namespace=pid_of[src])
        seen.flows.append(flow)
    limit = spec.seconds + linger_s(spec.link_mbps)
    wait_until(lambda: all(flow.client is None or flow.client.poll() is not None for flow in seen.flows), limit)
    time.sleep(1)
    children.end(children.named("server"))
    children.end(children.named("bwm-ng"))
    seen.series = parse_samples((folder / "bwm-ng.csv").read_text())
    reports: dict[tuple[str, int], FlowReport] = {}
    for output in servers.values():
        reports.update(parse_report(output.read_text(errors="replace")).flows)
    for flow in seen.flows:
        flow.report = reports.get((network.host_ip(flow.src), flow.src_port))
        if flow.report is None or flow.report.total is None or flow.report.total.end_s < spec.seconds - 1:
            seen.unfinished.append(label(flow))
    lost = shaping.dropped_elsewhere(ports, os.getpid())
    seen.lost_packets = {f"port {p}": n - lost_before.get(p, 0) for p, n in lost.items() if n > lost_before.get(p, 0)}
    if datapath == "user" and (count := lost_packets(switchd)):
        seen.lost_packets["the sockets of ovs-vswitchd"] = count
    return seen


def main() -> None:
    """``python -m benchmarks.stock_mininet SPEC DATAPATH OFFLOADS FOLDER`` (SPEC as JSON)."""
    words, datapath, offloads, folder = sys.argv[1:]
    setLogLevel("critical")
    measured = measure(RunSpec(**json.loads(words)), datapath, offloads == "on", Path(folder))
    print(encode(measured, indent=0).decode(), end="")


if __name__ == "__main__":
    main()
