"""Pacers of our guests' kernel, held against the law of their rate, and against arithmetic."""

import contextlib
import itertools
import socket
import struct
import time
from pathlib import Path

import pytest

from harness.network import netlink
from harness.network.netlink import EPORT, Netlink, Pacer, add_pacer, call_inside, index_of, send
from harness.network.shaping import Shape, verify_shapes
from record.errors import RunFailed
from record.spec import Phantom
from tests.harness.network.test_eports import FRAME, PAYLOAD, SO_TIMESTAMPNS, Ends, hosts, joined

__all__ = ["hosts"]
pytestmark = [pytest.mark.root, pytest.mark.alone]

PERIOD_S = 0.05
SLOW = Pacer(1000, 3000, 1 << 29, 2 << 16, round(PERIOD_S * 1e9), 2**32 - 1, 10**9, 1_000_000)
"""A new rate 20 times a second, so that a test can do something in between; every echo associates its flow, for 1 s."""


def paced(namespace):
    with contextlib.closing(Netlink(namespace)) as kernel:
        (counted,) = kernel.pacers()
    return counted


def after(namespace, updates):
    """What the pacer counts in the middle of the period after so many new rates."""
    while (counted := paced(namespace)).updates < updates:
        time.sleep(PERIOD_S / 10)
    assert counted.updates == updates
    return counted


def law(rate, counted, held, told=SLOW):
    """The equation of the report, section II.C."""
    return (1 - 0.125) * rate + 0.125 * counted / PERIOD_S + told.beta / 2**16 * held


UDP, TCP = socket.IPPROTO_UDP, socket.IPPROTO_TCP
ETH_P_ALL = 3


class Connected:
    """Ends of TCP whose every packet is marked on its way, so that each acknowledgement echoes it; and what arrives."""

    def __init__(self, a, b, told):
        marks_all = Shape(100, carrier=EPORT, phantom=Phantom(1.0, 1))
        joined(marks_all, a, b)
        for pid in (a, b):
            call_inside(pid, lambda: Path("/proc/sys/net/ipv4/tcp_ecn").write_text("1"))
        send(a, [add_pacer(index_of("left", a), told)])
        self.heard = call_inside(b, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)))
        self.heard.bind(("right", ETH_P_ALL))
        self.heard.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.server = call_inside(b, lambda: socket.create_server(("10.9.9.2", 9)))
        self.sender = call_inside(a, lambda: socket.create_connection(("10.9.9.2", 9)))
        self.receiver, _ = self.server.accept()
        self.beside = call_inside(a, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.beside.connect(("10.9.9.2", 9))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for each in (self.receiver, self.sender, self.server, self.heard, self.beside):
            each.close()

    def associate(self):
        """One packet, whose acknowledgement echoes its mark."""
        self.sender.send(b"1")
        time.sleep(0.01)

    def arrived(self, protocol):
        """When full packets arrived, in ns."""
        self.heard.setblocking(False)
        times = []
        with contextlib.suppress(BlockingIOError):
            while True:
                frame, parts, _, (*_, kind, _, _) = self.heard.recvmsg(2000, 100)
                if kind != socket.PACKET_OUTGOING and frame[23] == protocol and len(frame) == FRAME:
                    seconds, ns = struct.unpack("qq", parts[0][2])
                    times.append(seconds * 10**9 + ns)
        return times


HELD = SLOW._replace(depth=FRAME, rate=100_000, period_ns=10**9)
"""A bucket of one packet, which is full again in 15.14 ms, by a first rate that is there for a second."""


def test_an_echo_associates_its_flow_for_a_while(hosts):
    a, _, b = hosts
    with Connected(a, b, SLOW._replace(lasts_ns=20_000_000)) as ends:
        counted = paced(a)
        assert (counted.echoes, counted.begun, counted.paced) == (0, 0, 0)
        for n in (1, 2):
            ends.associate()
            counted = paced(a)
            assert (counted.echoes, counted.associations, counted.begun) == (n, n, 1)
        time.sleep(0.1)
        ends.associate()
        assert paced(a)[-3:] == (3, 3, 2)


def test_of_echoes_so_many_associate_as_are_to(hosts):
    a, _, b = hosts
    with Connected(a, b, SLOW._replace(associate=1 << 29)) as ends:
        for _ in range(400):
            ends.associate()
        assert paced(a).echoes == 400
        assert paced(a).associations == pytest.approx(50, abs=25)


def test_packets_of_an_associated_flow_leave_at_its_rate(hosts):
    a, _, b = hosts
    with Connected(a, b, HELD) as ends:
        ends.associate()
        ends.sender.send(bytes(4 * 1448))
        time.sleep(0.3)
        times = ends.arrived(TCP)
    gaps = [later - at for at, later in itertools.pairwise(times)]
    assert gaps == pytest.approx([FRAME / HELD.rate * 1e9] * 3, abs=2000)


def test_what_waits_makes_the_rate_higher(hosts):
    a, _, b = hosts
    with Connected(a, b, HELD._replace(rate=10_000)) as ends:
        ends.associate()
        ends.sender.send(bytes(7 * 1448))
        before = paced(a)
        while (counted := paced(a)).updates == 0:
            before = counted
            time.sleep(0.001)
    assert before.held > 2 * FRAME
    assert counted.rate == pytest.approx((1 - 0.125) * 10_000 + 0.125 * before.counted + 2 * before.held, abs=2)


@pytest.mark.parametrize("place", ["front", "behind"])
def test_a_packet_that_is_held_stops_others_only_behind_the_queue(hosts, place):
    a, _, b = hosts
    with Connected(a, b, HELD._replace(link=12_500_000 if place == "behind" else 0)) as ends:
        ends.associate()
        ends.sender.send(bytes(5 * 1448))
        ends.beside.send(bytes(PAYLOAD))
        began = time.time_ns()
        time.sleep(0.3)
        (beside,) = ends.arrived(UDP)
    waited = (beside - began) * 1e-9
    if place == "front":
        assert waited < 0.001
    else:
        assert waited > 0.9 * FRAME / HELD.rate


def test_its_parameters_are_read_back_and_what_is_otherwise_is_named(hosts):
    a, _, b = hosts
    shape = Shape(10, carrier=EPORT)
    joined(shape, a, b)
    told = Pacer(77, 3001, 1 << 28, 3 << 15, 123_456, 1 << 30, 7_654_321, 98_765, 1_250_000)
    send(a, [add_pacer(index_of("left", a), told)])
    assert paced(a).settings == told
    assert paced(a).port == "left"
    with pytest.raises(RunFailed, match=r"left \(Pacer\(limit=77"):
        verify_shapes({"left": shape}, ["left"], a)
    with pytest.raises(RunFailed, match=r"right \(has no pacer"):
        verify_shapes({"right": Shape(10, carrier=EPORT, pacer="front")}, ["right"], b)


def test_its_rate_follows_the_law_step_by_step(hosts):
    a, _, b = hosts
    joined(Shape(100, carrier=EPORT), a, b)
    with Ends(a, b) as ends:
        send(a, [add_pacer(index_of("left", a), SLOW)])
        rate, updates = float(SLOW.rate), 0
        for packets in (0, 3, 20, 0, 0, 7):
            counted = after(a, updates)
            assert counted.rate == pytest.approx(rate, abs=updates + 1)
            for _ in range(packets):
                ends.sender.send(bytes(PAYLOAD))
            assert paced(a)[4:8] == (SLOW.depth, 0, packets * FRAME, updates)
            rate, updates = law(rate, packets * FRAME, 0), updates + 1
        assert after(a, updates).rate == pytest.approx(rate, abs=updates + 1)
        assert paced(a).passed == 30


def test_a_long_silence_leaves_no_rate_and_a_full_bucket(hosts):
    a, _, b = hosts
    joined(Shape(100, carrier=EPORT), a, b)
    send(a, [add_pacer(index_of("left", a), SLOW._replace(period_ns=32_000))])
    time.sleep(1)
    counted = paced(a)
    assert (counted.rate, counted.tokens) == (0, SLOW.depth)
    assert counted.updates == pytest.approx(1 / 32e-6, rel=0.05)


@pytest.mark.parametrize("place", ["front", "behind"])
def test_packets_that_are_not_paced_leave_as_if_there_were_no_pacer(place):
    gaps = []
    for told in (None, SLOW._replace(link=12_500_000 if place == "behind" else 0)):
        one, other = netlink.hold_namespace(), netlink.hold_namespace()
        try:
            joined(Shape(100, carrier=EPORT), one, other)
            if told:
                send(one, [add_pacer(index_of("left", one), told)])
            with Ends(one, other) as ends:
                began, heard = ends.burst(40)
            gaps.append([at - began for at, _ in heard])
        finally:
            netlink.release_namespace(one)
            netlink.release_namespace(other)
    assert gaps[1] == pytest.approx(gaps[0], abs=3000)
