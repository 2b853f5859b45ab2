"""The controller as a POX component, started in the repository's folder:

    python -m controllers.pox_main ~/pox openflow.of_01 --address=127.0.0.1 --port=6653 \\
        controllers.pox_component --scheme=hedera-gff --k=4

Name ``openflow.of_01`` first; without it POX listens on every address. Any branch from gar (0.7) on will
do. POX calls everything from one cooperative thread, so this file only translates.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

import pox.openflow.libopenflow_01 as of
from pox.core import core

from controllers.core import Controller
from controllers.driver import EventLog, FiveTuple, FlowStat, Match, Rule, guarded
from controllers.rules import encode_nicira_actions
from controllers.settings import from_ripl_pox, parse_settings
from record.spec import RunSpec

_REPLY_HEADER = 12  # bytes of a statistics reply before its first entry


def _refuse(message: str, status: int) -> NoReturn:
    print(f"controllers.pox_component: {message}", file=sys.stderr, flush=True)
    os._exit(status)  # POX turns SystemExit into status 0


class PoxController:
    """Driver and event source in one: the core's calls become messages, POX's events become calls."""

    def __init__(self, settings: RunSpec, log: EventLog):
        self._log = log
        self._connections: dict[int, Any] = {}
        self.core = Controller(settings, self, log)
        core.openflow.miss_send_len = 0xFFFF
        # We clear them ourselves: Open vSwitch does not take POX's match for one of everything.
        core.openflow.clear_flows_on_connect = False
        core.openflow.addListeners(self)
        core.addListeners(self)

    # --- driver ----------------------------------------------------------------------------------------

    def clear(self, dpid: int) -> None:
        self._send(dpid, of.ofp_flow_mod(command=of.OFPFC_DELETE, priority=0, match=_encode_match(Match())))

    def install(self, dpid: int, rule: Rule, modify: bool = False) -> None:
        message = of.ofp_flow_mod(
            match=_encode_match(rule.match),
            cookie=rule.cookie,
            command=of.OFPFC_MODIFY_STRICT if modify else of.OFPFC_ADD,
            idle_timeout=rule.idle_timeout,
            priority=rule.priority,
            flags=of.OFPFF_SEND_FLOW_REM if rule.notify else 0,
            actions=_make_actions(rule),
        )
        self._send(dpid, message)

    def packet_out(self, dpid: int, port: int, frame: bytes) -> None:
        self._send(dpid, of.ofp_packet_out(data=frame, action=_make_output(port)))

    def request_flow_stats(self, dpid: int, xid: int) -> None:
        body = of.ofp_flow_stats_request(match=_encode_match(Match()))
        self._send(dpid, of.ofp_stats_request(xid=xid, body=body))

    def barrier(self, dpid: int, xid: int) -> None:
        self._send(dpid, of.ofp_barrier_request(xid=xid))

    def call_later(self, delay_s: float, function: Callable[[], None]) -> None:
        core.call_delayed(delay_s, self._call_timer, function)

    def now(self) -> float:
        return time.monotonic()

    def _send(self, dpid: int, message: Any) -> None:
        connection = self._connections.get(dpid)
        if connection is not None:
            connection.send(message)

    # --- events ----------------------------------------------------------------------------------------

    @guarded
    def _call_timer(self, function: Callable[[], None]) -> None:
        function()

    def _handle_UpEvent(self, event: Any) -> None:
        core.callLater(self._started)  # POX 0.7 says that it is up before it listens, and from another thread

    @guarded
    def _started(self) -> None:
        listener = core.components.get("of_01")
        listen = f"{listener.address}:{listener.port}" if listener else "0.0.0.0:6633"
        self.core.started("pox", f"{'.'.join(map(str, core.version))} ({core.version_name})", listen)

    @guarded
    def _handle_GoingDownEvent(self, event: Any) -> None:
        self._log.close()

    @guarded
    def _handle_ConnectionUp(self, event: Any) -> None:
        if event.dpid in self._connections:
            self.core.switch_down(event.dpid)  # it came back before the loss of its old connection was noticed
        self._connections[event.dpid] = event.connection
        # Without it a flow's second message waits for the acknowledgement of the first: 43 ms.
        event.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        down = [port.port_no for port in event.ofp.ports if port.state & of.OFPPS_LINK_DOWN]
        self.core.switch_up(event.dpid, down)

    @guarded
    def _handle_ConnectionDown(self, event: Any) -> None:
        # POX would forget the new connection of a switch along with the old one: so we keep them ourselves.
        if self._connections.get(event.dpid) is event.connection:
            del self._connections[event.dpid]
            self.core.switch_down(event.dpid)

    @guarded
    def _handle_PacketIn(self, event: Any) -> None:
        self.core.packet_in(event.dpid, event.port, event.data)

    @guarded
    def _handle_RawStatsReply(self, event: Any) -> None:
        # Not FlowStatsReceived: it stops coming for good once a part of a reply has been lost.
        reply = event.ofp
        if reply.type == of.OFPST_FLOW:
            stats = [_read_stat(entry) for entry in reply.body if entry.cookie]
            size = _REPLY_HEADER + sum(map(len, reply.body))
            self.core.flow_stats(event.dpid, reply.xid, stats, not reply.is_last_reply, size)

    @guarded
    def _handle_FlowRemoved(self, event: Any) -> None:
        self.core.flow_removed(event.dpid, event.ofp.cookie, event.ofp.reason)

    @guarded
    def _handle_BarrierIn(self, event: Any) -> None:
        self.core.barrier_reply(event.dpid, event.xid)

    @guarded
    def _handle_PortStatus(self, event: Any) -> None:
        down = event.deleted or event.ofp.desc.state & of.OFPPS_LINK_DOWN
        self.core.port_status(event.dpid, event.port, not down)

    @guarded
    def _handle_ErrorIn(self, event: Any) -> None:
        self.core.error(f"switch {event.dpid:#x}: OpenFlow error {event.ofp.type}, code {event.ofp.code}")


def _encode_match(match: Match) -> Any:
    built = of.ofp_match(
        in_port=match.in_port,
        dl_type=match.ethertype,
        nw_proto=match.protocol,
        tp_src=match.src_port,
        tp_dst=match.dst_port,
    )
    built.nw_src, built.nw_dst = match.src, match.dst
    built.adjust_wildcards = False  # send them as they are: POX would turn some into zeros to match
    return built


class _Raw:
    """Actions that are bytes already: POX has none of Nicira's for this."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def pack(self) -> bytes:
        return self._data

    def __len__(self) -> int:
        return len(self._data)


def _make_actions(rule: Rule) -> list[Any]:
    if rule.vendor is not None:
        return [_Raw(encode_nicira_actions(rule.vendor))]
    return [] if rule.out_port is None else [_make_output(rule.out_port)]


def _make_output(port: int) -> Any:
    return of.ofp_action_output(port=port)


def _read_stat(entry: Any) -> FlowStat:
    match = entry.match
    return FlowStat(
        cookie=entry.cookie,
        flow=FiveTuple(match.nw_proto or 0, str(match.nw_src), str(match.nw_dst), match.tp_src or 0, match.tp_dst or 0),
        out_port=entry.actions[0].port if entry.actions else 0,
        packets=entry.packet_count,
        bytes=entry.byte_count,
        duration_s=entry.duration_sec + entry.duration_nsec * 1e-9,
    )


def launch(log: str | None = None, **arguments: str) -> None:
    """Start the controller. Also takes RipL-POX's arguments: topo=ft,4 routing=hashed|st|random mode=hybrid.

    Wrong use ends POX with status 2 and one sentence; a log file that cannot be opened, with 1.
    """
    try:
        arguments, note = from_ripl_pox(arguments)
        settings = parse_settings(arguments)
    except ValueError as error:
        _refuse(str(error), status=2)
    if note:
        core.getLogger("hedera").info(note)
    try:
        events = EventLog(log)
    except OSError as error:
        _refuse(f"cannot use {error.filename}: {error.strerror}", status=1)
    core.registerNew(PoxController, settings, events)
