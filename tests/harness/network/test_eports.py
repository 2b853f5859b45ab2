"""Ports of our guests' kernel, held against arithmetic, and against veth with tbf, which they are to equal."""

import contextlib
import fcntl
import itertools
import socket
import struct
import time
from pathlib import Path

import pytest

from harness.network import netlink
from harness.network.netlink import EPORT, VETH, Netlink, call_inside
from harness.network.processes import run_program
from harness.network.shaping import Shape, count_ports, lay_cables, shape_ports, verify_shapes
from record.errors import RunFailed
from record.spec import Phantom
from topos.wire import ETHERNET_HEADER

pytestmark = [pytest.mark.root, pytest.mark.alone]

SO_TIMESTAMPNS, SO_SNDBUFFORCE, SO_RCVBUFFORCE, SIOCOUTQ = 35, 32, 33, 0x5411
PAYLOAD, FRAME = 1472, 1500 + ETHERNET_HEADER
STEP_NS = 256
"""A guest's clock moves by so much."""
ECT0, CE = 2, 3


@pytest.fixture
def hosts():
    """Three namespaces: a host, one in the middle, and a host."""
    held = [netlink.hold_namespace() for _ in range(3)]
    yield held
    for pid in held:
        netlink.release_namespace(pid)


def joined(shape, a, b, names=("left", "right"), net="10.9.9"):
    """A cable of two ports between namespaces; its ends have addresses .1 and .2."""
    try:
        lay_cables(shape.carrier, [tuple(zip(names, (a, b), strict=True))], shape.mtu)
    except RunFailed as reason:
        if shape.carrier == EPORT and "not supported" in str(reason):
            pytest.skip("this kernel has no eports")
        raise
    for name, pid, ip in zip(names, (a, b), (f"{net}.1", f"{net}.2"), strict=True):
        run_program(
            ["ip", "-batch", "-"], namespace=pid, stdin_text=f"addr add {ip}/24 dev {name}\nlink set {name} up\n"
        )
        netlink.switch_offload(name, pid, tx=True, sg=True, tso=False, gso=False)
    for name, pid in zip(names, (a, b), strict=True):
        shape_ports({name: shape}, [name], pid)
        verify_shapes({name: shape}, [name], pid)


class Ends:
    """A socket that sends and one that receives."""

    def __init__(self, a, b, to="10.9.9.2", tos=0):
        self.receiver = call_inside(b, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.receiver.bind(("", 9))
        for option, value in ((SO_TIMESTAMPNS, 1), (SO_RCVBUFFORCE, 1 << 22)):
            self.receiver.setsockopt(socket.SOL_SOCKET, option, value)
        self.receiver.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        self.receiver.settimeout(1.0)
        self.sender = call_inside(a, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 22)
        self.sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        self.sender.connect((to, 9))
        self.sender.send(b"")  # its receiver's address has to be asked for first
        self.heard()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.receiver.close()
        self.sender.close()

    def heard(self):
        """When the next packet arrived, in ns, and whether it is marked; None: there is none."""
        try:
            _, parts, *_ = self.receiver.recvmsg(2000, 200)
        except TimeoutError:
            return None
        found = {(level, kind): data for level, kind, data in parts}
        seconds, ns = struct.unpack("qq", found[socket.SOL_SOCKET, SO_TIMESTAMPNS])
        return seconds * 10**9 + ns, found[socket.IPPROTO_IP, socket.IP_TOS][0] & CE == CE

    def burst(self, packets):
        """Send full packets at once; when it began, and what was heard."""
        began = time.time_ns()
        for _ in range(packets):
            with contextlib.suppress(OSError):  # ENOBUFS: dropped at its own port
                self.sender.send(bytes(PAYLOAD))
        heard = []
        while (one := self.heard()) is not None:
            heard.append(one)
        return began, heard


def frame_ns(mbps):
    return FRAME * 8e3 / mbps


@pytest.mark.parametrize("mbps", [10, 100, 1000, 10_000])
def test_a_full_link_s_gaps_are_a_frame_s_time_and_what_has_no_room_is_dropped(hosts, mbps):
    a, _, b = hosts
    joined(Shape(mbps, carrier=EPORT), a, b)
    with Ends(a, b) as ends:
        began, heard = ends.burst(100)
    assert len(heard) == 75_000 // FRAME
    for n, (at, _) in enumerate(heard, start=1):
        assert at - heard[0][0] == pytest.approx((n - 1) * frame_ns(mbps), abs=2 * STEP_NS)
    assert heard[0][0] - began == pytest.approx(frame_ns(mbps), abs=10 * STEP_NS)
    with contextlib.closing(Netlink(a)) as kernel:
        (port,) = kernel.eports()
        assert (port.drops, port.queued) == (100 - len(heard), 0)
        waited = FRAME * sum(n * frame_ns(mbps) for n in range(len(heard)))  # the n-th for those before it
        assert port.waited == pytest.approx(waited, rel=0.01)
        assert port.sent >= len(heard) * FRAME


def test_a_packet_crosses_an_idle_path_in_a_frame_s_time_a_link_and_the_delays_of_its_cables(hosts):
    a, middle, b = hosts
    joined(Shape(10, carrier=EPORT), a, middle)
    joined(Shape(1000, carrier=EPORT, delay_ms=0.3), middle, b, ("near", "far"), "10.9.8")
    call_inside(middle, lambda: Path("/proc/sys/net/ipv4/ip_forward").write_text("1"))
    run_program(["ip", "route", "add", "10.9.8.0/24", "via", "10.9.9.2"], namespace=a)
    run_program(["ip", "route", "add", "10.9.9.0/24", "via", "10.9.8.1"], namespace=b)
    with Ends(a, b, "10.9.8.2") as ends:
        began, ((at, _),) = ends.burst(1)
    assert at - began == pytest.approx(frame_ns(10) + frame_ns(1000) + 3e5, abs=10 * STEP_NS)


@pytest.mark.parametrize("marks", [False, True])
@pytest.mark.parametrize("mbps", [10, 1000])
def test_drops_marks_and_gaps_are_those_of_veth_and_tbf(hosts, mbps, marks):
    seen = []
    for carrier in (VETH, EPORT):
        a, b = netlink.hold_namespace(), netlink.hold_namespace()
        try:
            joined(Shape(mbps, marks=marks, carrier=carrier, ramp_packets=0.0, bucket_s=0.0), a, b)
            with Ends(a, b, tos=ECT0) as ends:
                for packets in (70, 25):
                    _, heard = ends.burst(packets)
                    with contextlib.closing(Netlink(a)) as kernel:
                        drops = count_ports(kernel, carrier)["left"].drops
                    gaps = [later - at for (at, _), (later, _) in itertools.pairwise(heard)]
                    seen.append((carrier, [mark for _, mark in heard], drops, gaps))
        finally:
            netlink.release_namespace(a)
            netlink.release_namespace(b)
    for theirs, ours in zip(seen[:2], seen[2:], strict=True):
        assert ours[1:3] == theirs[1:3]
        assert ours[3] == pytest.approx(theirs[3], abs=4 * STEP_NS)
        assert any(ours[1]) == marks


# A phantom queue of half a link of 10 Mb/s that marks above 2,500 bytes, by hand: packets behind one another leave it
# at 1514, 1514 - 757 + 1514 = 2271 and 2271 - 757 + 1514 = 3028, so that the third is the first to be marked. It then
# drains by 0.625 bytes a microsecond; a fourth packet leaves it above 2,500 again within 3,267 us.
HALF = Phantom(0.5, 2500)


@pytest.mark.parametrize(("later_us", "marked"), [(2900, True), (3600, False)])
def test_a_phantom_queue_marks_what_leaves_it_above_its_threshold(hosts, later_us, marked):
    a, _, b = hosts
    joined(Shape(10, carrier=EPORT, phantom=HALF), a, b)
    with Ends(a, b, tos=ECT0) as ends:
        time.sleep(0.01)
        began = time.monotonic_ns()
        for _ in range(3):
            ends.sender.send(bytes(PAYLOAD))
        time.sleep((2 * frame_ns(10) + 1e3 * later_us) * 1e-9 - (time.monotonic_ns() - began) * 1e-9)
        ends.sender.send(bytes(PAYLOAD))
        heard = [ends.heard() for _ in range(4)]
    assert [mark for _, mark in heard] == [False, False, True, marked]
    assert heard[3][0] - heard[2][0] == pytest.approx(1e3 * later_us, abs=150_000)  # a sleep's slack
    with contextlib.closing(Netlink(a)) as kernel:
        (port,) = kernel.eports()
    assert (port.phantom_marked, port.marked, port.drops) == (1 + marked, 0, 0)


def test_a_phantom_queue_lets_packets_alone_that_no_mark_is_for(hosts):
    a, _, b = hosts
    joined(Shape(10, carrier=EPORT, phantom=HALF), a, b)
    with Ends(a, b) as ends:
        _, heard = ends.burst(10)
    assert [mark for _, mark in heard] == [False] * 10
    with contextlib.closing(Netlink(a)) as kernel:
        assert kernel.eports()[0].phantom_marked == 0


def test_a_phantom_queue_that_never_marks_is_as_none(hosts):
    a, middle, b = hosts
    seen = []
    for other, phantom in ((middle, None), (b, Phantom(1.0, 10**9))):
        joined(
            Shape(10, carrier=EPORT, marks=True, phantom=phantom), a, other, (f"to{other}", "in"), f"10.9.{other % 250}"
        )
        with Ends(a, other, f"10.9.{other % 250}.2", tos=ECT0) as ends:
            _, heard = ends.burst(70)
        seen.append([(at - heard[0][0], mark) for at, mark in heard])
    assert [mark for _, mark in seen[0]] == [mark for _, mark in seen[1]]
    assert [at for at, _ in seen[0]] == pytest.approx([at for at, _ in seen[1]], abs=2 * STEP_NS)
    assert {mark for _, mark in seen[0]} == {False, True}


def test_a_packet_is_its_socket_s_until_its_last_bit_has_left(hosts):
    a, _, b = hosts
    joined(Shape(10, carrier=EPORT), a, b)
    with Ends(a, b) as ends:

        def unsent():
            return struct.unpack("i", fcntl.ioctl(ends.sender, SIOCOUTQ, bytes(4)))[0]

        for _ in range(4):
            ends.sender.send(bytes(PAYLOAD))
        before = unsent()
        time.sleep(2.5 * frame_ns(10) * 1e-9)
        assert unsent() == before / 2
        time.sleep(2 * frame_ns(10) * 1e-9)
        assert unsent() == 0


def test_a_port_carries_nothing_before_it_has_a_shape_and_one_that_has_another_is_named(hosts):
    a, _, b = hosts
    joined(Shape(10, carrier=EPORT), a, b)
    lay_cables(EPORT, [(("near", a), ("far", b))], 1500)
    run_program(["ip", "-batch", "-"], namespace=a, stdin_text="addr add 10.9.7.1/24 dev near\nlink set near up\n")
    run_program(["ip", "link", "set", "far", "up"], namespace=b)
    with pytest.raises(RunFailed, match=r"near \(Eport\(name='near', rate=0"):
        verify_shapes({"near": Shape(10, carrier=EPORT)}, ["near"], a)
    with call_inside(a, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender:
        sender.sendto(b"", ("10.9.7.2", 9))
    time.sleep(0.1)
    with contextlib.closing(Netlink(a)) as kernel:
        dropped = {link.name: link.dropped for link in kernel.links()}
    assert dropped["near"] > 0
    assert dropped["left"] == 0
    for wrong in (Shape(100, carrier=EPORT), Shape(10, 8, carrier=EPORT), Shape(10, carrier=EPORT, marks=True)):
        with pytest.raises(RunFailed, match="not limited as they should be: left "):
            verify_shapes({"left": wrong}, ["left"], a)


def test_a_port_that_goes_down_loses_what_waits_and_keeps_its_shape(hosts):
    a, _, b = hosts
    shape = Shape(10, carrier=EPORT)
    joined(shape, a, b)
    with Ends(a, b) as ends:
        for _ in range(20):
            ends.sender.send(bytes(PAYLOAD))
        run_program(["ip", "link", "set", "left", "down"], namespace=a)
        time.sleep(0.1)
        run_program(["ip", "link", "set", "left", "up"], namespace=a)
        verify_shapes({"left": shape}, ["left"], a)
        before = 0
        while ends.heard() is not None:
            before += 1
        assert before < 20
        _, heard = ends.burst(3)
        assert len(heard) == 3
