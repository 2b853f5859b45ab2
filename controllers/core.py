"""The reactive controller, neutral to the OpenFlow platform: no sockets, no clock, no threads.

It reacts to what an adapter reports and acts through a `Driver`. Everything it knows about flows is soft
state (Hedera section 3.2): a packet that reaches the controller, or an entry in a statistics reply, is
enough to rebuild it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import partial

from controllers.driver import (
    DELETED,
    LAST_PORT,
    ArpRequest,
    Driver,
    EventLog,
    FiveTuple,
    FlowStat,
    compute_delay,
    make_arp_reply,
    parse,
)
from controllers.flowstats import RECALL_S, LearnedFlows, Polls, Recall
from controllers.rules import LearnRules, spread_rules
from controllers.settings import FLAGS, make_placement
from controllers.state import Failures, KnownFlow, KnownFlows, Switches
from record.spec import RunSpec
from topos.fattree import FatTree

# The first packets of a flow all come to the controller until its entries are there: up to 15 of them, within
# milliseconds. None of these means that an entry is missing.
SETTLE_S = 1.0
"""A packet of a known flow that comes this long after its entries were sent means that one is missing."""

# Who reads the log can tell a frozen controller from an idle one (`harness.run.controller.SILENCE_S`).
HEARTBEAT_S = 1.0
"""How often the log says that the controller is alive."""


class Controller:
    """One scheme's controller. Adapters call its methods, from one thread."""

    def __init__(self, settings: RunSpec, driver: Driver, log: EventLog):
        self._settings = settings
        self._topo = settings.network()
        self._driver = driver
        self._log = log
        self._confirmed: set[str] = set()
        self._ready = False
        gap_us = settings.chosen.gap_us
        self._routing = (
            None if gap_us is not None else settings.chosen.routing(self._topo, settings.seed, settings.options)
        )
        self._flows = KnownFlows(self._topo, self._routing, log, settings.ack_paths == "with-data")
        self._failures = self._hedera = self._learned = None
        self._switches = Switches(self._topo, driver)
        if self._routing is not None and settings.new_flows == "switch":
            assert isinstance(self._topo, FatTree), "`RunSpec` sees to it"
            learning = LearnRules(self._topo, self._routing, settings.reading_s)
            self._switches = Switches(self._topo, driver, learning.rules)
            self._learned = LearnedFlows(self._switches, self._flows, self._move_around_failures)
        if gap_us is not None:
            self._switches = Switches(self._topo, driver, partial(spread_rules, self._topo, gap_us))
        self._recalls = Polls(self._switches, self._take_recalled, RECALL_S)
        if self._routing is not None:
            self._failures = Failures(self._topo, self._routing.links)
            self._recall = Recall(self._switches, self._flows, log)
            placement = make_placement(settings, self._routing)
            if placement is not None:
                # It is imported here, because Numba takes half a second that static schemes need not pay.
                from controllers.hedera_loop import HederaLoop

                links = self._routing.links
                self._hedera = HederaLoop(
                    settings, placement, self._switches, self._flows, links, log, self._recall, self._learned
                )

    def started(self, platform: str, version: str, listen: str) -> None:
        """The platform listens for switches at ``listen``."""
        flags = {name: value for name in FLAGS if (value := getattr(self._settings, name)) is not None}
        bw_mbps = flags.pop("link_mbps")
        self._log("start", platform=platform, platform_version=version, listen=listen, bw_mbps=bw_mbps, **flags)
        self._log_alive()

    def _log_alive(self) -> None:
        self._log("alive", processor_s=round(time.process_time(), 3), **self._switches.counts)
        # It comes half way between two seconds, because readings begin at whole ones: which of two things at one moment
        # comes first would be chance.
        self._driver.call_later(
            compute_delay(self._driver.now(), HEARTBEAT_S, HEARTBEAT_S / 2) or HEARTBEAT_S, self._log_alive
        )

    def error(self, message: str) -> None:
        """Something went wrong that does not stop the controller: it is logged."""
        self._log("error", message=message)

    # --- switches ---------------------------------------------------------------------------------------

    def switch_up(self, dpid: int, down_ports: Iterable[int] = ()) -> None:
        """A switch has connected, for the first time or again. Known flows get their entries back."""
        name = self._switches.name(dpid)
        if name is None:
            self.error(f"switch {dpid:#x} is not part of this network and is left alone")
            return
        self._log("switch", dpid=dpid, name=name, state="up")
        if self._failures is not None:
            self._failures.switch_up(name)
        for port in down_ports:
            self.port_status(dpid, port, up=False)
        if self._routing is not None and self._topo.layer(name) != "core":
            # A controller that has just started knows nothing of flows under way but what is in this switch's table. So
            # it asks for that before it gives the switch rules, which begins by emptying the table.
            self._recalls.ask([name])
        else:
            self._greet(name)

    def _take_recalled(self, name: str, stats: list[FlowStat], asked_at: float) -> None:
        """A switch has told what is in its table, or has had time enough to."""
        for stat in stats:
            self._recall.know(name, stat)
        self._greet(name)

    def _greet(self, name: str) -> None:
        """Give a switch its rules and the entries of known flows, in the place of what was in its table."""
        self._switches.up(name)
        for flow in self._flows:
            if name in self._switches.entries(flow):
                self._switches.install_at(name, flow)
        if self._failures is not None:
            self._failures.under_control(name)
            self._move_around_failures()  # also the flows that could not be told while the switch was away
        self._switches.confirm([name], lambda: self._confirm(name))

    def _confirm(self, name: str) -> None:
        # A switch that is lost before it has answered is told to have confirmed, so that nobody waits for it.
        if name not in self._switches.connected:
            return
        self._confirmed.add(name)
        if len(self._confirmed) == self._topo.num_switches and not self._ready:
            self._ready = True
            if self._routing is not None:
                self._recall.finish()
            self._log("ready", switches=len(self._confirmed))
            if self._hedera is not None:
                self._hedera.start()
            elif self._learned is not None:
                self._learned.start(self._settings.reading_s)

    def switch_down(self, dpid: int) -> None:
        """The control connection to a switch is lost. The switch goes on forwarding (secure mode)."""
        name = self._switches.name(dpid)
        if name is None or name not in self._recalls.waiting | self._switches.connected:
            return
        self._recalls.lost(name)
        self._log("switch", dpid=dpid, name=name, state="down")
        self._confirmed.discard(name)
        self._switches.down(name)
        if self._hedera is not None:
            self._hedera.switch_down(name)
        if self._learned is not None:
            self._learned.polls.lost(name)
        if self._failures is not None and self._failures.switch_down(name):
            self._move_around_failures()

    def port_status(self, dpid: int, port: int, up: bool) -> None:
        name = self._switches.name(dpid)
        if name is not None and port <= LAST_PORT:
            self._log("port", dpid=dpid, name=name, port=port, state="up" if up else "down")
            if self._failures is not None and self._failures.port_status(name, port, up):
                self._move_around_failures()

    def _move_around_failures(self) -> None:
        """Move the flows whose path is broken to the static path that is left, if any; all others stay."""
        assert self._routing is not None
        if self._routing.links.intact:
            return
        usable = self._routing.links.usable
        flows = list(self._flows)
        src, dst, cores = ([getattr(flow, name) for flow in flows] for name in ("src", "dst", "core"))
        for flow, works in zip(flows, usable(src, dst, cores), strict=True):
            if works:
                continue
            core = self._flows.route(flow.five_tuple, flow.src, flow.dst)
            reachable = self._switches.connected.issuperset(self._switches.entries(flow, core))
            # A flow stays where it is until all switches of its new path can be told: half of a path leads nowhere.
            if reachable and usable([flow.src], [flow.dst], [core])[0]:
                flow.core = flow.hashed = core
                flow.installed_at = self._driver.now()
                self._switches.install(flow, modify=True)
                self._log("reroute", key=flow.key, core=core, round=None)

    def barrier_reply(self, dpid: int, xid: int) -> None:
        """A switch has done everything it was sent before barrier ``xid``."""
        self._switches.barrier_reply(dpid, xid)

    # --- packets ----------------------------------------------------------------------------------------

    def packet_in(self, dpid: int, in_port: int, frame: bytes) -> None:
        """A switch has sent a whole frame, because its table does not say where the frame goes."""
        self._switches.counts["packet_ins"] += 1
        name, packet = self._switches.name(dpid), parse(frame)
        if name is None or packet is None:
            return
        if isinstance(packet, ArpRequest):
            self._answer(dpid, in_port, packet)
        elif self._routing is not None:
            flow = self._find_flow(name, packet)
            if flow is not None and (port := self._switches.port(name, flow)) is not None:
                self._switches.packet_out(dpid, port, frame)

    def _answer(self, dpid: int, in_port: int, request: ArpRequest) -> None:
        """Addresses follow from the addressing rule, so ARP needs no flooding and no learning."""
        host = self._topo.host_by_ip.get(request.target_ip)
        if host is not None:
            self._switches.packet_out(dpid, in_port, make_arp_reply(request, self._topo.host_mac(host)))

    def _find_flow(self, switch: str, packet: FiveTuple) -> KnownFlow | None:
        """The flow of a packet, with its entries sent if they have to be; None if it is not a host's of ours.

        Idempotent: a known flow keeps its path, and as long as its entries are fresh nothing is sent.
        """
        flow, now = self._flows.find(packet), self._driver.now()
        if flow is not None:
            if now - flow.installed_at > SETTLE_S:
                flow.installed_at = now
                self._switches.install(flow, modify=True)
            return flow
        if (ends := self._flows.ends(switch, packet)) is None:
            return None
        flow = self._flows.add(packet, *ends, self._flows.route(packet, *ends), now, reason="hashed")
        self._switches.install(flow)
        return flow

    # --- expiry and statistics --------------------------------------------------------------------------

    def flow_removed(self, dpid: int, key: int, reason: int) -> None:
        """An entry is gone from a switch. Its expiry at the source's edge switch ends the flow."""
        flow = self._flows.get(key)
        if flow is not None and reason != DELETED and self._topo.dpid(flow.source) == dpid:
            self._flows.expire(flow)

    def flow_stats(self, dpid: int, xid: int, stats: Iterable[FlowStat], more: bool, size: int = 0) -> None:
        """One part of a flow-statistics reply, of ``size`` bytes; ``more`` says that another part follows."""
        self._switches.counts["statistics_bytes"] += size
        stats = list(stats)
        for asker in (self._learned, self._hedera):
            if asker is not None:
                asker.polls.reply(dpid, xid, stats, more)
        self._recalls.reply(dpid, xid, stats, more)
