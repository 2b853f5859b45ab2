"""Hedera's control loop (section 3): poll the edge switches, have the large flows placed, install what changed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from controllers.driver import EventLog, FlowStat, compute_delay
from controllers.flowstats import LearnedFlows, Measurements, Polls, Recall
from controllers.settings import make_placement
from controllers.state import KnownFlow, KnownFlows, Switches, find_way_back
from hedera.linkstate import LinkState
from hedera.placement import Placement
from hedera.scheduler import ActiveFlows, Round, Scheduler
from record.spec import RunSpec
from topos.network import Network

# Being ready takes as long as the machine needs. A round moment after it keeps the rounds of one seed where they are.
STARTS_EVERY_S = 0.25
"""The first period begins at a multiple of this, seconds of the controller's clock."""
Moved = tuple[KnownFlow, tuple[str, ...]]
"""A flow that is on a new path, and the switches whose entries have to change for it."""
_COLUMNS = ("key", "src", "dst", "core", "hashed")


class HederaLoop:
    """One round every ``settings.interval_s`` seconds, from `start` on.

    ``placement`` puts large flows on paths that work by ``links``. ``recall`` knows a flow again whose entry an edge
    switch reports and that is not in ``flows``. ``learned`` knows flows from what switches have learned, those above
    the edge too.
    """

    def __init__(
        self,
        settings: RunSpec,
        placement: Placement,
        switches: Switches,
        flows: KnownFlows,
        links: LinkState,
        log: EventLog,
        recall: Recall,
        learned: LearnedFlows | None,
    ):
        tree = links.tree
        estimated = settings.large_flows == "measured-or-estimated"
        self._scheduler = Scheduler(tree, placement, settings.threshold, links, estimated)
        self._interval = settings.interval_s
        self._switches = switches
        self._driver = switches.driver
        self._flows = flows
        self._log = log
        self._recall = recall
        self._learned = learned
        layers = ("edge",) if learned is None else ("edge", "aggregation")
        self._polled_switches = {name for name in tree.switches if tree.layer(name) in layers}
        self._measurements = Measurements(settings.link_mbps * 1e6)
        self.polls = Polls(switches, self._take_poll)
        self._round = 0
        # Before the first round there is nothing to schedule.
        self._scheduled = True
        self._started_at = self._asked_at = 0.0
        warm_up(settings, tree)

    def start(self) -> None:
        now = self._driver.now()
        self._started_at = now + compute_delay(now, STARTS_EVERY_S)
        self._driver.call_later(self._started_at + self._interval - now, self._poll)

    def switch_down(self, name: str) -> None:
        """The connection to a switch is lost. Its flows keep their last known rates."""
        self.polls.lost(name)
        if not self.polls.waiting:
            self._schedule(self._round)

    # --- one round: poll, schedule, install ------------------------------------------------------------

    def _poll(self) -> None:
        now = self._asked_at = self._driver.now()
        number = self._round = self._round + 1
        self._scheduled = False
        # It is counted from the start, because an interval added to the present moment would drift.
        next_poll_at = self._started_at + (number + 1) * self._interval
        self._driver.call_later(max(0.0, next_poll_at - now), self._poll)
        # A switch that has not answered within half a period delays the others no longer: its flows keep their last
        # rates, and the round is done before the next one begins.
        self._driver.call_later(self._interval / 2, lambda: self._schedule(number))
        self.polls.ask(self._polled_switches & self._switches.connected)

    def _take_poll(self, switch: str, stats: list[FlowStat], asked_at: float) -> None:
        if self._learned is not None:
            self._learned.read(switch, stats)
        self._measurements.update(switch, stats)
        self._flows.expire_missing(switch, {stat.flow for stat in stats}, asked_at)
        for stat in stats:
            if self._learned is None and self._flows.find(stat.flow) is None:
                self._recall.know(switch, stat)
        if not self.polls.waiting:
            self._schedule(self._round)

    def _schedule(self, number: int) -> None:
        if number != self._round or self._scheduled:
            return
        self._scheduled = True
        polled = self._driver.now()
        if self._learned is not None:
            self._learned.settle()
        # Sorted by 5-tuple, not by who was heard first: Global First Fit serves flows in this order, and runs
        # of one seed are to place them alike.
        flows = sorted((f for f in self._flows if self._rate(f) > 0), key=lambda flow: flow.five_tuple)
        columns = {name: np.array([getattr(flow, name) for flow in flows]) for name in _COLUMNS}
        table = ActiveFlows(**columns, rate=np.array([self._rate(flow) for flow in flows]))
        decided = self._scheduler.round(polled, table)
        computed = self._driver.now()
        large = [
            {
                "key": flows[index].key,
                "src": flows[index].src,
                "dst": flows[index].dst,
                "rate": round(float(table.rate[index]), 6),
                "demand": round(demand, 6),
                "core": core,
            }
            for index, demand, core in zip(
                decided.index.tolist(), decided.demand.tolist(), decided.core.tolist(), strict=True
            )
        ]
        moved = self._move(decided)
        acknowledgements = self._move_back(moved)
        times = {"polled_s": round(polled - self._asked_at, 6), "compute_s": round(computed - polled, 6)}
        counts = {
            "flows": len(self._flows),
            "large": len(large),
            "placed": int((decided.core != table.hashed[decided.index]).sum()),
            "changed": len(moved),
        }

        def finish() -> None:
            for flow, _ in moved:
                self._log("reroute", key=flow.key, core=flow.core, round=number)
            # These have no number of a round, because no round has placed them: they follow their data.
            for flow, _ in acknowledgements:
                self._log("reroute", key=flow.key, core=flow.core, round=None)
            install_s = round(self._driver.now() - computed, 6)
            self._log("round", round=number, **times, install_s=install_s, **counts, large_flows=large)

        self._install([*moved, *acknowledgements], finish)

    def _rate(self, flow: KnownFlow) -> float:
        return self._measurements.rate(flow.source, flow.five_tuple)

    def _move(self, decided: Round) -> list[Moved]:
        cores = zip(decided.changed.tolist(), decided.new_core.tolist(), strict=True)
        known = [(flow, core) for key, core in cores if (flow := self._flows.get(key)) is not None]
        return [moved for flow, core in known if (moved := self._put(flow, core)) is not None]

    def _move_back(self, moved: list[Moved]) -> list[Moved]:
        """The acknowledgements of flows that have moved, behind them, where `KnownFlows` wants both on the same cables.
        An other way that carries data is a flow like any, and has been placed by itself."""
        behind = []
        for flow, _ in moved:
            other = self._flows.other_way(flow.five_tuple)
            if other is None or self._rate(other) > 0:
                continue
            core = find_way_back(self._switches.topo, flow.src, flow.dst, flow.core)
            if core is not None and core != other.core and (put := self._put(other, core)) is not None:
                behind.append(put)
        return behind

    def _put(self, flow: KnownFlow, core: int) -> Moved | None:
        """Put a flow on a core, and say which switches have to change: downstream first. None: it stays where it is, as
        a switch of its new path cannot be told."""
        before = self._switches.entries(flow)
        after = self._switches.entries(flow, core)
        if not all(name in self._switches.connected for name in after):
            return None
        flow.core = core
        flow.installed_at = self._driver.now()
        return flow, tuple(name for name in after if before.get(name) != after[name])

    def _install(self, moved: list[Moved], done: Callable[[], None]) -> None:
        """Send the entries of flows that have moved, and call ``done`` when all switches have confirmed them."""

        # First the aggregation switches, and the edge switches once those have confirmed: so no packet meets a switch
        # that does not know it. The entry at the old aggregation switch is left to its idle timeout; until then it
        # still leads to the destination.
        def send(edge: bool, then: Callable[[], None]) -> None:
            switches = set()
            for flow, names in moved:
                if self._flows.get(flow.key) is flow:
                    for name in names:
                        if (name == flow.source) == edge:
                            self._switches.install_at(name, flow, modify=True)
                            switches.add(name)
            self._switches.confirm(switches, then)

        send(False, lambda: send(True, done))


def warm_up(settings: RunSpec, tree: Network) -> None:
    """Schedule once for nothing, so that the first round does not wait for compiled code to be loaded."""
    # It has a placement of its own, so that the run's does not spend its draws here.
    placement = make_placement(settings)
    assert placement is not None
    hosts = np.arange(tree.num_hosts)
    src, core = hosts.astype(np.int32), np.zeros(hosts.size, dtype=np.int32)
    flows = ActiveFlows(hosts, src, np.roll(src, tree.num_hosts // 2), np.ones(hosts.size), core, core)
    Scheduler(tree, placement).round(0.0, flows)
