"""What `tc -j qdisc show` reports, against what was asked for. The reports are from iproute2 6.1."""

import pytest

from harness.errors import UnfitMachine
from harness.network.shaping import Shape, class_rates, of_other_size, parsed, unlimited

SHAPE = Shape(10)


def report(*entries):
    return list(entries)


def bucket(dev, rate=1_250_000, kind="tbf"):
    return {
        "kind": kind,
        "handle": "1:",
        "dev": dev,
        "root": True,
        "options": {"rate": rate, "burst": 3027, "lat": 57578},
    }


def queue(dev, limit=75_000):
    return {"kind": "bfifo", "handle": "10:", "dev": dev, "parent": "1:1", "options": {"limit": limit}}


def test_a_limited_port_passes():
    assert unlimited(SHAPE, ["a"], report(bucket("a"), queue("a"))) == []


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([], "a (has nothing, no limit)"),
        ([{"kind": "noqueue", "dev": "a", "root": True, "options": {}}], "a (has noqueue, no limit)"),
        ([bucket("a", rate=12_500_000), queue("a")], "a (limited to 100 Mb/s)"),
        ([bucket("a")], "a (its queue is not 75000 bytes)"),
        ([bucket("a"), queue("a", limit=1_000_000)], "a (its queue is not 75000 bytes)"),
        ([bucket("b"), queue("b")], "a (has nothing, no limit)"),
    ],
)
def test_a_port_that_is_not_limited_is_named(entries, said):
    assert unlimited(SHAPE, ["a"], report(*entries)) == [said]


class TestBunches:
    SHAPE = Shape(12.345, bunches=True)
    ROOT = bucket("a", kind="htb") | {"options": {"r2q": 10, "default": "0x1"}}
    SAID = "class htb 1:1 root leaf 10: prio 0 rate 12345Kbit ceil 12345Kbit burst 11572b cburst 11572b \n"

    def test_credit_debt_and_the_last_packets_of_a_host_together_are_the_bucket(self):
        assert self.SHAPE.burst_bytes == Shape(12.345).burst_bytes == 23_147
        assert self.SHAPE.segments_at_once == 2
        assert "rate 12345000bit burst 10059 cburst 10059" in self.SHAPE.commands("eth0")
        assert "parent 1:1 handle 10: bfifo limit 75000" in self.SHAPE.commands("eth0")

    def test_slow_ports_send_a_packet_at_a_time(self):
        slow = Shape(1, mtu=9000, bunches=True)
        assert slow.segments_at_once == 1
        assert slow.burst_bytes == 3 * 9014
        assert "burst 9014 cburst 9014" in slow.commands("eth0")

    def test_a_limited_port_passes(self):
        rates = class_rates(["a"], self.SAID)
        assert rates == {"a": 12_345_000 // 8}
        assert unlimited(self.SHAPE, ["a"], report(self.ROOT, queue("a")), rates) == []

    @pytest.mark.parametrize(
        ("said", "wrong"),
        [
            ("", "a (has htb, no limit)"),
            (SAID + SAID, "a (has htb, no limit)"),
            (SAID.replace("12345Kbit", "1Gbit"), "a (limited to 1000 Mb/s)"),
        ],
    )
    def test_another_rate_or_none_is_named(self, said, wrong):
        reported = report(self.ROOT, queue("a"))
        assert unlimited(self.SHAPE, ["a"], reported, class_rates(["a"], said)) == [wrong]

    def test_the_other_limiter_is_not_taken_for_it(self):
        tbf = report(bucket("a"), queue("a"))
        assert unlimited(Shape(10, bunches=True), ["a"], tbf) == ["a (has tbf, no limit)"]
        htb = report(self.ROOT, queue("a"))
        assert unlimited(SHAPE, ["a"], htb, {"a": 1_250_000}) == ["a (has htb, no limit)"]


def test_a_queue_has_to_mark_where_it_should():
    def red(ecn):
        options = {"limit": 75_000, "min": 30_000, "max": 31_500, "ecn": ecn}
        return {"kind": "red", "handle": "10:", "dev": "a", "parent": "1:1", "options": options}

    marks = Shape(10, marks=True)
    assert unlimited(marks, ["a"], report(bucket("a"), red(True))) == []
    assert unlimited(marks, ["a"], report(bucket("a"), red(False))) == ["a (its queue does not mark)"]
    assert unlimited(marks, ["a"], report(bucket("a"), queue("a"))) == ["a (its queue is not 75000 bytes)"]
    assert unlimited(SHAPE, ["a"], report(bucket("a"), red(True))) == ["a (its queue is not 75000 bytes)"]


def test_marks_begin_at_20_packets_or_half_a_queue():
    assert "limit 75000 min 30000 max 31500" in Shape(10, marks=True).queue
    assert "limit 15000 min 7500 max 9000" in Shape(10, 10, marks=True).queue
    assert "min 180000 max 189000 avpkt 9000" in Shape(100, mtu=9000, marks=True).queue


def test_a_port_that_takes_other_packets_is_named():
    links = [{"ifname": "lo", "mtu": 65536}, {"ifname": "a", "mtu": 9000}, {"ifname": "b", "mtu": 1500}]
    assert of_other_size(Shape(10, mtu=9000), ["a"], links) == []
    assert of_other_size(Shape(10, mtu=9000), ["a", "b", "c"], links) == ["b (1500)", "c (missing)"]


def test_a_tc_too_old_to_ask_is_said():
    with pytest.raises(UnfitMachine, match="iproute2 is too old"):
        parsed("qdisc tbf 1: root rate 10Mbit")


def test_mb_are_10_to_the_6_bits_and_the_queue_is_50_full_packets():
    commands = Shape(10).commands("eth0")
    assert "rate 10000000bit" in commands
    assert "bfifo limit 75000" in commands


def test_queues_stay_in_packets_and_buckets_in_time_whatever_a_packet_is():
    small, large = Shape(100, mtu=1500), Shape(100, mtu=9000)
    assert (small.queue_bytes, large.queue_bytes) == (75_000, 450_000)
    assert large.burst_bytes == 187_500  # 15 ms; more than the queue of the small packets
    assert small.burst_bytes == 75_000
    assert Shape(1, mtu=9000).burst_bytes == 2 * 9014
