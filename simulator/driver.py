"""One simulation from start to end: traffic, hashed paths, a rate engine, the scheduling loop around it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedera.placement import Placement
from hedera.scheduler import FlowTable, Scheduler
from hedera.schemes import Scheme, scheme
from hedera.simulated_annealing import SimulatedAnnealing
from simulator.aimd import AimdEngine
from simulator.config import Config
from simulator.failures import Breakage, Failure, Phase, phases_of
from simulator.fair import MaxMinEngine
from simulator.workload import Workload, poisson, static
from topos.fattree import FatTree
from topos.links import num_links, path_links
from topos.nonblocking import NonBlocking
from traffic.matrix import Matrix
from traffic.patterns import draw
from traffic.ports import SERVER_PORT, source_ports

_ARRIVALS = 3  # keeps these draws apart from those of traffic.patterns and traffic.ports for the same seed
_ANNEALING = 4


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

    ``capacity_mbps``: all hosts' links together. ``bisection_mbps``: the sum of receive rates, averaged
    over the middle two thirds of the run. ``total_mbps``: that sum in every tick, float64 (ticks,). Per
    flow, shape (flows,): ``src``, ``dst``, ``core`` (its last path), ``mbps`` (mean over the same window),
    ``sent_bits``, ``start_s``, ``end_s`` (nan when it did not happen). ``rounds``: the scheduler's.
    ``failures`` and ``phases``: what broke, and what was left of the bandwidth, if anything broke.
    """

    config: Config
    capacity_mbps: float
    bisection_mbps: float
    total_mbps: NDArray[np.float64]
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    core: NDArray[np.int32]
    mbps: NDArray[np.float64]
    sent_bits: NDArray[np.float64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    rounds: tuple[RoundLog, ...]
    failures: tuple[Failure, ...] = ()
    phases: tuple[Phase, ...] = ()

    @property
    def completion_s(self) -> NDArray[np.float64]:
        """Completion times of the flows that ended, seconds, in the order of the flows."""
        times = self.end_s - self.start_s
        return times[np.isfinite(times)]

    def as_json(self) -> dict[str, Any]:
        """The result as plain values: what `hedera simulate --json` prints."""
        config, per_second = self.config, max(1, round(1 / self.config.tick_s))
        whole = self.total_mbps.size // per_second * per_second
        flows: list[dict[str, Any]] = [
            {"src": s, "dst": d, "mbps": round(m, 3), "core": c}
            for s, d, m, c in zip(
                self.src.tolist(), self.dst.tolist(), self.mbps.tolist(), self.core.tolist(), strict=True
            )
        ]
        if np.isfinite(self.end_s).any():
            for flow, start, end, sent in zip(flows, self.start_s, self.end_s, self.sent_bits, strict=True):
                flow["start_s"], flow["end_s"] = _seconds(start), _seconds(end)
                flow["sent_bytes"] = round(sent / 8)
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
            "window_s": [tick * config.tick_s for tick in config.window],
            "total_mbps_per_second": self.total_mbps[:whole]
            .reshape(-1, per_second)
            .mean(axis=1)
            .round(3)
            .tolist(),
            "completed": int(self.completion_s.size),
            "mean_completion_s": float(self.completion_s.mean()) if self.completion_s.size else None,
            "rounds": [asdict(one) for one in self.rounds],
            "flows": flows,
            **({"failures": [asdict(f) for f in self.failures]} if config.fail else {}),
            **({"phases": [asdict(p) for p in self.phases]} if config.fail else {}),
        }


def _seconds(t: float) -> float | None:
    return round(float(t), 6) if np.isfinite(t) else None


def bisection_mbps(config: Config) -> float:
    """The bisection bandwidth alone, which is all that most sweeps need to send home."""
    return simulate(config).bisection_mbps


def simulate(config: Config, progress: Callable[[float], None] | None = None) -> Result:
    """Run one simulation; see `Simulation`."""
    return Simulation(config).run(progress)


def _workload(config: Config, matrix: Matrix) -> Workload:
    if not config.arrivals_per_s:
        return static(matrix)
    if matrix.sequential:
        raise ValueError(
            f"traffic {matrix.name!r} says itself when flows start; it cannot have arrivals as well"
        )
    rng = np.random.default_rng((config.seed, _ARRIVALS))
    return poisson(matrix, config.arrivals_per_s, config.mean_mbytes * 1e6, config.seconds, rng)


class Simulation:
    """One run, ready to start. The same configuration gives the same result, whatever else the machine does.

    Raises ValueError, one sentence, for a scheme, a pattern or a network that does not exist.
    """

    def __init__(self, config: Config) -> None:
        chosen = scheme(config.scheme)
        tree = FatTree(config.k)
        self.config = config
        self.work = _workload(
            config, draw(config.traffic, tree, config.seed, config.flows_per_host, config.keep)
        )
        self.topo = NonBlocking(tree.num_hosts) if chosen.nonblocking else tree
        self.routing = chosen.routing(tree, config.seed)
        self.breakage = Breakage(config.faults, self.routing.links) if config.fail and self.routing else None
        self.ports = self._ports(tree.num_hosts)
        self.hashed = self._hashed()
        self.core = self.hashed.copy()
        self.links = path_links(self.topo, self.work.src, self.work.dst, self.core)
        self.engine = self._engine()
        placement = self._placement(chosen, tree)
        self.scheduler = None
        if placement and self.routing:
            self.scheduler = Scheduler(tree, placement, config.threshold, self.routing.links)
        self.polled_bits = np.zeros(len(self.work))
        self.rounds: list[RoundLog] = []

    def _ports(self, num_hosts: int) -> NDArray[np.int32]:
        if not len(self.work):
            return np.zeros(0, dtype=np.int32)
        return source_ports(Matrix(self.work.src, self.work.dst, num_hosts), self.config.seed)

    def _hashed(self) -> NDArray[np.int32]:
        """The path each flow starts on, or would start on now."""
        if self.routing is None or not len(self.work):
            return np.zeros(len(self.work), dtype=np.int32)
        return self._static(np.arange(len(self.work)))

    def _static(self, flows: NDArray[np.intp]) -> NDArray[np.int32]:
        """The static paths of these flows among those that work."""
        assert self.routing is not None
        src, dst = self.work.src[flows], self.work.dst[flows]
        return np.array(self.routing.cores(src, dst, self.ports[flows], SERVER_PORT), dtype=np.int32)

    def _engine(self) -> AimdEngine | MaxMinEngine:
        config, count = self.config, num_links(self.topo)
        closed = None
        if self.breakage is not None:
            closed, count = self.breakage.nowhere, count + 1
        if config.engine == "maxmin":
            return MaxMinEngine(
                self.work, self.links, count, tick_s=config.tick_s, link_mbps=config.link_mbps, closed=closed
            )
        return AimdEngine(
            self.work,
            self.links,
            count,
            tick_s=config.tick_s,
            seed=config.seed,
            link_mbps=config.link_mbps,
            increase_mbps=config.increase_mbps,
            closed=closed,
        )

    def _placement(self, chosen: Scheme, tree: FatTree) -> Placement | None:
        placement = chosen.placement(tree, self.config.seed)
        if isinstance(placement, SimulatedAnnealing):
            rng = np.random.default_rng((self.config.seed, _ANNEALING))
            return SimulatedAnnealing(tree, rng, iterations=self.config.iterations)
        return placement

    def run(self, progress: Callable[[float], None] | None = None) -> Result:
        """Advance from one thing to do to the next: a scheduling round, or an end of the measuring window.

        ``progress`` is called with the simulated seconds so far, now and then.
        """
        config = self.config
        begin, end = config.window
        period = round(config.interval_s / config.tick_s)
        rounds = set(range(period, config.ticks, period)) if self.scheduler else set()
        broken = self.breakage.moments if self.breakage else []
        strikes = {round(t / config.tick_s): t for t in broken}
        stops = sorted({begin, end, config.ticks, *strikes} | rounds)
        total = np.zeros(config.ticks)
        sent_at = {}
        now = 0
        for stop in stops:
            while self.breakage and now < stop and self.breakage.waiting:
                total[now : now + 1] = self.engine.advance(1)
                now += 1
                self.breakage.look(now * config.tick_s, self.engine.rates_mbps, self.engine.active)
            if now < stop and not self.engine.idle:
                total[now:stop] = self.engine.advance(stop - now)
            now = stop
            if now in (begin, end):
                sent_at[now] = self.engine.sent_bits
            if now in strikes:
                self._strike(strikes[now])
            if now in rounds and not self.engine.idle:
                self._schedule(now * config.tick_s)
            if progress:
                progress(now * config.tick_s)
        return Result(
            config=config,
            capacity_mbps=self.topo.num_hosts * config.link_mbps,
            bisection_mbps=float(total[begin:end].mean()),
            total_mbps=total,
            src=self.work.src,
            dst=self.work.dst,
            core=self.core,
            mbps=(sent_at[end] - sent_at[begin]) / ((end - begin) * config.tick_s * 1e6),
            sent_bits=self.engine.sent_bits,
            start_s=self._start_s(),
            end_s=self.engine.finished_s,
            rounds=tuple(self.rounds),
            failures=tuple(self.breakage.failures) if self.breakage else (),
            phases=self._phases(total),
        )

    def _phases(self, total: NDArray[np.float64]) -> tuple[Phase, ...]:
        lasting = not self.config.arrivals_per_s and bool(np.isinf(self.work.size_bits).all())
        flows = (self.work.src, self.work.dst) if lasting else None
        return phases_of(self.config, self.topo, flows, total) if self.config.fail else ()

    def _strike(self, t: float) -> None:
        """Something fails or is mended: flows do what their controller would do with them."""
        assert self.breakage is not None
        src, dst, active = self.work.src, self.work.dst, self.engine.active
        self.breakage.strike(t, active, src[active], dst[active], self.core[active])
        to_come = np.flatnonzero(np.isnan(self.engine.started_s))
        stuck = active[~self.breakage.links.usable(src[active], dst[active], self.core[active])]
        moved = np.concatenate([to_come, stuck])
        if moved.size:
            self.hashed[moved] = self.core[moved] = self._static(moved)
        self._move(np.concatenate([to_come, active]).astype(np.int32))

    def _move(self, flows: NDArray[np.int32]) -> None:
        """Put those of these flows on new links whose path, as it is now, has others."""
        src, dst, core = self.work.src[flows], self.work.dst[flows], self.core[flows]
        if self.breakage is None:
            links = path_links(self.topo, src, dst, core)
        else:
            links = self.breakage.paths(src, dst, core)
        changed = (links != self.links[flows]).any(axis=1)
        if changed.any():
            self.links[flows[changed]] = links[changed]
            self.engine.reroute(flows[changed], links[changed])

    def _start_s(self) -> NDArray[np.float64]:
        """When a flow arrived, as its completion time counts from there; or when its turn came."""
        known = np.isfinite(self.work.start_s)
        return np.where(known, self.work.start_s, self.engine.started_s)

    def _schedule(self, now: float) -> None:
        """One round of the control loop: poll, let the scheduler decide, move the flows that it moves."""
        assert self.scheduler is not None
        active = self.engine.active
        if self.breakage is not None:  # what cannot move has no rate, and a controller leaves it out
            active = active[self.links[active, 0] != self.breakage.nowhere]
        sent = self.engine.sent_bits
        age = np.minimum(now - self.engine.started_s[active], self.config.interval_s)
        age = np.maximum(age, self.config.tick_s)
        rate = (sent[active] - self.polled_bits[active]) / age / (self.config.link_mbps * 1e6)
        self.polled_bits = sent
        table = FlowTable(
            key=active.astype(np.int64),
            src=self.work.src[active],
            dst=self.work.dst[active],
            rate=rate,
            core=self.core[active],
            hashed=self.hashed[active],
        )
        before = time.perf_counter()
        decided = self.scheduler.round(now, table)
        spent = time.perf_counter() - before
        moved = np.array([change.key for change in decided.changes], dtype=np.int32)
        self.core[moved] = [change.core for change in decided.changes]
        self._move(moved)
        self.rounds.append(RoundLog(now, len(decided.large), moved.size, spent))
