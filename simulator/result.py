"""What a simulation found, and how it is told."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.config import Config
from simulator.failures import Failure, Phase


@dataclass(frozen=True)
class RoundLog:
    """One scheduling round: when, how many large flows it saw and moved, and how long it computed."""

    t: float
    large: int
    changed: int
    compute_s: float = field(compare=False)


@dataclass(frozen=True, eq=False)
class Result:
    """What a simulation found.

    ``total_mbps``: the sum of receive rates in every tick, float64 (ticks,). Per flow, shape (flows,): ``src``,
    ``dst``, ``core`` (its last path), ``mbps`` (mean over the measuring window), ``sent_bytes``, ``start_s``,
    ``end_s`` (nan when it did not happen). ``rounds``: the scheduler's. ``failures`` and ``phases``: what broke, and
    what was left of the bandwidth, if anything broke.
    """

    config: Config
    total_mbps: NDArray[np.float64]
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    core: NDArray[np.int32]
    mbps: NDArray[np.float64]
    sent_bytes: NDArray[np.float64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    rounds: tuple[RoundLog, ...]
    failures: tuple[Failure, ...] = ()
    phases: tuple[Phase, ...] = ()

    @property
    def capacity_mbps(self) -> float:
        """All hosts' links together."""
        return self.config.capacity_mbps

    @property
    def bisection_mbps(self) -> float:
        """The sum of receive rates, averaged over the middle two thirds of the run."""
        begin, end = self.config.window_ticks
        return float(self.total_mbps[begin:end].mean())

    @property
    def completion_s(self) -> NDArray[np.float64]:
        """Completion times of the flows that ended, seconds, in the order of the flows."""
        times = self.end_s - self.start_s
        return times[np.isfinite(times)]

    def as_json(self) -> dict[str, Any]:
        """The result as plain values: what `hedera simulate --json` prints."""
        config, per_second = self.config, max(1, round(1 / self.config.tick_s))
        whole = self.total_mbps.size // per_second * per_second
        totals = self.total_mbps[:whole].reshape(-1, per_second).mean(axis=1)
        flows: list[dict[str, Any]] = [
            {"src": s, "dst": d, "mbps": round(m, 3), "core": c}
            for s, d, m, c in zip(
                self.src.tolist(), self.dst.tolist(), self.mbps.tolist(), self.core.tolist(), strict=True
            )
        ]
        if np.isfinite(self.end_s).any():
            for flow, start, end, sent in zip(flows, self.start_s, self.end_s, self.sent_bytes, strict=True):
                flow |= {"start_s": _seconds(start), "end_s": _seconds(end), "sent_bytes": round(sent)}
        return {
            "scheme": config.scheme,
            "traffic": config.traffic,
            "bisection_mbps": round(self.bisection_mbps, 3),
            "capacity_mbps": self.capacity_mbps,
            "verdict": "ok",
            "reasons": [],
            "engine": config.engine,
            "seed": config.seed,
            "config": asdict(config),
            "window_s": [tick * config.tick_s for tick in config.window_ticks],
            "total_mbps_per_second": totals.round(3).tolist(),
            "completed": int(self.completion_s.size),
            "mean_completion_s": float(self.completion_s.mean()) if self.completion_s.size else None,
            "rounds": [asdict(one) for one in self.rounds],
            "flows": flows,
            **({"failures": [asdict(f) for f in self.failures]} if config.fail else {}),
            **({"phases": [asdict(p) for p in self.phases]} if config.fail else {}),
        }


def _seconds(t: float) -> float | None:
    return round(float(t), 6) if np.isfinite(t) else None
