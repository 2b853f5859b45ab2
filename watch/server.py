"""The page by HTTP, on 127.0.0.1, for those who have its address, a part of which cannot be guessed."""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import sys
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from files.reader import Unreadable, read_bytes
from hedera.text import one_line
from watch.follower import Follower

HOST = "127.0.0.1"
ASK_S, TAKE_S = 5.0, 60.0
"""How long a browser may take to send a request, and to receive the answer."""
MAX_ASKING = 32
"""How many connections may wait without a request; if there are more, the oldest are closed."""
MAX_BYTES = 256 << 20
"""Of the report."""
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Of every answer."""


class Server(ThreadingHTTPServer):
    """Serves a `Follower`. ``port`` 0: any free one. OSError when the port is taken.

    All users of the machine can connect, and a connection costs a thread. So a connection must send its request soon,
    with the secret part of the address.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, follower: Follower, port: int = 0) -> None:
        super().__init__((HOST, port), _Handler)
        self.secret = secrets.token_urlsafe(16)
        self.follower = follower
        self.lock = threading.Lock()
        self._asking: dict[Any, float] = {}  # connections, the oldest first, and until when they may take

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle a connection in a thread."""
        self._asking[request] = time.monotonic() + ASK_S
        self._send_away(len(self._asking) - MAX_ASKING)
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Twice a second."""
        now = time.monotonic()
        self._send_away(sum(limit < now for limit in list(self._asking.values())))

    def _send_away(self, number: int) -> None:
        for request in list(self._asking)[: max(number, 0)]:
            self.has_asked(request)
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)  # which ends its thread

    def has_asked(self, request: Any) -> None:
        """Note that a connection has sent a valid request, and may take as long as the answer needs, or has ended."""
        self._asking.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        """Called in the connection's thread after the answer."""
        self.has_asked(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report nothing: browsers may disconnect or stall during an answer."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """The page's address for a browser."""
        return f"http://{HOST}:{self.server_port}/{self.secret}/"


class _Handler(BaseHTTPRequestHandler):
    """One request. Other users of the machine, and web pages from elsewhere, may send requests too. Only requests
    with the secret part of the address, and with the server's own name as host, are answered."""

    server: Server
    server_version, sys_version = "hedera", ""

    def do_GET(self) -> None:
        own = {f"{name}:{self.server.server_port}" for name in (HOST, "localhost")}
        _, given, *rest = [*self.path.split("/", 2), ""]
        if self.headers.get("Host") not in own or not secrets.compare_digest(
            given.encode(), self.server.secret.encode()
        ):
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.server.has_asked(self.connection)
        self.connection.settimeout(TAKE_S)
        try:
            with self.server.lock:
                found = self._found(rest[0])
        except (OSError, ValueError) as error:  # the folder was removed
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, explain=one_line(error))
            return
        if found is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        kind, body = found
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _found(self, name: str) -> tuple[str, bytes] | None:
        follower = self.server.follower
        if name == "":
            return "text/html", follower.page().encode()
        if name == "now.json":
            return "application/json", json.dumps(follower.now()).encode()
        if name == "finished.html":
            return "text/html", follower.finished().encode()
        if name == "report.html":
            with contextlib.suppress(Unreadable):
                return "text/html", read_bytes(follower.folder / name, MAX_BYTES)
        return None

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a page that asks every second would fill the terminal."""
