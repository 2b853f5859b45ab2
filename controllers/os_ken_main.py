"""The controller on os-ken: ``python -m controllers.os_ken_main --listen 127.0.0.1:6653 --scheme ecmp``.

os-ken 4.2 has no command line of its own, and cannot be ended by a signal.
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
from importlib.metadata import version
from typing import Any, NoReturn

from os_ken import cfg
from os_ken.base import app_manager
from os_ken.controller import controller as os_ken_controller
from os_ken.controller import ofp_handler
from os_ken.lib import hub

from controllers.eventlog import EventLog
from controllers.os_ken_adapter import OsKenController
from controllers.settings import FLAGS, Settings
from hedera.parameter import parameters_of


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
    """os-ken's part of the conversation, on a listener that is already open.

    os-ken's own would be opened in a thread, where a failure goes unseen. Its handler for error messages is
    left out: it fails on every one of OpenFlow 1.0, and the switch is lost.
    """

    error_msg_handler = None

    def __init__(self, server: hub.StreamServer):
        super().__init__()
        self._server = server

    def start(self) -> Any:
        app_manager.OSKenApp.start(self)
        return hub.spawn(self._server.serve_forever)


def _arguments(argv: list[str] | None) -> tuple[Settings, str, int, str | None]:
    """Settings, address, port and log file from the command line; exits with 2 and one sentence if wrong."""
    parser = argparse.ArgumentParser(prog="controllers.os_ken_main", description=__doc__.split("\n")[0])
    parser.error = _refuse  # type: ignore[method-assign]
    parser.add_argument("--listen", default="127.0.0.1:6653", metavar="ADDR:PORT", help="where switches connect")
    parser.add_argument("--log", metavar="FILE", help="append events to this file, one JSON object per line")
    known = parameters_of(Settings)
    for name, flag in FLAGS.items():
        parser.add_argument(f"--{flag}", help=known[name].help.replace("%", "%%"))
    given = {name: text for name, text in vars(parser.parse_args(argv)).items() if text is not None}
    address, _, port = given.pop("listen").rpartition(":")
    log = given.pop("log", None)
    if not address or not port.isdecimal() or not 0 < int(port) < 65536:
        _refuse("--listen needs an address and a port, such as 127.0.0.1:6653")
    try:
        return Settings.from_text(given), address, int(port), log
    except ValueError as error:
        _refuse(str(error))


def _refuse(message: str, status: int = 2) -> NoReturn:
    print(f"controllers.os_ken_main: {message}", file=sys.stderr)
    sys.exit(status)


def main(argv: list[str] | None = None) -> NoReturn:
    """Run until SIGTERM or SIGINT, then exit with 0. Exit 2: wrong use; 1: cannot listen or log there."""
    settings, address, port, log_path = _arguments(argv)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    try:
        log = EventLog(log_path)
        server = hub.StreamServer((address, port), serve)
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
    os._exit(0)  # the hub's threads cannot be ended: each blocks on its socket or queue


if __name__ == "__main__":
    main()
