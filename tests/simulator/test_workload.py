import numpy as np
import pytest

from simulator import workload
from simulator.config import Config
from simulator.workload import start_queue, waits
from studies.paper.figures import poisson
from traffic.flows import WAITS, Matrix
from traffic.patterns import draw


def test_turns_wait_for_each_other():
    sizes, turns = np.array([10, 20, 30, 40]), np.array([2, 0, 1, 0])
    matrix = Matrix(np.array([0, 0, 0, 1]), np.array([1, 2, 3, 0]), 4, size_bytes=sizes, turn=turns)
    work = matrix.flows()
    first, follower, missing, delay = waits(work, None, 0.001)
    assert [follower[first[n] : first[n + 1]].tolist() for n in range(4)] == [[], [2], [0], []]
    assert missing.tolist() == [1, 0, 1, 0]
    assert not delay.any()
    assert work.start_s.tolist() == [WAITS, 0.0, WAITS, 0.0]
    assert work.size_bytes.tolist() == [10.0, 20.0, 30.0, 40.0]


def test_poisson_arrivals_have_the_rate_the_sizes_and_the_gaps_asked_for():
    matrix = draw("randx:2", 16, seed=5)
    work = poisson(matrix, 50.0, 1000.0, 100.0, np.random.default_rng(1))
    assert len(work) == pytest.approx(16 * 50 * 100, rel=0.02)
    assert (np.diff(work.start_s) >= 0).all()
    assert work.start_s.min() >= 0
    assert work.start_s.max() < 100
    assert work.size_bytes.mean() == pytest.approx(1000.0, rel=0.02)
    assert work.size_bytes.std() == pytest.approx(1000.0, rel=0.03), "exponential: as wide as its mean"
    gaps = np.diff(work.start_s[work.src == 3])
    assert gaps.mean() == pytest.approx(1 / 50, rel=0.05)
    assert gaps.std() == pytest.approx(1 / 50, rel=0.06)
    pairs = set(zip(work.src.tolist(), work.dst.tolist(), strict=True))
    assert pairs == set(zip(matrix.src.tolist(), matrix.dst.tolist(), strict=True))
    per_pair = np.bincount(work.src * 16 + work.dst)
    assert per_pair[per_pair > 0] == pytest.approx(2500, rel=0.1), "receivers of a host share its arrivals"


def test_the_start_queue_rounds_up_to_ticks_and_leaves_room_for_those_that_wait():
    work = draw("shuffle:100", 4).flows()
    work.start_s[:] = WAITS
    work.start_s[[5, 1]] = [0.0101, 0.02]
    queue, due, known = start_queue(work, 0.01)
    assert known == 2
    assert queue[:2].tolist() == [5, 1]
    assert due[:2].tolist() == [2, 2]
    assert queue.size == due.size == len(work)


def test_more_flows_than_memory_are_refused_before_any_is_drawn(tmp_path, monkeypatch):
    config = Config("ecmp", "poisson:web-search,0.5", seconds=10.0)
    assert 5_000 < len(config.flows()[0]) < 7_000
    free = tmp_path / "meminfo"
    monkeypatch.setattr(workload, "_FREE", free)
    free.write_text("MemTotal:       16000 kB\nMemAvailable:    2000 kB\n")
    told = r"would be 5\.8\d+e\+03 flows in 10 s, which take some 0\.0 GB of memory; 0\.0 GB are free"
    with pytest.raises(ValueError, match=told):
        config.flows()
    free.unlink()
    assert len(config.flows()[0]) > 5_000, "a system that does not tell"
