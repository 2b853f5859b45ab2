"""The controller on os-ken: ``python -m controllers.os_ken_main --listen 127.0.0.1:6653 --scheme ecmp``.

os-ken 4.2 has no command line of its own, and cannot be ended by a signal.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from importlib.metadata import version
from typing import NoReturn

from os_ken import cfg
from os_ken.base import app_manager
from os_ken.lib import hub

from controllers.eventlog import EventLog
from controllers.os_ken_adapter import OsKenController
from controllers.os_ken_connections import Handshake, serve
from controllers.settings import FLAGS, Settings
from hedera.parameter import parameters_of


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
