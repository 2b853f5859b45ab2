"""os-ken's connections to switches, with what is wrong with them put right."""

from __future__ import annotations

import contextlib
import logging
import socket
from typing import Any

from os_ken.base import app_manager
from os_ken.controller import controller as os_ken_controller
from os_ken.controller import ofp_handler
from os_ken.lib import hub


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
        """Handle events, and accept switches."""
        app_manager.OSKenApp.start(self)
        return hub.spawn(self._server.serve_forever)
