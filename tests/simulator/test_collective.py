"""Collectives in both engines, against arithmetic: 1 Gb/s carries 125 bytes in a microsecond."""

import json

import numpy as np
import pytest

from simulator.cli import simulate as command
from simulator.config import Config
from simulator.driver import Simulation, simulate

TICK = 0.0001


def run(traffic, scheme="nonblocking", engine="maxmin", seconds=2.0, **more):
    return simulate(Config(scheme, traffic, seconds=seconds, tick_s=TICK, engine=engine, **more))


@pytest.mark.parametrize(
    ("traffic", "steps", "step_s", "took_s"),
    [
        *((f"ring:{n},{n}000000", 2 * (n - 1), 0.008, 2 * (n - 1) * 0.008) for n in (2, 4, 16)),
        # what a host sends; the first and the last step have half of the buffer
        ("halving-doubling:2,16000000", 2, 0.064, 0.256 * 1 / 2),
        ("halving-doubling:8,16000000", 6, 0.064, 0.256 * 7 / 8),
        ("halving-doubling:16,16000000", 8, 0.064, 0.256 * 15 / 16),
        ("all-to-all:16,16000000", 1, 15 * 0.008, 15 * 0.008),
        # four batches over three hops forward and as many back, one behind the other
        ("pipeline:4,1000000", 12, 0.008, 12 * 0.008),
    ],
)
def test_a_collective_takes_as_long_as_arithmetic_says(traffic, steps, step_s, took_s):
    found = run(traffic).collective()
    assert found.ended == found.flows
    assert (found.steps, found.slowest_step_s) == (steps, pytest.approx(step_s, rel=1e-9))
    assert found.completion_s == pytest.approx(took_s, rel=1e-9)


def test_each_hop_of_a_pipeline_computes():
    assert run("pipeline:4,1000000", compute_s=0.02).collective().completion_s == pytest.approx(12 * 0.028, rel=1e-9)


@pytest.mark.parametrize("engine", ["maxmin", "aimd"])
def test_computing_takes_no_bandwidth_and_repeats_add_up(engine, monkeypatch):
    monkeypatch.setattr("simulator.config.INCREASE", 1.0)
    once = run("all-to-all:5,5000000", engine=engine)
    found = run("all-to-all:5,5000000", engine=engine, compute_s=0.05, repeats=3)
    if engine == "maxmin":
        assert once.collective().completion_s == pytest.approx(0.032, rel=1e-9)
        assert found.collective().completion_s == pytest.approx(3 * 0.082, rel=1e-9)
    else:
        assert found.collective().completion_s > 0.15 + 3 * 0.032
    assert found.collective().flows == 3 * once.collective().flows
    assert not found.total_mbps[: round(0.05 / TICK)].any(), "hosts compute before they send"
    assert found.total_mbps.max() <= 16_000 + 1e-6
    computes = found.graph.computes
    assert (found.end_s[computes] == found.start_s[computes]).all()


@pytest.mark.parametrize("engine", ["maxmin", "aimd"])
@pytest.mark.parametrize("traffic", ["ring:8,8000000", "halving-doubling:16,1600000", "pipeline:4,100000"])
def test_no_flow_starts_before_all_that_it_waits_for_has_ended(engine, traffic):
    found = run(traffic, "ecmp", engine, placement="random", compute_s=0.001, repeats=2)
    graph, tick = found.graph, 1e-9 + (TICK if engine == "aimd" else 0)
    assert found.collective().ended == found.collective().flows
    gap = found.start_s[graph.waiting] - found.end_s[graph.before] - graph.delay_s[graph.waiting]
    assert gap.min() >= -1e-9
    latest = np.full(len(graph), -np.inf)
    np.maximum.at(latest, graph.waiting, found.end_s[graph.before])
    waits = np.isfinite(latest)
    assert (found.start_s - latest - graph.delay_s)[waits].max() <= TICK + tick, "and no later than on the next tick"


@pytest.mark.parametrize("engine", ["maxmin", "aimd"])
def test_turns_do_not_wait_for_arrivals_beside_them(engine, tmp_path):
    mice = tmp_path / "mice.csv"
    mice.write_text("src_host,dst_host,start_s,size_bytes\n0,5,1.9,1000\n")
    found = run(f"all-to-all:2,1000 + shuffle:1000 + file:{mice}", engine=engine)
    assert found.end_s[:-1].max() < 1.0
    assert found.end_s[-1] == pytest.approx(1.9, abs=0.001)


def test_a_placement_stays_with_its_connection():
    config = Config("hedera-gff", "ring:16,1600000000", placement="random", seconds=9.0, engine="maxmin", seed=3)
    simulation = Simulation(config)
    found = simulation.run()
    assert [one.t for one in found.rounds] == [5.0]
    assert found.rounds[0].changed
    later = found.start_s > 5.0
    for src in range(16):
        moved_to = np.unique(found.core[(found.start_s <= 5.0) & ~(found.end_s <= 5.0) & (found.src == src)])
        if moved_to.size:
            assert set(found.core[later & (found.src == src)].tolist()) <= set(moved_to.tolist())
    assert (found.core != simulation.paths.hashed)[later].any()


def test_ticks_that_are_long_beside_steps_are_refused():
    """30 steps of 0.5 ms in ticks of 1 ms took 0.09 s, six times the bound; shorter ones move it by 4 %."""
    with pytest.raises(ValueError, match="--engine maxmin") as refused:
        Simulation(Config("ecmp", "ring:16,1000000", seconds=1.0))
    tick_s = float(str(refused.value).split()[-1])
    took = [
        simulate(Config("ecmp", "ring:16,1000000", seconds=0.2, tick_s=t, interval_s=0.1)).collective().completion_s
        for t in (tick_s, tick_s / 10)
    ]
    assert took[0] == pytest.approx(took[1], rel=0.1)
    for tick_s in (0.001, 0.00001):
        found = simulate(Config("nonblocking", "ring:16,1000000", seconds=1.0, tick_s=tick_s, engine="maxmin"))
        assert found.collective().completion_s == pytest.approx(0.015, rel=1e-9)


def test_the_command_tells_of_the_collective(capsys):
    options = "--scheme ecmp --traffic ring:16,16000000 --placement random --seconds 2 --engine maxmin"
    command(options.split(), standalone_mode=False)
    told = capsys.readouterr().out
    assert "480 flows in 30 steps, done after 0." in told
    assert "0.24 s are the least possible" in told
    assert "bisection" not in told
    command([*options.split(), "--json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)["collective"]
    assert found["completion_s"] >= 0.24
    assert found["steps"] == 30


@pytest.mark.parametrize("engine", ["maxmin", "aimd"])
def test_computing_is_no_flow_in_what_is_told_of_flows(engine):
    found = run("ring:16,1600000", engine=engine, seconds=0.3, compute_s=0.06, repeats=2)
    assert found.completion_s.size == found.collective().flows == 2 * 480
    begin, end = found.config.window_s
    sends = ~found.graph.computes & (found.start_s >= begin) & (found.start_s < end)
    assert found.completion()[0].flows == sends.sum() > 0


@pytest.mark.parametrize("engine", ["maxmin", "aimd"])
def test_a_scheduler_sees_connections_and_what_they_sent_since_it_last_looked(engine, tmp_path):
    """Host 0 sends to 4 and then to 8, again and again: at any moment one flow, in any period two connections."""
    graph = "num_ranks 9\nrank 0 {\n"
    for n in range(6):
        graph += f"s{n}: send 1250000b to {(4, 8)[n % 2]} tag {n}\n" + (f"s{n} requires s{n - 1}\n" if n else "")
    graph += "}\n" + "".join(
        f"rank {rank} {{\n" + "".join(f"recv 1250000b from 0 tag {n}\n" for n in range(first, 6, 2)) + "}\n"
        for rank, first in ((4, 0), (8, 1))
    )
    path = tmp_path / "turns.goal"
    path.write_text(graph)
    config = Config(
        "hedera-clos", f"goal:{path}", seconds=0.2, tick_s=TICK, engine=engine, interval_s=0.024,
    )  # fmt: skip
    simulation = Simulation(config)
    seen = []
    poll = simulation.counters.poll
    simulation.counters.poll = lambda *asked: seen.append(poll(*asked)) or seen[-1]
    simulation.run()
    assert [one.large for one in simulation.rounds][:2] == [2, 2]
    assert [one[1].tolist() for one in seen[:2]] == [[0, 1], [0, 1]], "by the same names"
    assert seen[1][0].tolist() != [0, 1], "each as a flow that has not ended"
    if engine == "maxmin":
        assert seen[1][0].tolist() == [4, 5]
        assert seen[0][2] * 8e-6 == pytest.approx([583.3, 714.3], rel=0.01), "14 of 24 ms, 10 of 14"
