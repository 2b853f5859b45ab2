"""The page by HTTP, on 127.0.0.1 and for whoever has its address, a part of which cannot be guessed."""

from __future__ import annotations

import json
import secrets
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from watch.follower import Follower

HOST = "127.0.0.1"
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Server(ThreadingHTTPServer):
    """Serves a `Follower`. ``port`` 0: any free one. OSError when the port is taken."""

    daemon_threads = True

    def __init__(self, follower: Follower, port: int = 0) -> None:
        super().__init__((HOST, port), _Handler)
        self.secret = secrets.token_urlsafe(16)
        self.follower = follower
        self.lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle of an answer is nothing to tell."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        return f"http://{HOST}:{self.server_port}/{self.secret}/"


class _Handler(BaseHTTPRequestHandler):
    """One request. Users of the machine are many, and web pages elsewhere may send requests here as well: only who
    knows the secret part of the address gets an answer, and only under the server's own name."""

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
        with self.server.lock:
            found = self._found(rest[0])
        if found is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        kind, body = found
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (
            ("Cache-Control", "no-store"), ("Content-Security-Policy", POLICY), ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Resource-Policy", "same-origin"),
        ):  # fmt: skip
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
            try:
                return "text/html", (follower.folder / name).read_bytes()
            except OSError:
                return None
        return None

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a page that asks every second would fill the terminal."""
