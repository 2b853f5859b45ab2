"""How long a flow takes that has the network to itself: what completion times are measured by."""

from __future__ import annotations

import numpy as np

from simulator.aimd import AimdEngine
from simulator.config import Config
from topos.arrays import Float64
from traffic.flows import LASTING, columns

_SLACK = 1000  # ticks of congestion avoidance beyond the longest flow, whose mean says how it would go on
_MAX_TICKS = 1_000_000


def alone_s(config: Config, size_bytes: Float64) -> Float64:
    """The completion time of flows of these sizes, each alone, from the tick in which it starts: float64 (flows,).

    No path is longer than another in either engine, so the size says it all.
    """
    if config.engine == "maxmin":
        return size_bytes * 8e-6 / config.link_mbps
    longest = float(size_bytes.max(initial=0.0)) * 8e-6 / (config.link_mbps / 2) / config.tick_s
    ticks = int(min(longest, _MAX_TICKS)) + _SLACK
    nobody = np.zeros(1, dtype=np.int32)
    endless = columns(nobody, nobody + 1, np.zeros(1), np.full(1, LASTING))
    engine = AimdEngine(
        endless,
        np.zeros((1, 1), dtype=np.int32),
        1,
        tick_s=config.tick_s,
        seed=0,
        link_mbps=config.link_mbps,
        increase_mbps=config.first_mbps,
    )
    sent = np.concatenate([[0.0], np.cumsum(engine.advance(ticks)) * 1e6 / 8 * config.tick_s])
    time = np.interp(size_bytes, sent, np.arange(ticks + 1) * config.tick_s)
    beyond = np.maximum(0.0, size_bytes - sent[-1])
    pace = (sent[-1] - sent[ticks // 2]) / ((ticks - ticks // 2) * config.tick_s)
    return time + beyond / pace
