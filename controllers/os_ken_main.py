"""The controller on os-ken: ``python -m controllers.os_ken_main --listen 127.0.0.1:6653 --scheme ecmp``.

os-ken 4.2 has no command line of its own, and cannot be ended by a signal. Two defects of its thread hub show here: a
handler that raises would end the application without a word, so each is guarded; and timers run in threads of their
own, so ours come back as events.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NoReturn

from os_ken import cfg
from os_ken.base import app_manager
from os_ken.controller import controller as os_ken_controller
from os_ken.controller import event, ofp_event, ofp_handler
from os_ken.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
from os_ken.ofproto import ofproto_v1_0 as of
from os_ken.ofproto import ofproto_v1_0_parser as messages

from controllers.core import Controller
from controllers.driver import EventLog, FiveTuple, FlowStat, Match, Rule, guarded
from controllers.rules import encode_nicira_actions
from controllers.settings import FLAGS, parse_settings
from record.spec import RunSpec, list_options

# All switches call at the same moment. os-ken lets 50 wait, and the rest would try again only after seconds.
CALLERS = 4096
"""So many switches may call at once."""
_NO_BUFFER = 0xFFFFFFFF


class _Timer(event.EventBase):
    def __init__(self, function: Callable[[], None]):
        super().__init__()
        self.function = function


class OsKenController(app_manager.OSKenApp):
    """Driver and event source in one: the core's calls become messages, os-ken's events become calls."""

    OFP_VERSIONS = (of.OFP_VERSION,)

    def __init__(self, settings: RunSpec, log: EventLog):
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
            match=_encode_match(rule.match),
            cookie=rule.cookie,
            command=of.OFPFC_MODIFY_STRICT if modify else of.OFPFC_ADD,
            idle_timeout=rule.idle_timeout,
            priority=rule.priority,
            flags=of.OFPFF_SEND_FLOW_REM if rule.notify else 0,
            actions=_make_actions(rule),
        )

    def packet_out(self, dpid: int, port: int, frame: bytes) -> None:
        self._send(
            dpid,
            messages.OFPPacketOut,
            buffer_id=_NO_BUFFER,
            in_port=of.OFPP_NONE,
            actions=[_make_output(port)],
            data=frame,
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
        stats = [_read_stat(entry) for entry in ev.msg.body if entry.cookie]
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


def _encode_match(match: Match) -> Any:
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


def _make_actions(rule: Rule) -> list[Any]:
    if rule.vendor is not None:
        return [_Raw(encode_nicira_actions(rule.vendor))]
    return [] if rule.out_port is None else [_make_output(rule.out_port)]


def _make_output(port: int) -> Any:
    return messages.OFPActionOutput(port, 0xFFFF)  # to the controller: the whole packet


def _read_stat(entry: Any) -> FlowStat:
    match = entry.match
    return FlowStat(
        cookie=entry.cookie,
        flow=FiveTuple(match.nw_proto, match["nw_src"], match["nw_dst"], match.tp_src, match.tp_dst),
        out_port=entry.actions[0].port if entry.actions else 0,
        packets=entry.packet_count,
        bytes=entry.byte_count,
        duration_s=entry.duration_sec + entry.duration_nsec * 1e-9,
    )


class _Datapath(os_ken_controller.Datapath):
    """Ends the send loop with the receive loop; os-ken waits for it forever and so never reports the loss."""

    def _recv_loop(self) -> None:
        try:
            super()._recv_loop()
        finally:
            self.send(b"", close_socket=True)


def serve(sock: socket.socket, address: tuple[str, int]) -> None:
    """One switch's connection, from accept to loss: the handler of an `os_ken.lib.hub.StreamServer`."""
    with contextlib.closing(_Datapath(sock, address)) as datapath:
        try:
            datapath.serve()
        except Exception:
            # Most likely a message that os-ken cannot parse. The hub would swallow it.
            logging.exception("the connection from %s:%d has failed", *address)


class Handshake(ofp_handler.OFPHandler):
    """os-ken's part of the conversation, on a listener that is already open."""

    # os-ken would open its own listener in a thread, where a failure goes unseen. Its handler for error messages fails
    # on every one of OpenFlow 1.0, and the switch is lost; ours logs them (`OsKenController.on_error`).
    error_msg_handler = None

    def __init__(self, server: hub.StreamServer):
        super().__init__()
        self._server = server

    def start(self) -> Any:
        app_manager.OSKenApp.start(self)
        return hub.spawn(self._server.serve_forever)


def _parse_arguments(argv: list[str] | None) -> tuple[RunSpec, str, int, str | None]:
    """Settings, address, port and log file from the command line; exits with 2 and one sentence if wrong."""
    parser = argparse.ArgumentParser(prog="controllers.os_ken_main", description=__doc__.split("\n")[0])
    parser.error = _refuse  # type: ignore[method-assign]
    parser.add_argument("--listen", default="127.0.0.1:6653", metavar="ADDR:PORT", help="where switches connect")
    parser.add_argument("--log", metavar="FILE", help="append events to this file, one JSON object per line")
    known = list_options(RunSpec)
    for name, flag in FLAGS.items():
        parser.add_argument(f"--{flag}", help=known[name].help.replace("%", "%%"))
    arguments = {name: text for name, text in vars(parser.parse_args(argv)).items() if text is not None}
    address, _, port = arguments.pop("listen").rpartition(":")
    log = arguments.pop("log", None)
    if not address or not port.isdecimal() or not 0 < int(port) < 65536:
        _refuse("--listen needs an address and a port, such as 127.0.0.1:6653")
    try:
        return parse_settings(arguments), address, int(port), log
    except ValueError as error:
        _refuse(str(error))


def _refuse(message: str, status: int = 2) -> NoReturn:
    print(f"controllers.os_ken_main: {message}", file=sys.stderr)
    sys.exit(status)


def main(argv: list[str] | None = None) -> NoReturn:
    """Run until SIGTERM or SIGINT, then exit with 0. Exit 2: wrong use; 1: cannot listen or log there."""
    settings, address, port, log_path = _parse_arguments(argv)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    try:
        log = EventLog(log_path)
        server = hub.StreamServer((address, port), serve)
        server.server.listen(CALLERS)
    except OSError as error:
        _refuse(f"cannot use {error.filename or f'{address}:{port}'}: {error.strerror}", status=1)
    cfg.CONF([], project="os_ken", default_config_files=[])
    manager = app_manager.AppManager.get_instance()
    handler = manager.instantiate(Handshake, server)
    app = manager.instantiate(OsKenController, settings, log)
    app.start()
    handler.start()
    app.core.started("os-ken", version("os-ken"), f"{address}:{port}")
    stop.wait()
    log.close()
    # The hub's threads cannot be ended, because each of them blocks on its socket or queue.
    os._exit(0)


if __name__ == "__main__":
    main()
