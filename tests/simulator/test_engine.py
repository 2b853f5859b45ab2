"""What both engines share: the rest of a run in which nothing moves, and the ticks in which flows start."""

import numpy as np
import pytest

from simulator.aimd import AimdEngine
from simulator.config import Config
from simulator.driver import Simulation
from simulator.fair import MaxMinEngine
from traffic.flows import columns


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
def test_a_flow_has_started_in_the_tick_in_which_it_arrived(kind):
    src = np.zeros(3, dtype=np.int32)
    work = columns(src, src + 1, np.array([0.0, 0.25, 9.0]), np.full(3, 100_000.0))
    seed = {"seed": 1} if kind is AimdEngine else {}
    engine = kind(work, np.zeros((3, 1), dtype=np.int32), 1, tick_s=0.001, **seed)
    engine.advance(2000)
    assert engine.started_s.tolist() == pytest.approx([0.0, 0.25, np.nan], nan_ok=True)
