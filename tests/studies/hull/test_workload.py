"""Traffic: at the load that was asked for, the same for every scheme, and as the documents describe it."""

import numpy as np
import pytest

from studies.hull.workload import FAN_OUTS, LARGE, QUERY, SMALL, dynamic, fan_out


@pytest.mark.parametrize("load", [0.2, 0.6])
def test_dynamic_traffic_has_the_load_it_was_asked_for(load):
    traffic = dynamic(load, 4000, seed=1)
    large = traffic.reply_bytes[traffic.kind == LARGE]
    assert large.sum() * 8 / 4000 == pytest.approx(load * 1e9, rel=0.05)
    small = traffic.reply_bytes[traffic.kind == SMALL]
    assert small.size / large.size == pytest.approx(5, rel=0.05)
    assert set(small) == {900}
    assert set(large) == {10_000_000}


def test_gaps_are_exponential_and_servers_take_turns():
    traffic = dynamic(0.4, 2000, seed=2)
    large = traffic.kind == LARGE
    gaps = np.diff(traffic.start_ns[large]) / 1e9
    assert gaps.mean() == pytest.approx(1 / 5, rel=0.05)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)
    servers = [traffic.connections[n].server for n in traffic.connection[large][:18]]
    assert servers == [*range(1, 10)] * 2


def test_search_is_as_the_report_describes_it():
    traffic = fan_out("search", 0.2, 100, seed=1)
    query = traffic.kind == QUERY
    assert query.sum() / 10 / 100 == pytest.approx(0.30 / 2.53e-3, rel=0.03)  # 30 % of a server's time
    assert traffic.service_ns[query].mean() == pytest.approx(2.53e6, rel=0.02)  # 180 * 0.7 * 20,000 + 10,000 ns
    assert traffic.service_ns[query].min() >= 10_000
    sent = traffic.reply_bytes[query].sum() * 8 / 100 / 1e6
    assert sent == pytest.approx(26.5, rel=0.05)  # Mb/s, section III.B
    first = traffic.query == 0
    assert first.sum() == 10
    assert np.ptp(traffic.start_ns[first]) == 0
    assert (traffic.kind != SMALL).all()
    opening = traffic.start_ns < traffic.start_ns[query].min()
    assert set(traffic.connection[opening]) == set(range(10, 20))  # one large file on each, before all else
    assert traffic.start_ns[query].min() >= 2e9


def test_low_latency_search_is_as_the_report_describes_it():
    traffic = fan_out("low-latency", 0.0, 20, seed=1)
    assert set(traffic.service_ns) == {100_000}
    assert traffic.reply_bytes.sum() * 8 / 20 / 1e6 == pytest.approx(4, rel=0.05)  # Mb/s
    assert FAN_OUTS["low-latency"].queries_per_s * 100 == pytest.approx(50_000)


def test_starts_are_sorted_and_a_seed_fixes_them():
    one, same, other = (fan_out("search", 0.4, 5, seed) for seed in (1, 1, 2))
    assert (np.diff(one.start_ns) >= 0).all()
    assert (one.start_ns == same.start_ns).all()
    assert (one.service_ns == same.service_ns).all()
    assert one.start_ns.shape != other.start_ns.shape or (one.start_ns != other.start_ns).any()
