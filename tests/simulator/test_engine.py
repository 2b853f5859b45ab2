"""What engines share: time in seconds, and nothing to do when all is over."""

import numpy as np
import pytest

from simulator.aimd import AimdEngine
from simulator.fair import MaxMinEngine
from traffic.flows import columns


def one_flow(kind):
    """100,000 bytes, 800,000 bits, over one link of 1 Gb/s."""
    work = columns(np.int32([0]), np.int32([1]), np.zeros(1), np.array([100_000.0]))
    seed = {"seed": 1} if kind is AimdEngine else {}
    return kind(work, np.array([[0]], dtype=np.int32), 1, tick_s=0.001, **seed)


@pytest.mark.parametrize("kind", [AimdEngine, MaxMinEngine])
def test_time_is_in_seconds_and_goes_on_when_nothing_moves(kind):
    engine, same = one_flow(kind), one_flow(kind)
    found = np.concatenate([engine.advance_to(t) for t in (0.001, 0.001, 0.004, 2.0)])
    assert found.size == engine.tick == 2000
    assert engine.idle
    assert (found[:10] == same.advance(10)).all()
    assert (found[10:] == 0).all()
    assert engine.sent_bytes.tolist() == pytest.approx([100_000.0], rel=1e-6)


@pytest.mark.parametrize("kind", [AimdEngine, MaxMinEngine])
def test_a_flow_has_started_in_the_tick_in_which_it_arrived(kind):
    src = np.zeros(3, dtype=np.int32)
    work = columns(src, src + 1, np.array([0.0, 0.25, 9.0]), np.full(3, 100_000.0))
    seed = {"seed": 1} if kind is AimdEngine else {}
    engine = kind(work, np.zeros((3, 1), dtype=np.int32), 1, tick_s=0.001, **seed)
    engine.advance_to(2.0)
    assert engine.started_s.tolist() == pytest.approx([0.0, 0.25, np.nan], nan_ok=True)
