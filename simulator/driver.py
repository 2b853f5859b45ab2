"""One simulation from start to end: traffic, hashed or planned paths, a rate engine, and what happens to them when.

Of links that fail (section 4.6) switches and schedulers learn within the tick: how long that takes in reality is for
the emulation to measure. Each scheme does what its controller does (controllers/core.py): a flow whose path is broken
goes by its static path among those that work, all others stay, and Hedera's next round may move any.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedera.linkstate import LinkState
from hedera.maxmin import bound_total, find_sprayed_paths
from hedera.placement import LargeFlows, exceeded_capacity
from hedera.scheduler import ActiveFlows, Scheduler
from record.spec import split_phases
from simulator.aimd import AimdEngine
from simulator.config import Config
from simulator.maxmin import MaxMinEngine
from simulator.result import Result, RoundLog
from simulator.starts import EVERY
from topos.arrays import Float64, Int32
from topos.fattree import FatTree
from topos.links import (
    NO_LINK,
    Cores,
    Fault,
    find_links_down,
    link_rates,
    list_cables,
    list_moments,
    num_links,
    path_links,
)
from topos.network import Network
from traffic.flows import SERVER_PORT, Flows
from traffic.graph import FlowGraph

if TYPE_CHECKING:
    from hedera.clos import ClosColouring
    from record.run import Failure, Phase

Engine = AimdEngine | MaxMinEngine

# What happens in the same tick happens in this order.
_WINDOW, _FAILURE, _ROUND, _END = range(4)


def measure_bisection(config: Config) -> float:
    """The bisection bandwidth alone, which is all that most sweeps need to send home."""
    return float(Simulation(config).window().mean())


def simulate(config: Config) -> Result:
    """Run one simulation; see `Simulation`."""
    return Simulation(config).run()


class Simulation:
    """One run, ready to start. The same configuration gives the same result, whatever else the machine does.

    Time is a whole number of ticks inside; seconds are for who asks and who is told.

    Raises ValueError, one sentence, for traffic that does not exist or does not fit the network.
    """

    def __init__(self, config: Config) -> None:
        chosen, tree = config.chosen, config.topo
        self.config = config
        self.work, self.graph = config.flows()
        self.paths = Paths(config, self.work, self.graph)
        self.counters = Counters(self.work) if self.graph is None else ConnectionCounters(self.work, self.graph)
        self.engine = self._make_engine()
        placement = chosen.placement(tree, config.seed, config.options, self.paths.routing)
        self.scheduler = None
        if placement and self.paths.routing:
            estimated = config.large_flows == "measured-or-estimated"
            self.scheduler = Scheduler(tree, placement, config.threshold, self.paths.routing.links, estimated)
        period_s = config.interval_s
        if config.detect_s:
            from hedera.global_first_fit import GlobalFirstFit

            # Global First Fit re-routes a flow as soon as it is detected (section 4.5), and so looks more often than
            # the others.
            period_s = config.detect_s if isinstance(placement, GlobalFirstFit) else period_s
        self.period = round(period_s / config.tick_s)
        self.rounds: list[RoundLog] = []
        self._window_bytes: list[Float64] = []

    def _make_engine(self) -> Engine:
        config, paths = self.config, self.paths
        shared: dict[str, Any] = {"tick_s": config.tick_s, "link_mbps": config.link_mbps, "graph": self.graph}
        if config.engine == "maxmin":
            links, parts = paths.carrying(np.arange(len(self.work), dtype=np.int32))
            return MaxMinEngine(self.work, links, paths.shares, parts=parts, **shared)
        shared |= {"seed": config.seed, "increase_mbps": config.first_mbps}
        return AimdEngine(self.work, paths.links, paths.shares, **shared)

    def run(self, progress: Callable[[float], None] | None = None) -> Result:
        """From one event to the next: an end of the measuring window, a failure, a scheduling round.

        Arrivals are the engine's own. ``progress`` is called with the simulated seconds so far, now and then.
        """
        config, work, breakage = self.config, self.work, self.paths.breakage
        total = self._advance(config.ticks, progress)
        at_begin, at_end = self._window_bytes
        begin, end = config.window_ticks
        began_s = self.engine.began_s
        return Result(
            config=config,
            total_mbps=total,
            src=work.src,
            dst=work.dst,
            core=self.paths.core,
            mbps=8 * (at_end - at_begin) / ((end - begin) * config.tick_s * 1e6),
            sent_bytes=self.engine.sent_bytes(),
            # When a flow arrived, as its completion time counts from there; or when its turn came.
            start_s=np.where(np.isfinite(work.start_s), work.start_s, began_s),
            began_s=began_s,
            end_s=self.engine.finished_s,
            size_bytes=work.size_bytes,
            graph=self.graph,
            rounds=tuple(self.rounds),
            failures=tuple(breakage.failures) if breakage else (),
            phases=self._split_phases(total) if config.fail else (),
        )

    def window(self) -> Float64:
        """The sum of all rates in each tick of the measuring window, Mb/s, float64 (ticks,). Nothing after it runs."""
        begin, end = self.config.window_ticks
        return self._advance(end)[begin:]

    def _advance(self, end: int, progress: Callable[[float], None] | None = None) -> Float64:
        """From the start to tick ``end``; returns the sum of all rates in each tick, Mb/s."""
        totals = []
        for tick, _, happen in sorted(self._list_events(end), key=itemgetter(0, 1)):
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

    def _list_events(self, end: int) -> list[tuple[int, int, Callable[[], None]]]:
        """All that happens until tick ``end``: when, in which order, and what."""
        config, breakage = self.config, self.paths.breakage
        events: list[tuple[int, int, Callable[[], None]]] = [(end, _END, lambda: None)]
        events += [(tick, _WINDOW, self._note_bytes) for tick in config.window_ticks]
        if self.scheduler:
            events += [(tick, _ROUND, self._schedule) for tick in range(self.period, end, self.period)]
        for moment in breakage.moments if breakage else ():
            events.append((round(moment / config.tick_s), _FAILURE, partial(self._strike, moment)))
        return [event for event in events if event[0] <= end]

    def _note_bytes(self) -> None:
        self._window_bytes.append(self.engine.sent_bytes())

    def _strike(self, moment: float) -> None:
        """Something fails or is mended: flows do what their controller would do with them."""
        active, to_come = self.engine.active, np.flatnonzero(np.isnan(self.engine.began_s))
        moved = self.paths.strike(moment, active, to_come)
        # Sprayed flows go by other links from now on, whatever their own are.
        self._reroute(np.concatenate([active, to_come]).astype(np.int32) if self.paths.spread else moved)

    def _reroute(self, flows: Int32) -> None:
        if not flows.size:
            return
        if isinstance(self.engine, MaxMinEngine):
            self.engine.reroute(flows, *self.paths.carrying(flows))
        else:
            self.engine.reroute(flows, self.paths.links[flows])

    def _schedule(self) -> None:
        """One round of the control loop: poll, let the scheduler decide, move the flows that it moves."""
        assert self.scheduler is not None
        if self.engine.idle:
            return
        config, paths, now = self.config, self.paths, self.engine.tick * self.config.tick_s
        active, name, speed = self.counters.poll(self.engine, self.period)
        rate = 8 * speed / (config.link_mbps * 1e6)
        if paths.breakage is not None:  # what cannot move has no rate, and a controller leaves it out
            is_movable = paths.links[active, 0] != paths.breakage.nowhere
            active, name, rate = active[is_movable], name[is_movable], rate[is_movable]
        table = ActiveFlows(
            key=name.astype(np.int64),
            src=self.work.src[active],
            dst=self.work.dst[active],
            rate=rate,
            core=paths.core[active],
            hashed=paths.hashed[active],
        )
        before = time.perf_counter()
        decided = self.scheduler.round(now, table)
        spent = time.perf_counter() - before
        moved = decided.changed.astype(np.int32)
        paths.core[moved] = decided.new_core
        self._reroute(paths.move(self.counters.moved_with(moved, paths.core, self.engine)))
        self.rounds.append(RoundLog(now, len(decided.large), moved.size, spent))

    def _split_phases(self, total_mbps: Float64) -> tuple[Phase, ...]:
        """What arrived before, during and after each failure, and the most that could have: no bound for flows that
        come and go. ``total_mbps``: the sum of rates in every tick, float64 (ticks,)."""
        from record.run import Phase

        config, tick_s, network = self.config, self.config.tick_s, self.paths.network
        lasting = bool(np.isinf(self.work.size_bytes).all() and not self.work.start_s.any())
        faults = config.faults if network.num_cores > 1 else ()
        begin, end = config.window_ticks
        records = []
        for a, b in split_phases(list_moments(faults), (begin * tick_s, end * tick_s), config.seconds):
            down = find_links_down(faults, config.topo, a)
            capacity = config.link_mbps * link_rates(network)
            capacity[list(down)] = 0.0
            best = bound_total(network, self.work.src, self.work.dst, capacity) if lasting else None
            first = round(a / tick_s)
            mean = float(total_mbps[first : max(round(b / tick_s), first + 1)].mean())
            best = None if best is None else round(best, 3)
            names = _name_cables(config.topo, down)
            records.append(Phase(from_s=a, to_s=b, down=names, mbps=round(mean, 3), best_mbps=best))
        return tuple(records)


# --- what switches count ----------------------------------------------------------------------------------------


class Counters:
    """What switches tell of flows: how much each has sent since they were asked last."""

    def __init__(self, work: Flows) -> None:
        self._bytes = np.zeros(len(work))

    def poll(self, engine: Engine, period: int) -> tuple[Int32, Int32, Float64]:
        """Flows under way, int32 (seen,); the flow whose number is the name of each; and their bytes per second in
        the last ``period`` ticks, or since they started."""
        active = engine.active
        return (
            active,
            active,
            self._count_gained(engine, active) / _compute_age_s(engine, engine.began_s[active], period),
        )

    def moved_with(self, moved: Int32, core: Int32, engine: Engine) -> Int32:
        """All flows that go by another path when these flows, by name, are moved to the cores in ``core`` (flows,)."""
        return moved

    def _count_gained(self, engine: Engine, flows: Int32 | slice = EVERY) -> Float64:
        """What each of these flows has sent since it was asked last, bytes: float64, of their shape."""
        sent = engine.sent_bytes(flows)
        gained: Float64 = sent - self._bytes[flows]
        self._bytes[flows] = sent
        return gained


def _compute_age_s(engine: Engine, since_s: Float64, period: int) -> Float64:
    """The seconds from these times until now, a tick at least and a period at most."""
    tick_s = engine.tick_s
    return np.maximum(np.minimum(engine.tick * tick_s - since_s, period * tick_s), tick_s)


class ConnectionCounters(Counters):
    """Of a graph's flows, which are the first, switches see connections, each of several flows after one another."""

    def __init__(self, work: Flows, graph: FlowGraph) -> None:
        super().__init__(work)
        self._connection = graph.connections()[1]

    def poll(self, engine: Engine, period: int) -> tuple[Int32, Int32, Float64]:
        """Connections come first: those that have sent something since, whether they send just now or not. Each is
        the first of its flows that has not ended, by the name of the first that it ever had."""
        nodes, gained, active = self._connection.size, self._count_gained(engine), engine.active
        flows = np.flatnonzero(self._connection >= 0)
        connection = self._connection[flows]
        count = int(connection.max()) + 1
        got = np.bincount(connection, gained[flows], minlength=count)
        began_s = engine.began_s
        begun = np.full(count, np.inf)
        np.fmin.at(begun, connection, began_s[flows])
        first, left = np.full((2, count), nodes)
        np.minimum.at(first, connection, flows)
        unfinished = np.isnan(engine.finished_s[flows])
        np.minimum.at(left, connection[unfinished], flows[unfinished])
        shown = np.flatnonzero((left < nodes) & ((got > 0) | np.isin(left, active)))
        gained[left[shown]] = got[shown]
        others = active[active >= nodes]
        polled = np.concatenate([left[shown], others]).astype(np.int32)
        name = np.concatenate([first[shown], others]).astype(np.int32)
        since = np.concatenate([begun[shown], began_s[others]])
        return polled, name, gained[polled] / _compute_age_s(engine, since, period)

    def moved_with(self, moved: Int32, core: Int32, engine: Engine) -> Int32:
        """Behind them what their connections have not sent, which gets their cores: switches know connections alone."""
        nodes = self._connection.size
        core_of = np.full(int(self._connection.max()) + 1, -1, dtype=np.int32)
        named = moved[moved < nodes]
        core_of[self._connection[named]] = core[named]
        left = np.flatnonzero(np.isnan(engine.finished_s[:nodes]) & (self._connection >= 0))
        left = left[core_of[self._connection[left]] >= 0]
        core[left] = core_of[self._connection[left]]
        return np.concatenate([moved[moved >= nodes], left]).astype(np.int32)


# --- where flows go ---------------------------------------------------------------------------------------------


class Paths:
    """The path of each flow: ``core`` and ``hashed``, int32 (flows,), its core now and by the static routing; and
    ``links``, int32 (flows, tiers), as in `topos.links.path_links`, of which what only computes has none.

    ``shares``: the rates of all links as shares of the hosts', float64 (links,). ``spread``: flows are sprayed over
    paths that are not alike, so that more of their links are told by `carrying`.
    """

    def __init__(self, config: Config, work: Flows, graph: FlowGraph | None) -> None:
        self.network = config.network()
        self.routing = config.chosen.routing(config.topo, config.seed, config.options)
        self.breakage: Breakage | None = None
        self.shares = link_rates(self.network)
        if config.fail and self.routing:
            self.breakage = Breakage(config.faults, self.routing.links)
            self.shares = np.append(self.shares, 0.0)  # `Breakage.nowhere`
        self.spread = config.chosen.sprays and (self.breakage is not None or not config.plain)
        self.ports = work.src_port
        self._config, self._work, self._graph = config, work, graph
        self.hashed, self.core = np.zeros((2, len(work)), dtype=np.int32)
        every = np.arange(len(work))
        self._draw(every)
        self._plan(every)
        self.links = self._find_links(every)

    def _draw(self, flows: NDArray[np.intp]) -> None:
        """Put these flows on their static paths."""
        if self.routing is not None and flows.size:
            ends = self._work.src[flows], self._work.dst[flows]
            self.hashed[flows] = self.core[flows] = self.routing.cores(*ends, self.ports[flows], SERVER_PORT)

    def _plan(self, flows: NDArray[np.intp]) -> None:
        """Paths for those of these flows that are a collective's, where the scheme plans them."""
        if self._config.chosen.plans and self._graph is not None and self.routing is not None:
            mine = flows[flows < len(self._graph)]
            self.core[mine] = plan_cores(self._graph, mine, self.core[mine], self.routing.links)

    def _find_links(self, flows: NDArray[Any]) -> Int32:
        src, dst, core = self._work.src[flows], self._work.dst[flows], self.core[flows]
        if self.breakage is None:
            links = path_links(self.network, src, dst, core)
        else:
            links = self.breakage.paths(src, dst, core)
        if self._config.chosen.sprays:  # none between fills before a host's, or `carrying` knows
            links[:, 1:-1] = NO_LINK
        if self._graph is not None:
            links[src == dst] = NO_LINK
        return links

    def move(self, flows: Int32) -> Int32:
        """Follow the cores of these flows, and the links that work; returns those that have other links now."""
        links = self._find_links(flows)
        changed = (links != self.links[flows]).any(axis=1)
        self.links[flows[changed]] = links[changed]
        return flows[changed]

    def strike(self, moment: float, active: Int32, to_come: NDArray[np.intp]) -> Int32:
        """Break and mend what is due; returns the flows that have other links now."""
        assert self.breakage is not None
        ends = self._work.src[active], self._work.dst[active]
        self.breakage.strike(moment, *ends, self.core[active])
        stuck = active[~self.breakage.links.usable(*ends, self.core[active])]
        self._draw(np.concatenate([to_come, stuck]))
        self._plan(to_come)
        return self.move(np.concatenate([to_come, active]).astype(np.int32))

    def carrying(self, flows: Int32) -> tuple[Int32, Float64 | None]:
        """The links that carry these flows, int32 (flows, tiers), and the part of the flow that each of them carries,
        float64 of that shape, or None where each carries all of it.

        Sprayed flows have other links than in ``links`` where paths are of several rates, or some of them are broken.
        """
        if not self.spread:
            return self.links[flows], None
        assert self.routing is not None
        links, parts = find_sprayed_paths(self.routing.links, self._work.src[flows], self._work.dst[flows])
        if self.breakage is not None:  # what has no path that works is on a link that carries nothing
            stuck = self.links[flows, 0] == self.breakage.nowhere
            links[stuck, 0], parts[stuck, 0] = self.breakage.nowhere, 1.0
        return links, parts


class Breakage:
    """The failures of one simulation. ``links`` is what routing and scheduler know; it is kept up to date.

    A flow whose path is broken and that has no other is put on ``nowhere``, a link that carries nothing.
    """

    def __init__(self, faults: Sequence[Fault], links: LinkState) -> None:
        self._faults = faults
        self.links = links
        self.nowhere = num_links(links.tree)
        self.moments = list_moments(faults)
        self.failures: list[Failure] = []

    def paths(self, src: Int32, dst: Int32, core: Int32) -> Int32:
        """The links of each flow's path as in `topos.links.path_links`, or ``nowhere`` alone."""
        rows = path_links(self.links.tree, src, dst, core)
        rows[~self.links.carries(src, dst, core)] = [self.nowhere, *[NO_LINK] * (rows.shape[1] - 1)]
        return rows

    def strike(self, t: float, src: Int32, dst: Int32, core: Int32) -> None:
        """Break and mend what is due at ``t``; of the flows under way: int32 (flows,)."""
        from record.run import Failure

        tree = self.links.tree
        before = frozenset(np.flatnonzero(~self.links.up).tolist())
        now = find_links_down(self._faults, tree, t)
        hit = np.isin(path_links(tree, src, dst, core), list(now - before)).any(axis=1)
        self.links.restore(before - now)
        self.links.fail(now - before)
        connected = self.links.connected(src, dst)
        self.failures.append(
            Failure(
                t=t,
                broken=_name_cables(tree, now - before),
                mended=_name_cables(tree, before - now),
                affected=int(hit.sum()),
                cut_off=int((hit & ~connected).sum()),
                rerouted_s=None,
                moving_s=None,
            )
        )


def _name_cables(tree: Network, links: frozenset[int]) -> tuple[str, ...]:
    return tuple("-".join(cable) for cable in list_cables(tree, links))


# --- paths that are planned for a collective -----------------------------------------------------------------------

ORDERS = 16


def plan_cores(graph: FlowGraph, nodes: NDArray[np.intp], core: Cores, links: LinkState) -> Cores:
    """A core for each of these nodes, int32 (nodes,): the flows of one step together, by edge colouring.

    A flow's demand is what its sender and its receiver leave it beside the others of the step. ``core``: what
    computing keeps, and where colouring begins.
    """
    from hedera.clos import ClosColouring

    assert isinstance(links.tree, FatTree)
    placement, planned = ClosColouring(links.tree), core.copy()
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
            known[same] = _colour_flows(placement, src, dst, 1.0 / busy, planned[step], links)
        planned[step] = known[same]
    return planned


def _colour_flows(
    placement: ClosColouring, src: Int32, dst: Int32, demand: Float64, core: Cores, links: LinkState
) -> Cores:
    """The best of some colourings, each of the flows in another order, where the first leaves an excess.

    Colouring goes by their order where it cannot look ahead to a failed link, and counts a flow on such a link as one
    too many on any other; these flows move on.
    """
    rng, best, least_excess = np.random.default_rng(1), core, np.inf
    order = np.arange(src.size)
    for _ in range(ORDERS):
        start = core[order]
        flows = LargeFlows(order, src[order], dst[order], demand[order], start, start)
        answer = np.empty_like(core)
        answer[order] = placement.place(flows, links)
        answer = links.detour(src, dst, answer)
        exceeded = exceeded_capacity(links.tree, src, dst, demand, answer, links)
        if exceeded < least_excess:
            best, least_excess = answer, exceeded
        if least_excess == 0:
            break
        order = rng.permutation(src.size)
    return best
