from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.aimd import AimdEngine
from simulator.config import Config
from simulator.driver import Simulation
from simulator.maxmin import MaxMinEngine
from topos.links import num_links, path_links
from topos.network import NonBlocking
from traffic.flows import LASTING, NOBODY, WAITS, Flows, make_flows
from traffic.patterns import published

CYCLE = [500.0, 620.0, 740.0, 860.0, 980.0, 1000.0]


def workload(flows, *, start=0.0, size=LASTING, after=NOBODY):
    """Flows between hosts that do not matter, as the engine sees links only."""
    return Flows(
        *np.array([[0], [1], [0]], dtype=np.int32).repeat(flows, axis=1),
        np.broadcast_to(np.asarray(start, dtype=float), (flows,)).copy(),
        np.broadcast_to(np.asarray(size, dtype=float), (flows,)).copy(),
        np.broadcast_to(np.asarray(after), (flows,)).copy(),
    )


def engine(links, num, *, seed=1, tick_s=0.001, **work):
    links = np.asarray(links, dtype=np.int32)
    return AimdEngine(workload(len(links), **work), links, np.ones(num), tick_s=tick_s, seed=seed)


def spare(engine):
    """What every link has left, Mb/s."""
    return engine._spare[:-1] * engine._mbps


def on_nonblocking(matrix, seed=1):
    topo = NonBlocking(matrix.num_hosts)
    links = path_links(topo, matrix.src, matrix.dst, 0)
    return AimdEngine(matrix.flows(), links, np.ones(num_links(topo)), tick_s=0.001, seed=seed)


def test_a_lone_flow_doubles_from_120_and_then_cycles():
    rates = engine([[0, 1]], 2).advance(600)
    assert rates[:6].tolist() == [120.0, 240.0, 480.0, 960.0, 1000.0, 500.0]
    assert rates[5:593].reshape(-1, 6).tolist() == [CYCLE] * 98


def test_growth_takes_what_the_path_can_spare_and_no_more():
    # Flow 0 is alone; flow 1 joins its second link when flow 0 has 960.
    pair = engine([[0, 1, 2], [3, 1, 4]], 5, start=[0.0, 0.003])
    pair.advance(4)
    assert pair.rates_mbps.tolist() == [960.0, 40.0]
    assert spare(pair).tolist() == [40.0, 0.0, 40.0, 960.0, 960.0]


def test_freed_bandwidth_counts_at_once_for_the_flows_after_it():
    """Flow 0 fills the link, flow 1 starts at 0: when flow 0 halves first, flow 1 grows in the same tick, by 120."""
    after = set()
    for seed in range(20):
        pair = engine([[0], [0]], 1, start=[0.0, 0.004], seed=seed)
        pair.advance(5)
        assert pair.rates_mbps.tolist() == [1000.0, 0.0]
        pair.advance(1)
        first = tuple(pair.rates_mbps)
        pair.advance(1)
        after.add((first, pair.rates_mbps[1]))
    assert after == {((500.0, 120.0), 240.0), ((500.0, 0.0), 120.0)}


def test_taken_bandwidth_counts_at_once_for_the_flows_after_it():
    """Two flows at 480 leave 40: the first takes them, and the second finds its path full."""
    pair = engine([[0], [0]], 1)
    pair.advance(3)
    assert pair.rates_mbps.tolist() == [480.0, 480.0]
    pair.advance(1)
    assert sorted(pair.rates_mbps) == [240.0, 520.0]


def test_order_within_a_tick_varies_and_is_fair_over_time():
    pair = engine([[0], [0]], 1)
    pair.advance(60_000)
    sent = pair.sent_bytes()
    assert sent[0] / sent[1] == pytest.approx(1.0, abs=0.05)


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_no_link_ever_carries_more_than_its_rate_and_books_balance(data):
    num = data.draw(st.integers(1, 8))
    path = st.lists(st.integers(0, num - 1), min_size=1, max_size=6, unique=True)
    paths = data.draw(st.lists(path, min_size=1, max_size=30))
    links = np.full((len(paths), 6), -1)
    for flow, one in enumerate(paths):
        links[flow, : len(one)] = one
    start = data.draw(st.lists(st.integers(0, 20), min_size=len(paths), max_size=len(paths)))
    size = data.draw(st.lists(st.floats(1e3, 1e8), min_size=len(paths), max_size=len(paths)))
    net = engine(links, num, start=np.array(start) / 1000, size=size, seed=data.draw(st.integers(0, 999)))
    for _ in range(60):
        if net.active.size and data.draw(st.booleans()):
            moved = net.active[: data.draw(st.integers(1, net.active.size))]
            links[moved] = np.where(links[moved] < 0, -1, (links[moved] + 1) % num)
            net.reroute(moved, links[moved])
        total = net.advance(1)
        rates = net.rates_mbps
        load = np.zeros(num)
        for tier in range(6):
            np.add.at(load, links[links[:, tier] >= 0, tier], rates[links[:, tier] >= 0])
        assert (load <= 1000 + 1e-6).all()
        np.testing.assert_allclose(1000 - spare(net), load, atol=1e-6)
        assert rates.sum() <= total[0] + 1e-6  # flows that ended in the tick are in the total only
    assert (net.sent_bytes() <= np.array(size) + 1e6).all()


def test_a_seed_fixes_everything_in_whatever_portions_ticks_come():
    whole, parts, other = (on_nonblocking(published("rand0"), seed) for seed in (7, 7, 8))
    expected = whole.advance(1000)
    assert (expected == np.concatenate([parts.advance(n) for n in (1, 9, 90, 900)])).all()
    assert (expected != other.advance(1000)).any()


@pytest.mark.parametrize("name", ["rand0", "rand2", "randx2", "randx4", "hotspot"])
def test_seeds_change_the_non_blocking_result_by_less_than_a_fifth_of_a_percent(name):
    means = [on_nonblocking(published(name), seed).advance(60_000)[10_000:50_000].mean() for seed in range(5)]
    assert np.ptp(means) / np.mean(means) < 0.002


def test_a_flow_is_purged_when_it_has_sent_its_bytes():
    # 120 + 240 + 480 = 840 Mb/s for 1 ms each: 840,000 bits in three ticks; the last bit of 600,000 goes out
    # half-way through the third.
    flow = engine([[0]], 1, size=75_000.0)
    assert flow.advance(4).tolist() == [120.0, 240.0, 480.0, 0.0]
    assert flow.idle
    assert flow.began_s.tolist() == [0.0]
    assert flow.finished_s.tolist() == [0.0025]
    assert flow.sent_bytes().tolist() == [75_000.0]
    assert spare(flow).tolist() == [1000.0]
    assert flow.rates_mbps.tolist() == [0.0]


def test_a_successor_starts_in_the_tick_after_the_purge():
    chain = engine([[0], [0]], 1, start=[0.0, WAITS], size=[75_000.0, LASTING], after=[NOBODY, 0])
    assert chain.advance(5).tolist() == [120.0, 240.0, 480.0, 120.0, 240.0]
    assert chain.began_s.tolist() == [0.0, 0.003]
    assert not chain.idle


def test_a_moved_flow_keeps_its_rate_where_there_is_room():
    flow = engine([[0, 1]], 4)
    flow.advance(3)
    flow.reroute(np.array([0], dtype=np.int32), np.array([[2, 3]], dtype=np.int32))
    assert flow.rates_mbps.tolist() == [480.0]
    assert spare(flow).tolist() == [1000.0, 1000.0, 520.0, 520.0]
    assert flow.advance(1).tolist() == [960.0], "still in slow start"


def test_moved_flows_leave_all_old_links_first_and_take_no_more_than_new_ones_can_spare():
    pair = engine([[0], [1]], 2)
    pair.advance(4)
    pair.reroute(np.array([0, 1], dtype=np.int32), np.array([[1], [0]], dtype=np.int32))
    assert pair.rates_mbps.tolist() == [960.0, 960.0]
    pair.reroute(np.array([1], dtype=np.int32), np.array([[1]], dtype=np.int32))
    assert pair.rates_mbps.tolist() == [960.0, 40.0]
    assert spare(pair).tolist() == [1000.0, 0.0]


# --- both engines


@pytest.mark.parametrize("kind", ["aimd", "maxmin"])
def test_a_run_goes_on_to_its_end_when_nothing_moves(kind, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("src_host,dst_host,size_bytes\n0,4,100000\n")
    simulation = Simulation(Config("ecmp", f"file:{path}", seconds=2.0, engine=kind))
    found = simulation.run()
    assert found.total_mbps.size == simulation.engine.tick == 2000
    assert simulation.engine.idle
    assert found.total_mbps[0] > 0
    assert (found.total_mbps[10:] == 0).all()
    assert found.sent_bytes.tolist() == pytest.approx([100_000.0], rel=1e-6)


@pytest.mark.parametrize("kind", [AimdEngine, MaxMinEngine])
def test_a_flow_has_begun_when_it_arrived(kind):
    src = np.zeros(3, dtype=np.int32)
    work = make_flows(src, src + 1, np.array([0.25, 0.0, 9.0]), np.full(3, 100_000.0))
    seed = {"seed": 1} if kind is AimdEngine else {}
    engine = kind(work, np.zeros((3, 1), dtype=np.int32), np.ones(1), tick_s=0.001, **seed)
    engine.advance(2000)
    assert engine.began_s.tolist() == pytest.approx([0.25, 0.0, np.nan], nan_ok=True)


def test_max_min_rates_know_no_ticks():
    """Ten flows of 0.04 ms each after one another; and the sums of rates are the means of their ticks."""
    sizes = np.full(10, 5000.0)
    chain = make_flows(np.zeros(10, np.int32), np.ones(10, np.int32), np.array([0.0002] + [WAITS] * 9), sizes)
    chain = replace(chain, after=np.arange(-1, 9))
    assert NOBODY == -1
    for tick_s in (1e-5, 1e-4, 1e-3):
        engine = MaxMinEngine(chain, np.zeros((10, 1), dtype=np.int32), np.ones(1), tick_s=tick_s)
        total = engine.advance(round(0.001 / tick_s))
        assert engine.finished_s == pytest.approx(0.0002 + 0.00004 * np.arange(1, 11), rel=1e-9)
        assert engine.began_s == pytest.approx(0.0002 + 0.00004 * np.arange(10), rel=1e-9)
        assert total.mean() == pytest.approx(400.0, rel=1e-9)
        assert total.max() <= 1000 + 1e-6
