"""What the kernel reports of ports, against what was asked for."""

import pytest

from harness.network.netlink import EPORT, Paced, Pacer, Qdisc
from harness.network.shaping import Shape, find_not_paced, find_wrong_veths, require_shape
from record.errors import UnfitMachine
from record.spec import Phantom

SHAPE = Shape(10)


def bucket(port, rate=1_250_000, kind="tbf"):
    return Qdisc(port, kind, "", 0, 0, 0, rate)


def queue(port, limit=75_000, kind="bfifo", ecn=False):
    return Qdisc(port, kind, "1:1", 0, 0, 0, limit=limit, ecn=ecn)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([bucket("a"), queue("a")], []),
        ([], ["a (has nothing, no limit)"]),
        ([bucket("a", kind="noqueue")], ["a (has noqueue, no limit)"]),
        ([bucket("a", rate=12_500_000), queue("a")], ["a (limited to 100 Mb/s)"]),
        ([bucket("a")], ["a (its queue is not 75000 bytes)"]),
        ([bucket("a"), queue("a", limit=1_000_000)], ["a (its queue is not 75000 bytes)"]),
        ([bucket("b"), queue("b")], ["a (has nothing, no limit)"]),
    ],
)
def test_a_port_that_is_not_limited_is_named(entries, said):
    assert find_wrong_veths({"a": SHAPE}, ["a"], entries) == said


def test_a_queue_has_to_mark_where_it_should():
    marks, red = Shape(10, marks=True), queue("a", kind="red", ecn=True)
    assert find_wrong_veths({"a": marks}, ["a"], [bucket("a"), red]) == []
    assert find_wrong_veths({"a": marks}, ["a"], [bucket("a"), red._replace(ecn=False)]) == [
        "a (its queue does not mark)"
    ]
    assert find_wrong_veths({"a": marks}, ["a"], [bucket("a"), queue("a")]) == ["a (its queue is not 75000 bytes)"]
    assert find_wrong_veths({"a": SHAPE}, ["a"], [bucket("a"), red]) == ["a (its queue is not 75000 bytes)"]


def test_a_port_has_to_delay_where_it_should():
    late, bare = Shape(10, delay_ms=2.0), bucket("a")
    netem, below = bare._replace(kind="netem", rate=0, delay_ns=2_000_000), bare._replace(parent="2:1")
    assert find_wrong_veths({"a": late}, ["a"], [netem, below, queue("a")]) == []
    assert find_wrong_veths({"a": late}, ["a"], [netem._replace(delay_ns=10**6), below, queue("a")]) == [
        "a (delays by 1 ms)"
    ]
    assert find_wrong_veths({"a": late}, ["a"], [bare, queue("a")]) == ["a (delays by 0 ms)"]
    assert find_wrong_veths({"a": SHAPE}, ["a"], [netem, below, queue("a")]) == ["a (delays by 2 ms)"]
    assert (late.at_host().delay_us, late.to_host().delay_us) == (0, 4_000), "both ways at the switch"


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (Shape(10), "rate 10000000bit"),
        (Shape(10), "bfifo limit 75000"),
        (Shape(10, delay_ms=0.5), "root handle 2: netem delay 500us limit 100000\nqdisc replace dev eth0 parent 2:1"),
        (Shape(10, marks=True), "limit 75000 min 30000 max 31500"),
        (Shape(10, 10, marks=True), "limit 15000 min 7500 max 9000"),
        (Shape(100, mtu=9000, marks=True), "min 180000 max 189000 avpkt 9000"),
    ],
)
def test_mb_are_10_to_the_6_bits_queues_full_packets_and_marks_begin_at_20_or_half_a_queue(shape, words):
    assert words in shape.commands("eth0")


def test_queues_stay_in_packets_and_buckets_in_time_whatever_a_packet_is():
    small, large = Shape(100, mtu=1500), Shape(100, mtu=9000)
    assert (small.queue_bytes, large.queue_bytes) == (75_000, 450_000)
    assert large.burst_bytes == 187_500  # 15 ms; more than the queue of the small packets
    assert small.burst_bytes == 75_000
    assert Shape(1, mtu=9000).burst_bytes == 2 * 9014


def test_a_host_has_room_for_1000_packets_in_its_own_port_and_sends_no_more_at_once():
    for shape in (Shape(10), Shape(1000), Shape(100, mtu=9000)):
        host = shape.at_host()
        assert (host.mbps, host.queue_bytes, host.burst_bytes) == (shape.mbps, 1000 * shape.mtu, shape.burst_bytes)
    assert Shape(10, 2000).at_host().queue_packets == 2000


HULL = Shape(1000, carrier=EPORT, phantom=Phantom(0.95, 1000), pacer="front")


def test_phantom_queues_are_at_switches_and_pacers_at_hosts():
    host, switch, down = HULL.at_host(), HULL.between_switches(), HULL.to_host()
    assert (host.eport("a")[6:8], host.pacer_settings is not None) == ((0, 0), True)
    for port in (switch, down):
        assert port.eport("a")[6:8] == (118_750_000, 1000)
        assert port.pacer_settings is None


def test_a_pacer_is_the_report_s_at_1_gbps_and_its_times_are_those_of_packets():
    fast, slow = HULL.at_host().pacer_settings, Shape(10, carrier=EPORT, pacer="behind").at_host().pacer_settings
    assert fast == Pacer(1000, 3000, 2**29, 16 << 16, 32_000, 2**29, 10_000_000, 12_500_000)
    assert (slow.period_ns, slow.lasts_ns, slow.rate, slow.link) == (3_200_000, 10**9, 125_000, 1_250_000)
    assert slow.beta / 2**16 == pytest.approx(0.16, rel=1e-3)
    assert Shape(100, mtu=9000, carrier=EPORT, pacer="front").pacer_settings.depth == 9014, "a packet has room in it"


def test_a_port_has_to_have_the_pacer_of_its_shape_and_no_other():
    told = HULL.pacer_settings
    pacer = Paced("a", told, *[0] * 11)
    assert find_not_paced({"a": HULL}, ["a"], [pacer]) == []
    assert find_not_paced({"a": HULL}, ["a"], []) == ["a (has no pacer)"]
    for shape, found in ((Shape(1000, carrier=EPORT), told), (HULL, told._replace(depth=3001))):
        (wrong,) = find_not_paced({"a": shape}, ["a"], [pacer._replace(settings=found)])
        assert wrong.startswith(f"a (Pacer(limit=50, depth={found.depth}")


def test_an_older_kernel_has_neither():
    for shape in (Shape(10, phantom=Phantom(0.95, 2500)), Shape(10, pacer="front")):
        with pytest.raises(UnfitMachine, match="--phantom and --pacer take our guests' kernel of Linux"):
            require_shape(shape)
