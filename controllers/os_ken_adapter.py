"""The controller as an os-ken application. This file only translates.

Two defects of os-ken's thread hub show here: a handler that raises would end the application without a word,
so each is guarded; and timers run in threads of their own, so ours come back as events.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from os_ken.base import app_manager
from os_ken.controller import event, ofp_event
from os_ken.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
from os_ken.ofproto import ofproto_v1_0 as of
from os_ken.ofproto import ofproto_v1_0_parser as messages

from controllers import nicira
from controllers.core import Controller
from controllers.driver import FlowStat, Match, Rule, guarded
from controllers.eventlog import EventLog
from controllers.packet import FiveTuple
from controllers.settings import Settings

_NO_BUFFER = 0xFFFFFFFF


class _Timer(event.EventBase):
    def __init__(self, function: Callable[[], None]):
        super().__init__()
        self.function = function


class OsKenController(app_manager.OSKenApp):
    """Driver and event source in one: the core's calls become messages, os-ken's events become calls."""

    OFP_VERSIONS = (of.OFP_VERSION,)

    def __init__(self, settings: Settings, log: EventLog):
        super().__init__()
        self._switches: dict[int, Any] = {}
        self.core = Controller(settings, self, log)

    # --- driver -----------------------------------------------------------------------------------------

    def _send(self, dpid: int, message: Callable[..., Any], xid: int | None = None, **fields: Any) -> None:
        datapath = self._switches.get(dpid)
        if datapath is not None:
            built = message(datapath, **fields)
            if xid is not None:
                built.set_xid(xid)
            datapath.send_msg(built)

    def clear(self, dpid: int) -> None:
        self._send(dpid, messages.OFPFlowMod, command=of.OFPFC_DELETE, priority=0)

    def install(self, dpid: int, rule: Rule, modify: bool = False) -> None:
        self._send(
            dpid,
            messages.OFPFlowMod,
            match=_match(rule.match),
            cookie=rule.cookie,
            command=of.OFPFC_MODIFY_STRICT if modify else of.OFPFC_ADD,
            idle_timeout=rule.idle_timeout,
            priority=rule.priority,
            flags=of.OFPFF_SEND_FLOW_REM if rule.notify else 0,
            actions=_actions(rule),
        )

    def packet_out(self, dpid: int, port: int, frame: bytes) -> None:
        self._send(
            dpid, messages.OFPPacketOut, buffer_id=_NO_BUFFER, in_port=of.OFPP_NONE, actions=[_output(port)], data=frame
        )

    def request_flow_stats(self, dpid: int, xid: int) -> None:
        self._send(
            dpid,
            messages.OFPFlowStatsRequest,
            xid,
            flags=0,
            match=messages.OFPMatch(),
            table_id=0xFF,
            out_port=of.OFPP_NONE,
        )

    def barrier(self, dpid: int, xid: int) -> None:
        self._send(dpid, messages.OFPBarrierRequest, xid)

    def call_later(self, delay_s: float, function: Callable[[], None]) -> None:
        hub.spawn_after(delay_s, self._send_event, _Timer(function), None)

    def now(self) -> float:
        return time.monotonic()

    # --- events -----------------------------------------------------------------------------------------

    @set_ev_cls(_Timer)
    @guarded
    def on_timer(self, ev: Any) -> None:
        ev.function()

    @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])
    @guarded
    def on_state_change(self, ev: Any) -> None:
        """A switch has finished its handshake, or its connection is lost."""
        datapath, dpid = ev.datapath, ev.datapath.id
        if ev.state == MAIN_DISPATCHER:
            if dpid in self._switches:
                self.core.switch_down(dpid)  # it came back before the loss of its old connection was noticed
            self._switches[dpid] = datapath
            self._send(dpid, messages.OFPSetConfig, flags=of.OFPC_FRAG_NORMAL, miss_send_len=0xFFFF)
            down = [no for no, port in datapath.ports.items() if port.state & of.OFPPS_LINK_DOWN]
            self.core.switch_up(dpid, down)
        elif self._switches.get(dpid) is datapath:
            del self._switches[dpid]
            self.core.switch_down(dpid)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    @guarded
    def on_packet_in(self, ev: Any) -> None:
        self.core.packet_in(ev.msg.datapath.id, ev.msg.in_port, bytes(ev.msg.data))

    @set_ev_cls(ofp_event.EventOFPFlowStatsReply, MAIN_DISPATCHER)
    @guarded
    def on_flow_stats(self, ev: Any) -> None:
        """Part of a flow-statistics reply; entries without a cookie are no flows."""
        stats = [_stat(entry) for entry in ev.msg.body if entry.cookie]
        more = bool(ev.msg.flags & of.OFPSF_REPLY_MORE)
        self.core.flow_stats(ev.msg.datapath.id, ev.msg.xid, stats, more, ev.msg.msg_len)

    @set_ev_cls(ofp_event.EventOFPFlowRemoved, MAIN_DISPATCHER)
    @guarded
    def on_flow_removed(self, ev: Any) -> None:
        self.core.flow_removed(ev.msg.datapath.id, ev.msg.cookie, ev.msg.reason)

    @set_ev_cls(ofp_event.EventOFPBarrierReply, MAIN_DISPATCHER)
    @guarded
    def on_barrier_reply(self, ev: Any) -> None:
        self.core.barrier_reply(ev.msg.datapath.id, ev.msg.xid)

    @set_ev_cls(ofp_event.EventOFPPortStatus, MAIN_DISPATCHER)
    @guarded
    def on_port_status(self, ev: Any) -> None:
        down = ev.msg.reason == of.OFPPR_DELETE or ev.msg.desc.state & of.OFPPS_LINK_DOWN
        self.core.port_status(ev.msg.datapath.id, ev.msg.desc.port_no, not down)

    @set_ev_cls(ofp_event.EventOFPErrorMsg, MAIN_DISPATCHER)
    @guarded
    def on_error(self, ev: Any) -> None:
        self.core.error(f"switch {ev.msg.datapath.id:#x}: OpenFlow error {ev.msg.type}, code {ev.msg.code}")


def _match(match: Match) -> Any:
    fields: dict[str, Any] = {}
    for field, prefix in (("nw_src", match.src), ("nw_dst", match.dst)):
        if prefix is not None:
            address, length = prefix.split("/")
            fields |= {field: address, f"{field}_mask": int(length)}
    return messages.OFPMatch(
        in_port=match.in_port,
        dl_type=match.ethertype,
        nw_proto=match.protocol,
        tp_src=match.src_port,
        tp_dst=match.dst_port,
        **fields,
    )


class _Raw:
    """Actions that are bytes already: os-ken lacks some of Nicira's and cannot read its own of others."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.len = len(data)

    def serialize(self, buffer: bytearray, offset: int) -> None:
        buffer[offset:] = self._data


def _actions(rule: Rule) -> list[Any]:
    if rule.learn is not None:
        return [_Raw(nicira.actions(rule.learn))]
    return [] if rule.out_port is None else [_output(rule.out_port)]


def _output(port: int) -> Any:
    return messages.OFPActionOutput(port, 0xFFFF)  # to the controller: the whole packet


def _stat(entry: Any) -> FlowStat:
    match = entry.match
    return FlowStat(
        cookie=entry.cookie,
        flow=FiveTuple(match.nw_proto, match["nw_src"], match["nw_dst"], match.tp_src, match.tp_dst),
        out_port=entry.actions[0].port if entry.actions else 0,
        packets=entry.packet_count,
        bytes=entry.byte_count,
        duration_s=entry.duration_sec + entry.duration_nsec * 1e-9,
    )
