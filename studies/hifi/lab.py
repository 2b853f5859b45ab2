"""Plays scenes one after the other; inside a guest, as its root.

python -m studies.hifi.lab SCENES.json FOLDER

The network is the harness's own: Mininet hosts, Open vSwitch, links limited and verified as those of every run;
senders and sinks are those of traffic that comes and goes. Beside them one thread looks at the queue and at TCP.
"""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path

import msgspec

from harness.network import (
    EPORT,
    Children,
    Fabric,
    FabricOptions,
    Netlink,
    Shape,
    Tcp,
    count_ports,
    permit,
    shape_ports,
    verify_shapes,
)
from harness.run import Arrived, EmulatedFlow, Sampler, Transfers, read_tcp_counters
from harness.run.trace import Packets
from record.files import temporary_folder
from record.spec import RunSpec
from studies import star
from studies.hifi.scene import Done, Look, Observed, Packet, Scene
from topos.fattree import port_name
from topos.network import NonBlocking
from traffic.flows import SERVER_PORT
from traffic.workload import make_workload

WATCHED = port_name(NonBlocking.SWITCH, 1)
"""The switch's port to the receiver."""
ETH_P_IP = 0x0800


def play(scene: Scene, folder: Path) -> Observed:
    topo = NonBlocking(1 + scene.senders)
    options = FabricOptions(scene.shape, Tcp(scene.congestion_control, min_rto_ms=scene.rto_min_ms))
    with (
        permit(scene.congestion_control, folder),
        Children() as children,
        Fabric(topo, options, folder, children) as fabric,
    ):
        _build(scene, topo, fabric, folder)
        flows = folder / "flows.csv"
        lines = [
            f"{f.sender},0,{f.start_s!r},{f.size_bytes or ''}" for f in sorted(scene.flows, key=lambda f: f.start_s)
        ]
        flows.write_text("\n".join(["src_host,dst_host,start_s,size_bytes", *lines, ""]), encoding="utf-8")
        traffic = f"file:{flows}"
        work = make_workload(traffic, topo, scene.seed, seconds=scene.seconds, link_mbps=scene.mbps)
        # A sink is woken by so much of the link: it counts in steps of 0.1 ms, where `wake` is a hundredth.
        woken_mbps, queue = max(0.1, scene.mbps * scene.wake), scene.queue_packets
        spec = RunSpec("nonblocking", traffic, seconds=scene.seconds, link_mbps=woken_mbps, queue=queue, mtu=scene.mtu)
        transfers = Transfers(fabric, work, spec, folder, children)
        transfers.listen()
        # The kernel counts from the making of a namespace on; what it counted until here is taken off below.
        before = read_tcp_counters(fabric)
        with contextlib.ExitStack() as watched:
            looking = watched.enter_context(Looking(fabric, scene))
            arriving = watched.enter_context(Arriving(fabric)) if scene.packets else None
            begin = transfers.start()
            # The beginning is told by the epoch's clock. Looks are taken by the monotonic one, which nobody sets.
            looking.begin = begin - time.time() + time.monotonic()
            transfers.wait(lambda: None)
        tcp = read_tcp_counters(fabric)
        tcp.subtract(before)
        drops = fabric.queue_drops()[WATCHED]
        transfers.hang_up()
        transfers.collect()
        ended = [(flow, flow.sent.outcome if flow.sent else "not started") for flow in transfers.flows]
        # A flow that lasts may wait for a retransmission as the scene ends, and be cut off.
        failed = [f"{flow} ({outcome})" for flow, outcome in ended if outcome not in ("done", "cut off")]
        if failed or transfers.troubles:
            raise RuntimeError("; ".join([*failed, *transfers.troubles]))
        done = [_describe_flow(flow, looking.begin, looking.begin + scene.seconds) for flow in transfers.flows]
        packets = arriving.between(begin, *scene.window) if arriving else ()
        return Observed(scene, tuple(done), tuple(looking.looks), dict(tcp), drops, packets)


def _build(scene: Scene, topo: NonBlocking, fabric: Fabric, folder: Path) -> None:
    star.lay(topo, fabric, folder)
    # All ports have the shape of the receiver's by now. Senders have cables of their own where the scene says so.
    for number, host in enumerate(topo.hosts[1:], start=2):
        _shape_end(scene, port_name(host, 0), fabric.pid_of(host))
        if scene.delay_ms:
            _shape_end(scene, port_name(topo.SWITCH, number), fabric.open_vswitch.namespace)
    verify_shapes({WATCHED: scene.shape}, [WATCHED], fabric.open_vswitch.namespace)


def _shape_end(scene: Scene, port: str, namespace: int) -> None:
    """One end of a sender's cable: its rate, and its delay."""
    if scene.access == 1 and not scene.delay_ms:
        return
    faster = Shape(scene.mbps * scene.access, 1000, scene.mtu, carrier=EPORT, delay_ms=scene.delay_ms)
    shape_ports({port: faster}, [port], namespace)
    verify_shapes({port: faster}, [port], namespace)


def _describe_flow(flow: EmulatedFlow, begin: float, end: float) -> Done:
    """What became of a flow, in seconds since ``begin``. When many flows share a slow link, some may not have had a
    byte read at ``end``."""
    sent, arrived = flow.sent, flow.arrived
    assert sent is not None
    assert sent.start is not None
    if arrived is None:
        arrived = Arrived(sent.number, "cut off", end, end, end, 0, ())
    start_s, accepted, first, last = (t - begin for t in (sent.start, arrived.accepted, arrived.first, arrived.last))
    return Done(flow.src, start_s, accepted, first, last, arrived.bytes, arrived.bins, sent.retransmissions)


class Looking(Sampler):
    """Looks at the receiver's port, and at TCP in every sender."""

    def __init__(self, fabric: Fabric, scene: Scene) -> None:
        self.looks: list[Look] = []
        self.begin = float("inf")
        self.period_s = scene.every_s
        senders = fabric.topo.hosts[1:] if scene.round_trips else ()
        self._opened = contextlib.ExitStack()
        self._switch, *self._hosts = (
            self._opened.enter_context(contextlib.closing(Netlink(pid)))
            for pid in (fabric.open_vswitch.namespace, *map(fabric.pid_of, senders))
        )

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self._opened.close()

    def sample(self) -> None:
        t = time.monotonic() - self.begin
        if t < 0:
            return
        queue = count_ports(self._switch, EPORT)[WATCHED]
        rtt_ms = {
            number: 1e3 * connection.rtt_s
            for number, host in enumerate(self._hosts, start=1)
            for connection in host.connections(SERVER_PORT)
        }
        self.looks.append(Look(t, queue.queued, rtt_ms, queue.sent))


class Arriving(Packets):
    """Every IP packet that comes in at the receiver."""

    def __init__(self, fabric: Fabric) -> None:
        super().__init__(fabric.pid_of(fabric.topo.hosts[0]), ETH_P_IP)
        self._arrived: list[tuple[int, int]] = []

    def heard(self, ns: int, packet: bytes) -> None:
        self._arrived.append((ns, len(packet)))

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        # A packet that was not heard would look like a gap that the port never made.
        if self.missed:
            raise RuntimeError(f"{self.missed} packets were not seen")

    def between(self, begin: float, low: float, high: float) -> tuple[Packet, ...]:
        """The packets that arrived in a part of the scene, ``low`` to ``high`` seconds after ``begin``, which is in
        seconds since the epoch."""
        since = round(begin * 1e9)
        return tuple(Packet(t, size) for ns, size in self._arrived if low <= (t := (ns - since) * 1e-9) <= high)


def main() -> None:
    for scene in msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=tuple[Scene, ...]):
        with temporary_folder("truth") as folder:
            Path(sys.argv[2], f"{scene.name}.json").write_bytes(msgspec.json.encode(play(scene, folder)))


if __name__ == "__main__":
    main()
