import pytest

from controllers.driver import FlowStat
from controllers.measurements import ACK_BYTES, IDLE_RATE, Measurements
from controllers.packet import FiveTuple

NIC = 10e6
TCP_FLOW = FiveTuple(6, "10.0.0.2", "10.1.0.2", 20000, 5001)
UDP_FLOW = FiveTuple(17, "10.0.0.2", "10.1.0.2", 20000, 5001)


def stat(packets, size, age, key=1, flow=TCP_FLOW):
    return FlowStat(key, flow, 1, packets, packets * size, age)


def test_the_rate_is_of_the_last_interval_not_of_a_lifetime():
    m = Measurements(NIC)
    m.update("e", [stat(1000, 1250, 1.0)])
    assert m.rate("e", 1) == pytest.approx(1.0)
    m.update("e", [stat(1500, 1250, 2.0)])
    assert m.rate("e", 1) == pytest.approx(0.5)
    assert m.rate("other", 1) == m.rate("e", 2) == 0.0


def test_small_tcp_packets_are_acknowledgements():
    for size, carries in ((66, False), (94, False), (ACK_BYTES - 1, False), (ACK_BYTES, True), (1514, True)):
        m = Measurements(NIC)
        m.update("e", [stat(10_000, size, 1.0)])
        assert (m.rate("e", 1) > 0) is carries, size


def test_small_packets_of_other_protocols_are_data():
    m = Measurements(NIC)
    m.update("e", [stat(10_000, 66, 1.0, flow=UDP_FLOW)])
    assert m.rate("e", 1) > 0


def test_a_connection_that_turns_round_is_noticed():
    """First long the requests of a client, then megabytes the same way: the average of all is still small."""
    m = Measurements(NIC)
    m.update("e", [stat(10_000, 66, 1.0)])
    assert m.rate("e", 1) == 0
    m.update("e", [FlowStat(1, TCP_FLOW, 1, 10_100, 660_000 + 100 * 1514, 2.0)])
    assert m.rate("e", 1) == pytest.approx(100 * 1514 * 8 / NIC)


def test_a_stalled_flow_stays_what_it_was_until_it_moves():
    m = Measurements(NIC)
    m.update("e", [stat(1000, 1250, 1.0)])
    m.update("e", [stat(1000, 1250, 1.0)])  # the same counters, read twice
    assert m.rate("e", 1) == pytest.approx(1.0)
    m.update("e", [stat(1000, 1250, 3.0)])
    assert m.rate("e", 1) == 0


def test_acknowledgements_stay_what_they_are_when_nothing_is_counted():
    m = Measurements(NIC)
    for _ in range(2):
        m.update("e", [stat(10_000, 66, 1.0)])
        assert m.rate("e", 1) == 0


def test_a_ping_is_idle():
    m = Measurements(NIC)
    m.update("e", [stat(10, 98, 10.0, flow=FiveTuple(1, "10.0.0.2", "10.1.0.2", 8, 0))])
    assert 0 < 98 * 8 / NIC < IDLE_RATE
    assert m.rate("e", 1) == 0


def test_flows_that_are_gone_are_forgotten():
    m = Measurements(NIC)
    m.update("e", [stat(1000, 1250, 1.0)])
    m.update("e", [])
    assert m.rate("e", 1) == 0


def test_an_entry_made_anew_starts_again():
    m = Measurements(NIC)
    m.update("e", [stat(1000, 1250, 1.0)])
    m.update("e", [stat(500, 1250, 0.5)])
    assert m.rate("e", 1) == pytest.approx(1.0)


def test_a_flow_that_has_just_begun_has_no_rate_yet():
    m = Measurements(NIC)
    m.update("e", [stat(10, 1250, 0.0)])
    assert m.rate("e", 1) == 0
