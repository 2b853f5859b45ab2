"""The rate limit and the queue of every port: applied, then verified.

A port has one of two carriers, and this module alone tells them apart. In real time it is veth, with tc's bucket, queue
and delay; in virtual time a device of our guests' kernel that is all of that (virtual/kernel/patches).

Limits of veth are applied after Open vSwitch has taken the port: it can silently strip a qdisc when a port is added to
a bridge, and a link that is not limited makes wonderful results. Of eports they are applied before, as ovs-vswitchd
reads all links whenever it hears of a change of one; one without a limit carries nothing. Nothing is believed here:
what the kernel reports is compared port by port.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from harness.network import netlink
from harness.network.netlink import EPORT, VETH, Eport, Netlink, Paced, Pacer, Qdisc, index_of, limit, send
from harness.network.processes import run_program
from record.errors import RunFailed, UnfitMachine
from record.spec import Phantom, RunSpec
from topos.wire import DEFAULT_MTU, ETHERNET_HEADER

# A busy machine wakes a port some milliseconds late, and the port has to make up for that. Links of 25 Mb/s carried 58,
# 62 and 87 % of their capacity with buckets of 4, 8 and 25 packets (docs/notes/emulation.md); Mininet's 15 kB are 12 ms
# at 10 Mb/s. Eports have no bucket, because they store and forward.
BUCKET_S = 0.015
"""How much a port on veth may send at once after it was idle, as time at its rate."""
# TCP keeps itself from filling it. A packet that its own host dropped would not be one that a network lost.
HOST_PACKETS = 1000
"""Room in a host's own port, as Linux gives it (``txqueuelen``)."""
# A fast link holds more than netem's usual 1000.
MOST_DELAYED = 100_000
"""How many packets may be on their way through a cable."""
MARK_PACKETS = 20
"""DCTCP's K, from which on a queue marks (section 3.4 of its paper, for 1 Gb/s; slower links could do with less)."""
PACED_MBPS = 1000.0
"""A pacer's times are given for links of this rate. On other links they scale as the time of a packet does."""


@dataclass(frozen=True)
class Shape:
    """What limits one port: a rate in Mb/s and a queue in full-size packets of ``mtu`` bytes, for one direction of one
    link.

    A network has one shape, which is that of a switch's port to a host, and `at_host`, `between_switches` and `to_host`
    make those of its three kinds of ports. The properties say the same in the kernel's units, and two methods in the
    words of the two carriers: `eport` for an eport, `commands` (tc's) for veth.

    A queue counts bytes, as Mininet's 50 packets of 1500 bytes do: acknowledgements take little room. One that
    ``marks`` tells TCP of congestion (ECN) from ``mark_packets`` on, or from half of itself on, and with every packet
    from ``ramp_packets`` more on. ``delay_ms``: for how long a packet is on its way, which it is before it meets the
    queue on veth, and after that on an eport. ``carrier``: VETH or EPORT. ``bucket_s``: what a port on veth may send at
    once after it was idle, as time at its rate. ``phantom``: HULL's phantom queue of a switch's port, on an eport;
    ``pacer``: where a host's own port has HULL's pacer, in front of its queue or behind it. ``hosts_mark``: whether
    hosts' own ports mark as switches' do.
    """

    mbps: float
    queue_packets: int = 50
    mtu: int = DEFAULT_MTU
    marks: bool = False
    carrier: str = VETH
    mark_packets: int = MARK_PACKETS
    ramp_packets: float = 1.0
    delay_ms: float = 0.0
    bucket_s: float = BUCKET_S
    phantom: Phantom | None = None
    pacer: str | None = None
    hosts_mark: bool = True

    def at_host(self) -> Shape:
        """The same for a host's own port, which has a host's room and no delay; it may send as much at once as any
        other."""
        # netem takes packets from their sockets: behind a delay TCP would no longer see its own queue, and overfill it.
        # So the port at the other end of the cable delays both ways (`to_host`).
        bucket_s, room = min(self.bucket_s, self.queue_bytes / self.rate_bytes), max(HOST_PACKETS, self.queue_packets)
        marks = self.marks and self.hosts_mark
        return replace(self, queue_packets=room, bucket_s=bucket_s, delay_ms=0.0, phantom=None, marks=marks)

    def between_switches(self) -> Shape:
        """The same for a switch's port to another."""
        return replace(self, pacer=None)

    def to_host(self) -> Shape:
        """The same for a switch's port to a host, with the delay of both ways of the cable."""
        return replace(self.between_switches(), delay_ms=2 * self.delay_ms)

    @property
    def rate_bytes(self) -> int:
        """The rate in bytes per second, as the kernel counts it."""
        return round(self.mbps * 1e6 / 8)

    @property
    def queue_bytes(self) -> int:
        """The queue in bytes."""
        return self.queue_packets * self.mtu

    @property
    def burst_bytes(self) -> int:
        """What it may send at once, in bytes: of an eport a frame; on veth at most a queue, at least two frames."""
        if self.carrier == EPORT:
            return self.mtu + ETHERNET_HEADER
        return max(2 * (self.mtu + ETHERNET_HEADER), min(round(self.rate_bytes * self.bucket_s), self.queue_bytes))

    @property
    def delay_us(self) -> int:
        return round(self.delay_ms * 1e3)

    @property
    def mark_bytes(self) -> tuple[int, int]:
        """The bytes of the queue from which on it marks some packets, and those from which on it marks all."""
        packets = max(2, min(self.mark_packets, self.queue_packets // 2))
        return packets * self.mtu, round((packets + self.ramp_packets) * self.mtu)

    def eport(self, interface: str) -> Eport:
        """The settings of an interface that is an eport, as the kernel is told them."""
        marks = self.mark_bytes if self.marks else (0, 0)
        drain, phantom = (round(self.rate_bytes * self.phantom.drain), self.phantom.bytes) if self.phantom else (0, 0)
        return Eport(interface, self.rate_bytes, self.queue_bytes, *marks, self.delay_us * 1000, drain, phantom)

    @property
    def pacer_settings(self) -> Pacer | None:
        """The settings of the pacer, if there is one. They are those of the report's table I; from the experiments of
        its authors there are a new rate every 32 us and a first rate of a tenth of the link's."""
        if self.pacer is None:
            return None
        # Of 2^32, the weight of a new rate and the probability that an echo associates its flow are an eighth each;
        # beta is 16 per second, of 2^16; an association lasts 10 ms. These are for 1 Gb/s, and times scale with the
        # rate.
        slower = PACED_MBPS / self.mbps
        return Pacer(
            limit=self.queue_packets, depth=max(3000, self.mtu + ETHERNET_HEADER), eta=1 << 29,
            beta=round(16 / slower * (1 << 16)), period_ns=max(1000, round(32_000 * slower)), associate=1 << 29,
            lasts_ns=round(10e6 * slower), rate=self.rate_bytes // 10,
            link=self.rate_bytes if self.pacer == "behind" else 0,
        )  # fmt: skip

    @property
    def queue(self) -> str:
        """The qdisc of the queue, in tc's words: a byte FIFO, or RED that marks all above a threshold."""
        if not self.marks:
            return f"bfifo limit {self.queue_bytes}"
        # DCTCP wants marks by the queue as it is now, and RED goes by an average. With ``burst`` at the least that tc
        # takes that is half the queue now and half the average before.
        low, high = self.mark_bytes
        return (
            f"red limit {self.queue_bytes} min {low} max {high} avpkt {self.mtu} burst {low // self.mtu} "
            f"probability 1 bandwidth {self.rate_bytes * 8}bit ecn"
        )

    def commands(self, interface: str) -> str:
        """The ``tc -batch`` lines that give an interface this shape: a token bucket, the queue below it; above both
        the delay, if any."""
        delay = f"qdisc replace dev {interface} root handle 2: netem delay {self.delay_us}us limit {MOST_DELAYED}\n"
        return (
            f"{delay if self.delay_us else ''}"
            f"qdisc replace dev {interface} {'parent 2:1' if self.delay_us else 'root'} "
            f"handle 1: tbf rate {self.rate_bytes * 8}bit burst {self.burst_bytes} limit {self.queue_bytes}\n"
            f"qdisc replace dev {interface} parent 1:1 handle 10: {self.queue}\n"
        )


def shape_of(spec: RunSpec) -> Shape:
    """The shape of a switch's port to a host."""
    carrier = EPORT if spec.time == "virtual" else VETH
    return Shape(
        spec.link_mbps, spec.queue, spec.mtu, spec.marks, carrier, delay_ms=spec.delay_ms or 0.0,
        phantom=spec.phantom_queue, pacer=spec.pacer,
    )  # fmt: skip


def as_kernel_can(shape: Shape) -> Shape:
    """The same on what this kernel has: veth where there are no eports."""
    # A kernel that the user compiled of an older source (HEDERA_KERNEL_SOURCE) has no eports, but a tbf that stores and
    # forwards, whatever bucket it is told.
    if shape.carrier == VETH or netlink.has_kind(EPORT):
        return shape
    return replace(shape, carrier=VETH, bucket_s=0.0)


def lay_cables(carrier: str, cables: Sequence[Sequence[tuple[str, int]]], mtu: int) -> None:
    """Make cables. Each is told by its two ends, an interface's name and its namespace. RunFailed where the kernel
    refuses."""
    try:
        send(None, [netlink.make_pair(carrier, ends, mtu) for ends in cables])
    except OSError as error:
        raise RunFailed(f"cables ({carrier}) cannot be laid: {error.strerror}") from None


def shape_ports(shapes: Mapping[str, Shape], interfaces: Iterable[str], namespace: int) -> None:
    """Give interfaces of a namespace their rates, queues, delays and pacers. RunFailed when the kernel refuses."""
    messages, by_tc = [], ""
    for interface in interfaces:
        shape = shapes[interface]
        if shape.carrier == EPORT:
            messages.append(netlink.shape(index_of(interface, namespace), shape.eport(interface)))
            if settings := shape.pacer_settings:
                messages.append(netlink.add_pacer(index_of(interface, namespace), settings))
        # RED's table of probabilities is computed by tc, so ports that mark are told by it.
        elif shape.marks or shape.delay_us:
            by_tc += shape.commands(interface)
        else:
            index = index_of(interface, namespace)
            messages += limit(index, shape.rate_bytes, shape.burst_bytes, shape.queue_bytes)
    if by_tc:
        run_program(["tc", "-batch", "-"], namespace=namespace, stdin_text=by_tc)
    try:
        send(namespace, messages)
    except OSError as error:
        raise RunFailed(f"ports cannot be limited: {error}") from None


def find_wrong_veths(shapes: Mapping[str, Shape], interfaces: Sequence[str], qdiscs: Sequence[Qdisc]) -> list[str]:
    """The interfaces that do not have their shape, with what they have."""
    roots = {qdisc.port: qdisc for qdisc in qdiscs if not qdisc.parent}
    buckets = roots | {qdisc.port: qdisc for qdisc in qdiscs if qdisc.parent == "2:1"}
    queues = {(qdisc.port, qdisc.kind): qdisc for qdisc in qdiscs if qdisc.parent == "1:1"}
    wrong = []
    for interface in interfaces:
        shape = shapes[interface]
        bucket, queue = buckets.get(interface), queues.get((interface, shape.queue.split()[0]))
        if bucket is None or bucket.kind != "tbf":
            wrong.append(f"{interface} (has {bucket.kind if bucket else 'nothing'}, no limit)")
        elif bucket.rate != shape.rate_bytes:
            wrong.append(f"{interface} (limited to {bucket.rate * 8e-6:g} Mb/s)")
        elif queue is None or queue.limit != shape.queue_bytes:
            wrong.append(f"{interface} (its queue is not {shape.queue_bytes} bytes)")
        elif queue.ecn != shape.marks:
            wrong.append(f"{interface} (its queue does not mark)")
        elif (delay_us := round(roots[interface].delay_ns / 1e3)) != shape.delay_us:
            wrong.append(f"{interface} (delays by {delay_us * 1e-3:g} ms)")
    return wrong


def find_wrong_eports(shapes: Mapping[str, Shape], interfaces: Sequence[str], ports: Sequence[Eport]) -> list[str]:
    """The interfaces that are not eports of their shape, each with what the kernel has in its place."""
    # What a port counts is no part of what it was told.
    settings = {
        port.name: port._replace(queued=0, drops=0, marked=0, phantom_marked=0, waited=0, sent=0) for port in ports
    }
    return [
        f"{interface} ({settings.get(interface, 'is no eport')})"
        for interface in interfaces
        if settings.get(interface) != shapes[interface].eport(interface)
    ]


def find_not_paced(shapes: Mapping[str, Shape], interfaces: Sequence[str], pacers: Sequence[Paced]) -> list[str]:
    """The interfaces that do not have the pacer of their shape, or have one that they should not, with what is told."""
    settings = {pacer.port: pacer.settings for pacer in pacers}
    return [
        f"{interface} ({settings.get(interface, 'has no pacer')})"
        for interface in interfaces
        if settings.get(interface) != shapes[interface].pacer_settings
    ]


def verify_shapes(shapes: Mapping[str, Shape], interfaces: Sequence[str], namespace: int) -> None:
    """Compare the ports of a namespace with their shapes. RunFailed names those that differ."""
    by_carrier = {
        carrier: [interface for interface in interfaces if shapes[interface].carrier == carrier]
        for carrier in (VETH, EPORT)
    }
    with contextlib.closing(Netlink(namespace)) as kernel:
        wrong = find_wrong_veths(shapes, by_carrier[VETH], kernel.qdiscs()) if by_carrier[VETH] else []
        if by_carrier[EPORT]:
            wrong += find_wrong_eports(shapes, by_carrier[EPORT], kernel.eports())
            wrong += find_not_paced(shapes, by_carrier[EPORT], kernel.pacers())
    if wrong:
        raise RunFailed(f"not limited as they should be: {', '.join(wrong[:5])}")


class PortCounts(NamedTuple):
    """What a port's queue counts: bytes that wait, packets it has dropped, bytes that have left it."""

    queued: int
    drops: int
    sent: int


def count_ports(kernel: Netlink, carrier: str) -> dict[str, PortCounts]:
    """What the queue of each port of a namespace counts, by port."""
    if carrier == EPORT:
        return {port.name: PortCounts(port.queued, port.drops, port.sent) for port in kernel.eports()}
    qdiscs = kernel.qdiscs()
    roots = {qdisc.port: qdisc for qdisc in qdiscs if not qdisc.parent}
    queues = [qdisc for qdisc in qdiscs if qdisc.parent == "1:1"]
    return {qdisc.port: PortCounts(qdisc.queued, roots[qdisc.port].drops, qdisc.sent) for qdisc in queues}


def count_dropped_in_queue(carrier: str, interfaces: Sequence[str], namespace: int) -> dict[str, int]:
    """Packets each interface's queue has dropped since it was shaped."""
    with contextlib.closing(Netlink(namespace)) as kernel:
        ports = count_ports(kernel, carrier)
    return {interface: ports[interface].drops if interface in ports else 0 for interface in interfaces}


def count_dropped_elsewhere(interfaces: Sequence[str], namespace: int) -> dict[str, int]:
    """Packets that the kernel has dropped at each interface, outside its queue. Interfaces that dropped none are not
    named."""
    wanted = set(interfaces)
    with contextlib.closing(Netlink(namespace)) as kernel:
        return {link.name: link.dropped for link in kernel.links() if link.name in wanted and link.dropped}


def count_marked_and_paced(interfaces: Sequence[str], namespace: int) -> dict[str, int]:
    """Packets that phantom queues have marked, that pacers have held, and that have passed these."""
    with contextlib.closing(Netlink(namespace)) as kernel:
        ports = [port for port in kernel.eports() if port.name in interfaces]
        pacers = [pacer for pacer in kernel.pacers() if pacer.port in interfaces]
    return {
        "marked_by_phantom_queues": sum(port.phantom_marked for port in ports),
        "paced_packets": sum(pacer.paced for pacer in pacers),
        "not_paced_packets": sum(pacer.passed for pacer in pacers),
    }


def require_shape(shape: Shape) -> None:
    """Check that the kernel has what a shape needs. UnfitMachine when it has no queue that marks, cannot delay packets,
    or has no HULL. With eports it has all of it."""
    if shape.carrier == EPORT:
        return
    if shape.phantom or shape.pacer:
        raise UnfitMachine("--phantom and --pacer take our guests' kernel of Linux 7.2 or later")
    for wanted, requirement, qdisc in (
        (shape.marks, "DCTCP needs queues that mark (RED, the kernel's sch_red)", replace(shape, marks=True).queue),
        (shape.delay_us, "--delay needs the kernel's sch_netem", f"netem delay {shape.delay_us}us"),
    ):
        try:
            if wanted:
                run_program(["unshare", "--net", *f"tc qdisc add dev lo root {qdisc}".split()])
        except RunFailed as error:
            raise UnfitMachine(f"{requirement}: {error}") from None
