"""Switches that speak OpenFlow 1.0 over loopback TCP to a real controller process, and remember what they hear."""

import contextlib
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from harness.network.machine import find_pox, is_too_old_pox, read_pox_version
from tests.commands import PATIENCE_S

HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, FEATURES_REQUEST, FEATURES_REPLY = 0, 1, 2, 3, 5, 6
PACKET_IN, FLOW_REMOVED, PORT_STATUS, PACKET_OUT, FLOW_MOD = 10, 11, 12, 13, 14
STATS_REQUEST, STATS_REPLY, BARRIER_REQUEST, BARRIER_REPLY = 16, 17, 18, 19
DESC, FLOW = 0, 1
ADD, MODIFY_STRICT, DELETE = 0, 2, 3
REPOSITORY = Path(__file__).parents[2]


def message(kind, body=b"", xid=0):
    return struct.pack("!BBHI", 1, kind, 8 + len(body), xid) + body


def port_body(number, up=True):
    name = f"p{number}".encode()
    return struct.pack("!H6s16sIIIIII", number, bytes(6), name, 0, 0 if up else 1, 0, 0, 0, 0)


class FakeSwitch:
    """One switch and its connection. ``heard`` holds every message as (type, xid, body)."""

    def __init__(self, dpid, ports=()):
        self.dpid = dpid
        self.ports = ports
        self.heard = []
        self.counters = {}  # by cookie: packets, bytes
        self.answer_stats = True
        self.sock = None

    def connect(self, address):
        self.buffer = b""
        self.sock = socket.create_connection(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.send(HELLO)

    def send(self, kind, body=b"", xid=0):
        self.sock.sendall(message(kind, body, xid))

    def read(self):
        """Take what has arrived, and answer; False at the end of the connection."""
        data = self.sock.recv(65536)
        if not data:
            return False
        self.buffer += data
        while len(self.buffer) >= 8:
            _, kind, length, xid = struct.unpack_from("!BBHI", self.buffer)
            if len(self.buffer) < length:
                break
            body, self.buffer = self.buffer[8:length], self.buffer[length:]
            self._answer(kind, xid, body)
            self.heard.append((kind, xid, body))
        return True

    def _answer(self, kind, xid, body):
        if kind == FEATURES_REQUEST:
            head = struct.pack("!QIB3xII", self.dpid, 0, 1, 0xC7, 0xFFF)
            self.send(FEATURES_REPLY, head + b"".join(port_body(*port) for port in self.ports), xid)
        elif kind == ECHO_REQUEST:
            self.send(ECHO_REPLY, body, xid)
        elif kind == BARRIER_REQUEST:
            self.send(BARRIER_REPLY, xid=xid)
        elif kind == STATS_REQUEST and struct.unpack_from("!H", body)[0] == DESC:
            self.send(STATS_REPLY, struct.pack("!HH", DESC, 0) + bytes(1056), xid)
        elif kind == STATS_REQUEST and self.answer_stats:
            entries = [self._stat(*entry) for entry in self.entries().values() if entry[1]]
            for entry in entries:  # one part each, to be put together again
                self.send(STATS_REPLY, struct.pack("!HH", FLOW, 1) + entry, xid)
            self.send(STATS_REPLY, struct.pack("!HH", FLOW, 0), xid)

    def entries(self):
        """The flow table by match and priority: match, cookie, idle timeout, actions."""
        table = {}
        for kind, _, body in list(self.heard):
            if kind == FLOW_MOD:
                cookie, command, idle, _, priority = struct.unpack_from("!QHHHH", body, 40)
                if command == DELETE:
                    table.clear()
                else:
                    table[body[:40], priority] = (body[:40], cookie, idle, body[64:])
        return table

    def _stat(self, match, cookie, idle, actions):
        packets, size, age = self.counters.get(cookie, (0, 0, 1.0))
        seconds, rest = divmod(age, 1)
        tail = struct.pack("!IIHHH6xQQQ", int(seconds), int(rest * 1e9), 400, idle, 0, cookie, packets, size)
        return struct.pack("!HBx", 88 + len(actions), 0) + match + tail + actions

    def flow_mods(self):
        """(command, cookie, out ports) of each flow-mod heard."""
        mods = []
        for kind, _, body in list(self.heard):
            if kind == FLOW_MOD:
                cookie, command = struct.unpack_from("!QH", body, 40)
                outputs = [struct.unpack_from("!H", body, at + 4)[0] for at in range(64, len(body), 8)]
                mods.append((command, cookie, outputs))
        return mods

    def packet_in(self, in_port, frame):
        self.send(PACKET_IN, struct.pack("!IHHBx", 0xFFFFFFFF, len(frame), in_port, 0) + frame)

    def flow_removed(self, cookie, reason=0):
        body = bytes(40) + struct.pack("!QHBxIIH2xQQ", cookie, 400, reason, 1, 0, 5, 0, 0)
        self.send(FLOW_REMOVED, body)

    def packet_outs(self):
        """(out port, frame) of each packet-out heard."""
        outs = []
        for kind, _, body in list(self.heard):
            if kind == PACKET_OUT:
                _, _, length = struct.unpack_from("!IHH", body)
                outs.append((struct.unpack_from("!H", body, 12)[0], body[8 + length :]))
        return outs


class FakeSwitches(contextlib.ExitStack):
    """Every switch of a topology, served by one thread."""

    def __init__(self, topo, address):
        super().__init__()
        self.topo, self.address = topo, address
        self.by_name = {name: FakeSwitch(topo.dpid(name)) for name in topo.switches}
        self.selector = selectors.DefaultSelector()
        self.running = True
        self.thread = threading.Thread(target=self._serve)

    def __enter__(self):
        for switch in self.by_name.values():
            self.connect(switch)
        self.thread.start()
        self.callback(self._stop)
        return self

    def __getitem__(self, name):
        return self.by_name[name]

    def connect(self, switch):
        switch.connect(self.address)
        self.selector.register(switch.sock, selectors.EVENT_READ, switch)

    def disconnect(self, switch):
        self.selector.unregister(switch.sock)
        switch.sock.close()

    def _serve(self):
        while self.running:
            for key, _ in self.selector.select(0.02):
                with contextlib.suppress(KeyError, OSError):
                    if not key.data.read():
                        self.selector.unregister(key.fileobj)

    def _stop(self):
        self.running = False
        self.thread.join()
        for switch in self.by_name.values():
            switch.sock.close()


def wait_for(condition, seconds=PATIENCE_S):
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.005)
    return result


POX = find_pox()
WITHOUT_POX = (
    "no POX checkout, so nothing runs on it: POX_DIR is not set, and neither ~/pox nor /opt/pox is there"
    if POX is None
    else f"POX {read_pox_version(POX)} needs Python 2"
    if is_too_old_pox(POX)
    else ""
)
PLATFORMS = ["os-ken"] if WITHOUT_POX else ["os-ken", "pox"]
"""Those that there are."""


def command(platform, listen, log, **settings):
    """The argument list that starts a controller, and the environment it needs."""
    address, port = listen
    flags = [f"--{name}={value}" for name, value in {**settings, "log": log}.items()]
    if platform == "os-ken":
        return [sys.executable, "-m", "controllers.os_ken_main", f"--listen={address}:{port}", *flags]
    listener = ["openflow.of_01", f"--address={address}", f"--port={port}"]
    pox = [sys.executable, "-m", "controllers.pox_main", str(POX)]
    return [*pox, *listener, "controllers.pox_component", *flags]


class ControllerProcess:
    """A controller on loopback, ended at the end of the block if the test has not done so."""

    def __init__(self, platform, folder, **settings):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = probe.getsockname()
        self.log = Path(folder) / f"{platform}-{self.address[1]}.jsonl"
        self.errors = open(self.log.with_suffix(".err"), "w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            command(platform, self.address, self.log, **settings),
            env=dict(os.environ, PYTHONPATH=str(REPOSITORY)),
            cwd=folder,
            stdout=self.errors,
            stderr=self.errors,
            # A shell that starts the tests in the background has them ignore Ctrl-C, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def __enter__(self):
        self.wait_event("start")
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        self.errors.close()

    def events(self, kind=None):
        if not self.log.exists():
            assert self.process.poll() is None, self.stderr()
            return []
        lines = [json.loads(line) for line in self.log.read_text().splitlines(keepends=True) if line[-1] == "\n"]
        return [event for event in lines if kind in (None, event["event"])]

    def wait_event(self, kind, count=1, seconds=PATIENCE_S):
        return wait_for(lambda: (found := self.events(kind))[count - 1 :] and found, seconds)

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read()

    def stop(self, number=signal.SIGTERM):
        """Exit status; TimeoutExpired when it does not end by itself."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)
