"""From a switch's flow counters to rates: the difference of two polls, not the average since the flow began."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topos.arrays import Float64


class _Sample(NamedTuple):
    total: int
    duration_s: float
    rate: float


class RateMeter:
    """Rates of flows as fractions of the NIC rate, from cumulative byte counters.

    Durations are those that the switch reports with the counters: the wall clock of the poll would also
    include how long the answer travelled. Raises ValueError when ``nic_bps`` (bits/s) is not positive.
    """

    def __init__(self, nic_bps: float) -> None:
        if not nic_bps > 0:
            raise ValueError(f"a NIC rate must be positive, not {nic_bps} bit/s")
        self._nic_bytes_per_s = nic_bps / 8
        self._last: dict[int, _Sample] = {}

    def update(self, key: ArrayLike, total: ArrayLike, duration_s: ArrayLike) -> Float64:
        """Rates since the last poll: float64 (flows,), never negative.

        ``key``, ``total`` (bytes so far) and ``duration_s`` (the entry's age) have shape (flows,). A flow's
        first rate is over its whole age. So is the rate after its counters went back, because its entry is then
        a new one. A counter read twice at the same age repeats the last rate. Flows that are absent are forgotten.
        """
        now: dict[int, _Sample] = {}
        keys = np.asarray(key).tolist()
        for flow, bytes_now, age in zip(keys, np.asarray(total).tolist(), np.asarray(duration_s).tolist(), strict=True):
            now[flow] = _Sample(bytes_now, age, self._rate(self._last.get(flow), bytes_now, age))
        self._last = now
        return np.array([now[flow].rate for flow in keys], dtype=np.float64)

    def _rate(self, last: _Sample | None, total: int, duration_s: float) -> float:
        if last is None or total < last.total or duration_s < last.duration_s:
            last = _Sample(0, 0.0, 0.0)
        elapsed = duration_s - last.duration_s
        if elapsed <= 0:
            return last.rate
        return (total - last.total) / elapsed / self._nic_bytes_per_s
