"""What a simulation found, and how it is told."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs, to_builtins

from hedera.maxmin import compute_alone_rates
from simulator.aimd import AimdEngine
from simulator.config import Config
from topos.arrays import Float64, Int32
from traffic.flows import LASTING, make_flows
from traffic.graph import FlowGraph

if TYPE_CHECKING:
    from record.run import Collective, Completion, Failure, Phase

_SLACK = 1000  # ticks of congestion avoidance beyond the longest flow, whose mean says how it would go on
_MAX_TICKS = 1_000_000


@dataclass(frozen=True)
class RoundLog:
    """One scheduling round: when, how many large flows it saw and moved, and how long it computed."""

    t: float
    large: int
    changed: int
    compute_s: float = field(compare=False)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What a simulation found.

    ``total_mbps``: the sum of receive rates in every tick, float64 (ticks,). Per flow, shape (flows,): ``src``,
    ``dst``, ``core`` (its last path), ``mbps`` (mean over the measuring window), ``sent_bytes``, ``start_s``,
    ``end_s`` (nan when it did not happen), ``began_s`` (the tick in which it started), ``size_bytes`` (inf for one that
    lasts). ``rounds``: the scheduler's.
    ``graph``: that of the collective, whose flows are the first. ``failures`` and ``phases``: what broke, and what
    was left of the bandwidth, if anything broke.
    """

    config: Config
    total_mbps: Float64
    src: Int32
    dst: Int32
    core: Int32
    mbps: Float64
    sent_bytes: Float64
    start_s: Float64
    end_s: Float64
    began_s: Float64
    size_bytes: Float64
    rounds: tuple[RoundLog, ...]
    graph: FlowGraph | None = None
    failures: tuple[Failure, ...] = ()
    phases: tuple[Phase, ...] = ()

    @property
    def capacity_mbps(self) -> float:
        return self.config.capacity_mbps

    @cached_property
    def bound_mbps(self) -> float | None:
        """`record.spec.Experiment.bound_mbps` of flows that last; None for others."""
        lasts = np.isinf(self.size_bytes).all() and not self.start_s.any()
        return self.config.bound_mbps(self.src, self.dst) if lasts else None

    @property
    def bisection_mbps(self) -> float:
        """The sum of receive rates, averaged over the middle two thirds of the run."""
        begin, end = self.config.window_ticks
        return float(self.total_mbps[begin:end].mean())

    @property
    def completion_s(self) -> Float64:
        """Completion times of the flows that ended, seconds, in the order of the flows."""
        times = self.end_s - self.start_s
        return times[np.isfinite(times) & (self.size_bytes > 0)]

    def completion(self) -> list[Completion]:
        """Completion times and slowdowns by size class, of the flows that began in the measuring window.

        Time counts from the tick in which a flow starts. A flow that the end of the run has cut off counts with what
        it would have taken had it gone on at what it has alone. Classes are by the size at 1 Gb/s.
        """
        from record.completion_times import summarise_by_class

        config = self.config
        begin, end = config.window_s
        sized = np.isfinite(self.size_bytes) & (self.size_bytes > 0)  # 0: it only computes
        counted = np.flatnonzero(sized & (self.start_s >= begin) & (self.start_s < end))
        size, left = self.size_bytes[counted], (self.size_bytes - self.sent_bytes)[counted]
        ended = np.isfinite(self.end_s[counted])
        ends = self.src[counted], self.dst[counted], self.core[counted]
        alone_mbps = compute_alone_rates(config.network(), *ends, config.link_mbps, sprayed=config.chosen.sprays)
        earliest_end_s = config.seconds + left * 8e-6 / alone_mbps
        seconds = np.where(ended, self.end_s[counted], earliest_end_s) - self.began_s[counted]
        return summarise_by_class(size / config.size_scale, seconds, compute_alone_s(config, size, alone_mbps), ended)

    def collective(self) -> Collective | None:
        if self.graph is None:
            return None
        from record.completion_times import summarise_collective

        return summarise_collective(self.graph, self.start_s, self.end_s, self.config.link_mbps)

    @property
    def mbps_per_second(self) -> list[float]:
        """`total_mbps`, averaged over each whole second."""
        ticks = max(1, round(1 / self.config.tick_s))
        whole = self.total_mbps.size // ticks * ticks
        mbps: list[float] = self.total_mbps[:whole].reshape(-1, ticks).mean(axis=1).round(3).tolist()
        return mbps

    def __repr__(self) -> str:
        received = f"{self.bisection_mbps:,.1f} of {self.capacity_mbps:,.0f} Mb/s"
        scheme, traffic = (name.rpartition("/")[2] for name in (self.config.scheme, self.config.traffic))
        return f"<{scheme} on {traffic}: {received}, {self.src.size:,} flows>"

    def _repr_html_(self) -> str:
        """For a notebook: the sentence of `repr`, and the rates over time."""
        from record import notebook

        seconds = self.mbps_per_second
        ends = [float(second) for second in range(1, len(seconds) + 1)]
        facts = {"simulation": repr(self)[1:-1], "rounds": len(self.rounds)}
        return notebook.make_table([facts]) + notebook.draw_rates(
            ends, seconds, self.capacity_mbps, self.config.window_s
        )

    def to_frame(self) -> Any:
        """A pandas frame, a row for each flow, with the columns of ``flows`` in `as_json`; times in seconds."""
        from pandas import DataFrame

        return DataFrame(self.as_json()["flows"])

    def as_json(self) -> dict[str, Any]:
        """The result as plain values: what `hedera simulate --json` prints."""
        config = self.config
        flows: list[dict[str, Any]] = [
            {"src": s, "dst": d, "mbps": round(m, 3), "core": c}
            for s, d, m, c in zip(
                self.src.tolist(), self.dst.tolist(), self.mbps.tolist(), self.core.tolist(), strict=True
            )
        ]
        if np.isfinite(self.end_s).any():
            for flow, start, end, sent in zip(flows, self.start_s, self.end_s, self.sent_bytes, strict=True):
                flow |= {"start_s": _round_seconds(start), "end_s": _round_seconds(end), "sent_bytes": round(sent)}
        collective, settings = self.collective(), asdict(config)
        return {
            "scheme": config.scheme,
            "traffic": config.traffic,
            "bisection_mbps": round(self.bisection_mbps, 3),
            "capacity_mbps": self.capacity_mbps,
            **({} if self.bound_mbps is None else {"bound_mbps": round(self.bound_mbps, 3)}),
            "verdict": "ok",
            "reasons": [],
            "engine": config.engine,
            "seed": config.seed,
            "config": {name: value for name, value in settings.items() if value is not None},
            "window_s": [tick * config.tick_s for tick in config.window_ticks],
            "total_mbps_per_second": self.mbps_per_second,
            "completed": int(self.completion_s.size),
            "mean_completion_s": float(self.completion_s.mean()) if self.completion_s.size else None,
            "completion": [structs.asdict(row) for row in self.completion()],
            **({} if collective is None else {"collective": structs.asdict(collective)}),
            "rounds": [asdict(row) for row in self.rounds],
            "flows": flows,
            **(to_builtins({"failures": self.failures, "phases": self.phases}) if config.fail else {}),
        }


def _round_seconds(t: float) -> float | None:
    return round(float(t), 6) if np.isfinite(t) else None


def compute_alone_s(config: Config, size_bytes: Float64, mbps: Float64) -> Float64:
    """The completion time of flows of these sizes, each alone, from the tick in which it starts: float64 (flows,).

    ``mbps`` (flows,): what each has alone on its path, however long that is.
    """
    if config.engine == "maxmin":
        return size_bytes * 8e-6 / mbps
    time = np.empty(size_bytes.size)
    for rate in np.unique(mbps):
        time[mbps == rate] = _compute_alone_s(config, size_bytes[mbps == rate], float(rate))
    return time


def _compute_alone_s(config: Config, size_bytes: Float64, mbps: float) -> Float64:
    longest = float(size_bytes.max()) * 8e-6 / (mbps / 2) / config.tick_s
    ticks = int(min(longest, _MAX_TICKS)) + _SLACK
    nobody = np.zeros(1, dtype=np.int32)
    endless = make_flows(nobody, nobody + 1, np.zeros(1), np.full(1, LASTING))
    path, shares = np.zeros((1, 1), dtype=np.int32), np.array([mbps / config.link_mbps])
    rates: dict[str, Any] = {"link_mbps": config.link_mbps, "increase_mbps": config.first_mbps}
    engine = AimdEngine(endless, path, shares, tick_s=config.tick_s, seed=0, **rates)
    sent = np.concatenate([[0.0], np.cumsum(engine.advance(ticks)) * 1e6 / 8 * config.tick_s])
    time = np.interp(size_bytes, sent, np.arange(ticks + 1) * config.tick_s)
    beyond = np.maximum(0.0, size_bytes - sent[-1])
    pace = (sent[-1] - sent[ticks // 2]) / ((ticks - ticks // 2) * config.tick_s)
    return time + beyond / pace
