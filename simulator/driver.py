"""One simulation from start to end: traffic, hashed or planned paths, a rate engine, and what happens to them when.

Of links that fail (section 4.6) switches and schedulers learn within the tick: how long that takes in reality is for
the emulation to measure. Each scheme does what its controller does (controllers/core.py): a flow whose path is broken
goes by its static path among those that work, all others stay, and Hedera's next round may move any.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedera.linkstate import LinkState
from hedera.maxmin import most_possible, sprayed_rates
from hedera.placement import LargeFlows, exceeded_capacity
from hedera.scheduler import ActiveFlows, Scheduler
from record.run import Failure, Phase
from record.spec import phases
from simulator.aimd import AimdEngine
from simulator.config import Config
from simulator.fair import MaxMinEngine
from simulator.result import Result, RoundLog
from topos.arrays import Float64, Int32
from topos.fattree import FatTree
from topos.links import NO_LINK, Cores, Fault, cables, link_rates, links_down, moments, num_links, path_links
from topos.network import Network
from traffic.flows import SERVER_PORT
from traffic.graph import FlowGraph

if TYPE_CHECKING:
    from hedera.clos import ClosColouring

# What happens at the same moment happens in this order.
_WINDOW, _FAILURE, _ROUND, _END = range(4)


def bisection_mbps(config: Config) -> float:
    """The bisection bandwidth alone, which is all that most sweeps need to send home."""
    return float(window_mbps(config).mean())


def window_mbps(config: Config) -> Float64:
    """The sum of all rates in each tick of the measuring window, Mb/s, float64 (ticks,); nothing after it is run."""
    return Simulation(config).window()


def simulate(config: Config, progress: Callable[[float], None] | None = None) -> Result:
    """Run one simulation; see `Simulation`."""
    return Simulation(config).run(progress)


class Simulation:
    """One run, ready to start. The same configuration gives the same result, whatever else the machine does.

    Time is a whole number of ticks inside; seconds are for who asks and who is told. ``period``: of scheduling.

    Raises ValueError, one sentence, for traffic that does not exist or does not fit the network.
    """

    def __init__(self, config: Config) -> None:
        chosen, tree = config.chosen, config.topo
        self.config = config
        self.work, self.graph = config.flows()
        self.network = config.network()
        self.routing = chosen.routing(tree, config.seed)
        self.breakage: Breakage | None = None
        if config.fail and self.routing:
            self.breakage = Breakage(config.faults, self.routing.links)
        self.ports = self.work.src_port
        self.hashed = self._static(np.arange(len(self.work)))
        self.core = self.hashed.copy()
        self._plan_paths(np.arange(len(self.work)))
        self._connection = None if self.graph is None else self.graph.connections()[1]
        self.links = self._paths(np.arange(len(self.work), dtype=np.int32))
        self.engine = self._engine()
        placement = chosen.placement(tree, config.seed, config.options)
        self.scheduler = None
        if placement and self.routing:
            estimated = config.large_flows == "measured-or-estimated"
            self.scheduler = Scheduler(tree, placement, config.threshold, self.routing.links, estimated)
        self.period = round(config.interval_s / config.tick_s)
        if config.detect_s:
            from hedera.global_first_fit import GlobalFirstFit

            if isinstance(placement, GlobalFirstFit):
                self.period = round(config.detect_s / config.tick_s)
        self.polled_bytes = np.zeros(len(self.work))
        self.rounds: list[RoundLog] = []
        self._window_bytes: list[Float64] = []
        self._events: list[tuple[int, int, int, Callable[[], None]]] = []
        self._number = itertools.count()

    def _static(self, flows: NDArray[np.intp]) -> Int32:
        if self.routing is None or not flows.size:
            return np.zeros(flows.size, dtype=np.int32)
        src, dst = self.work.src[flows], self.work.dst[flows]
        return np.array(self.routing.cores(src, dst, self.ports[flows], SERVER_PORT), dtype=np.int32)

    def _plan_paths(self, flows: NDArray[np.intp]) -> None:
        """Paths for those of these flows that are a collective's, where the scheme plans them."""
        if self.config.chosen.plans and self.graph is not None and self.routing is not None:
            mine = flows[flows < len(self.graph)]
            self.core[mine] = planned_cores(self.graph, mine, self.core[mine], self.routing.links)

    def _engine(self) -> AimdEngine | MaxMinEngine:
        config, count = self.config, num_links(self.network)
        closed = None
        if self.breakage is not None:
            closed, count = self.breakage.nowhere, count + 1
        shared: dict[str, Any] = {
            "tick_s": config.tick_s, "link_mbps": config.link_mbps, "closed": closed, "graph": self.graph,
            "shares": None if config.plain else link_rates(self.network),
        }  # fmt: skip
        if config.engine == "maxmin":
            rates = self._sprayed_rates if config.chosen.sprays and (self.breakage or not config.plain) else None
            return MaxMinEngine(self.work, self.links, count, rates=rates, **shared)
        return AimdEngine(self.work, self.links, count, seed=config.seed, increase_mbps=config.first_mbps, **shared)

    def run(self, progress: Callable[[float], None] | None = None) -> Result:
        """From one event to the next: an end of the measuring window, a failure, a scheduling round.

        Arrivals are the engine's own. ``progress`` is called with the simulated seconds so far, now and then.
        """
        total = self._advance(self.config.ticks, progress)
        config, (at_begin, at_end) = self.config, self._window_bytes
        begin, end = config.window_ticks
        known = np.isfinite(self.work.start_s)
        return Result(
            config=config,
            total_mbps=total,
            src=self.work.src,
            dst=self.work.dst,
            core=self.core,
            mbps=8 * (at_end - at_begin) / ((end - begin) * config.tick_s * 1e6),
            sent_bytes=self.engine.sent_bytes,
            # When a flow arrived, as its completion time counts from there; or when its turn came.
            start_s=np.where(known, self.work.start_s, self.engine.started_s),
            began_s=self.engine.started_s,
            end_s=self.engine.finished_s,
            size_bytes=self.work.size_bytes,
            graph=self.graph,
            rounds=tuple(self.rounds),
            failures=tuple(self.breakage.failures) if self.breakage else (),
            phases=self._phases(total),
        )

    def window(self) -> Float64:
        """As `window_mbps`."""
        begin, end = self.config.window_ticks
        return self._advance(end)[begin:]

    def _advance(self, tick: int, progress: Callable[[float], None] | None = None) -> Float64:
        """From the start to ``tick``; returns the sum of all rates in each tick, Mb/s."""
        self._plan(tick)
        totals, order = [], -1
        while order != _END:
            tick, order, _, happen = heappop(self._events)
            totals.append(self._advance_to(tick))
            happen()
            if progress:
                progress(tick * self.config.tick_s)
        return np.concatenate(totals)

    def _advance_to(self, tick: int) -> Float64:
        """Run the engine until ``tick``, unless nothing is left to move; as `_advance`."""
        ticks = tick - self.engine.tick
        if not self.engine.idle:
            return self.engine.advance(ticks)
        self.engine.tick += ticks
        return np.zeros(ticks)

    def _plan(self, end: int) -> None:
        """All that is known beforehand to happen until tick ``end``."""
        config = self.config
        for tick in config.window_ticks:
            self._at(tick, _WINDOW, lambda: self._window_bytes.append(self.engine.sent_bytes))
        if self.scheduler:
            for tick in range(self.period, end, self.period):
                self._at(tick, _ROUND, self._schedule)
        for moment in self.breakage.moments if self.breakage else ():
            self._at(round(moment / config.tick_s), _FAILURE, partial(self._strike, moment))
        self._at(end, _END, lambda: None)

    def _at(self, tick: int, order: int, happen: Callable[[], None]) -> None:
        heappush(self._events, (tick, order, next(self._number), happen))

    def _phases(self, total: Float64) -> tuple[Phase, ...]:
        if not self.config.fail:
            return ()
        lasting = bool(np.isinf(self.work.size_bytes).all() and not self.work.start_s.any())
        flows = (self.work.src, self.work.dst) if lasting else None
        return phases_of(self.config, self.network, flows, total)

    def _strike(self, t: float) -> None:
        """Something fails or is mended: flows do what their controller would do with them."""
        assert self.breakage is not None
        src, dst, active = self.work.src, self.work.dst, self.engine.active
        self.breakage.strike(t, src[active], dst[active], self.core[active])
        to_come = np.flatnonzero(np.isnan(self.engine.started_s))
        stuck = active[~self.breakage.links.usable(src[active], dst[active], self.core[active])]
        moved = np.concatenate([to_come, stuck])
        self.hashed[moved] = self.core[moved] = self._static(moved)
        self._plan_paths(to_come)
        self._move(np.concatenate([to_come, active]).astype(np.int32))
        if self.config.chosen.sprays:  # their rates are others, though their own links are the same
            self.engine.reroute(active, self.links[active])

    def _move(self, flows: Int32) -> None:
        """Put those of these flows on new links whose path, as it is now, has others."""
        links = self._paths(flows)
        changed = (links != self.links[flows]).any(axis=1)
        if changed.any():
            self.links[flows[changed]] = links[changed]
            self.engine.reroute(flows[changed], links[changed])

    def _paths(self, flows: Int32) -> Int32:
        """The links of these flows as `topos.links.path_links`; what only computes has none."""
        src, dst, core = self.work.src[flows], self.work.dst[flows], self.core[flows]
        if self.breakage is None:
            links = path_links(self.network, src, dst, core)
        else:
            links = self.breakage.paths(src, dst, core)
        if self.config.chosen.sprays:  # none between fills before a host's, or `_sprayed_rates` knows
            links[:, 1:-1] = NO_LINK
        if self.graph is not None:
            links[src == dst] = NO_LINK
        return links

    def _sprayed_rates(self, flows: Int32) -> Float64:
        assert self.routing is not None
        return sprayed_rates(self.routing.links, self.work.src[flows], self.work.dst[flows], self.config.link_mbps)

    def _with_their_connections(self, moved: Int32) -> Int32:
        """``moved``, and behind it what their connections have not sent: a switch knows no flow but these."""
        if self._connection is None or not moved.size:
            return moved
        left = np.flatnonzero(np.isnan(self.engine.finished_s[: self._connection.size]))
        core = np.full(int(self._connection.max()) + 1, -1, dtype=np.int32)
        mine = moved[moved < self._connection.size]
        core[self._connection[mine]] = self.core[mine]
        left = left[(self._connection[left] >= 0) & (core[self._connection[left]] >= 0)]
        self.core[left] = core[self._connection[left]]
        return np.concatenate([moved[moved >= self._connection.size], left]).astype(np.int32)

    def _polled(self) -> tuple[Int32, Int32, Float64]:
        """What switches tell of the last period: flows, int32 (seen,); by which names; and their bytes per second.

        Of a graph they see connections: those that have sent something since, whether they send just now or not. Each
        is the first of its flows that has not ended, by the name of the first that it ever had.
        """
        engine, tick_s = self.engine, self.config.tick_s
        now, period_s = engine.tick * tick_s, self.period * tick_s
        sent, active = engine.sent_bytes, engine.active
        gained, self.polled_bytes = sent - self.polled_bytes, sent
        nodes = 0 if self._connection is None else self._connection.size
        seen = name = active[active >= nodes]
        since = engine.started_s[seen]
        if self._connection is not None:
            flows = np.flatnonzero(self._connection >= 0)
            which = self._connection[flows]
            count = int(which.max()) + 1
            got = np.bincount(which, gained[flows], minlength=count)
            begun = np.full(count, np.inf)
            np.fmin.at(begun, which, engine.started_s[flows])
            first, left = np.full((2, count), nodes)
            np.minimum.at(first, which, flows)
            unfinished = np.isnan(engine.finished_s[flows])
            np.minimum.at(left, which[unfinished], flows[unfinished])
            shown = np.flatnonzero((left < nodes) & ((got > 0) | np.isin(left, active)))
            gained[left[shown]] = got[shown]
            seen = np.concatenate([left[shown], seen]).astype(np.int32)
            name = np.concatenate([first[shown], name]).astype(np.int32)
            since = np.concatenate([begun[shown], since])
        age = np.maximum(np.minimum(now - since, period_s), tick_s)
        return seen, name, gained[seen] / age

    def _schedule(self) -> None:
        """One round of the control loop: poll, let the scheduler decide, move the flows that it moves."""
        assert self.scheduler is not None
        if self.engine.idle:
            return
        now = self.engine.tick * self.config.tick_s
        active, name, speed = self._polled()
        rate = 8 * speed / (self.config.link_mbps * 1e6)
        if self.breakage is not None:  # what cannot move has no rate, and a controller leaves it out
            there = self.links[active, 0] != self.breakage.nowhere
            active, name, rate = active[there], name[there], rate[there]
        table = ActiveFlows(
            key=name.astype(np.int64),
            src=self.work.src[active],
            dst=self.work.dst[active],
            rate=rate,
            core=self.core[active],
            hashed=self.hashed[active],
        )
        before = time.perf_counter()
        decided = self.scheduler.round(now, table)
        spent = time.perf_counter() - before
        moved = decided.changed.astype(np.int32)
        self.core[moved] = decided.new_core
        self._move(self._with_their_connections(moved))
        self.rounds.append(RoundLog(now, len(decided.large), moved.size, spent))


ORDERS = 16


def planned_cores(graph: FlowGraph, nodes: NDArray[np.intp], core: Cores, links: LinkState) -> Cores:
    """A core for each of these nodes, int32 (nodes,): the flows of one step together, by edge colouring.

    A flow's demand is what its sender and its receiver leave it beside the others of the step. ``core``: what
    computing keeps, and where colouring begins.
    """
    from hedera.clos import ClosColouring

    assert isinstance(links.tree, FatTree)
    placement, found = ClosColouring(links.tree), core.copy()
    known: dict[bytes, Cores] = {}  # rings send the same way in every step
    level = np.where(graph.computes[nodes], -1, graph.level[nodes])
    order = np.argsort(level, kind="stable")
    for step in np.split(order, np.flatnonzero(np.diff(level[order])) + 1):
        if not step.size or level[step[0]] < 0:
            continue
        src, dst = graph.src[nodes[step]], graph.dst[nodes[step]]
        same = src.tobytes() + dst.tobytes()
        if same not in known:
            busy = np.maximum(np.bincount(src)[src], np.bincount(dst)[dst])
            known[same] = _coloured(placement, src, dst, 1.0 / busy, found[step], links)
        found[step] = known[same]
    return found


def _coloured(
    placement: ClosColouring, src: Int32, dst: Int32, demand: Float64, core: Cores, links: LinkState
) -> Cores:
    """The best of some colourings, each of the flows in another order, where the first leaves an excess.

    Colouring goes by their order where it cannot look ahead to a failed link, and counts a flow on such a link as one
    too many on any other; these flows move on.
    """
    rng, best, least = np.random.default_rng(1), core, np.inf
    order = np.arange(src.size)
    for _ in range(ORDERS):
        start = core[order]
        flows = LargeFlows(order, src[order], dst[order], demand[order], start, start)
        answer = np.empty_like(core)
        answer[order] = placement.place(flows, links)
        answer = links.detour(src, dst, answer)
        exceeded = exceeded_capacity(links.tree, src, dst, demand, answer, links)
        if exceeded < least:
            best, least = answer, exceeded
        if least == 0:
            break
        order = rng.permutation(src.size)
    return best


class Breakage:
    """The failures of one simulation. ``links`` is what routing and scheduler know; it is kept up to date.

    A flow whose path is broken and that has no other is put on ``nowhere``, a link that carries nothing.
    """

    def __init__(self, faults: Sequence[Fault], links: LinkState) -> None:
        self._faults = faults
        self.links = links
        self.nowhere = num_links(links.tree)
        self.moments = moments(faults)
        self.failures: list[Failure] = []

    def paths(self, src: Int32, dst: Int32, core: Int32) -> Int32:
        """The links of each flow's path as in `topos.links.path_links`, or ``nowhere`` alone: int32 (flows, 6)."""
        rows = path_links(self.links.tree, src, dst, core)
        rows[~self.links.carries(src, dst, core)] = [self.nowhere, *[NO_LINK] * 5]
        return rows

    def strike(self, t: float, src: Int32, dst: Int32, core: Int32) -> None:
        """Break and mend what is due at ``t``; of the flows under way: int32 (flows,)."""
        tree = self.links.tree
        before = frozenset(np.flatnonzero(~self.links.up).tolist())
        now = links_down(self._faults, tree, t)
        hit = np.isin(path_links(tree, src, dst, core), list(now - before)).any(axis=1)
        self.links.restore(before - now)
        self.links.fail(now - before)
        connected = self.links.connected(src, dst)
        self.failures.append(
            Failure(
                t=t,
                broken=_names(tree, now - before),
                mended=_names(tree, before - now),
                affected=int(hit.sum()),
                cut_off=int((hit & ~connected).sum()),
                rerouted_s=None,
                moving_s=None,
            )
        )


def phases_of(
    config: Config, network: Network, flows: tuple[Int32, Int32] | None, total_mbps: Float64
) -> tuple[Phase, ...]:
    """What arrived before, during and after each failure, and the most that could have.

    ``flows``: sources and destinations of flows that last for the run; None when they come and go, which has no
    such bound. ``total_mbps``: the sum of rates in every tick, float64 (ticks,).
    """
    tick_s = config.tick_s
    faults = config.faults if network.num_cores > 1 else ()
    begin, end = config.window_ticks
    records = []
    for a, b in phases(moments(faults), (begin * tick_s, end * tick_s), config.seconds):
        links = links_down(faults, config.topo, a)
        capacity = config.link_mbps * link_rates(network)
        capacity[list(links)] = 0.0
        best = None if flows is None else most_possible(network, *flows, capacity)
        first = round(a / tick_s)
        mean = float(total_mbps[first : max(round(b / tick_s), first + 1)].mean())
        best = None if best is None else round(best, 3)
        down = _names(config.topo, links)
        records.append(Phase(from_s=a, to_s=b, down=down, mbps=round(mean, 3), best_mbps=best))
    return tuple(records)


def _names(tree: Network, links: frozenset[int]) -> tuple[str, ...]:
    return tuple("-".join(cable) for cable in cables(tree, links))
