"""Carries a scenario out on Linux, with real sockets; inside a guest, as its root.

python -m studies.hull.lab SCENARIO.json RESULT

A scenario and what comes of it are those of the packet engine (docs/notes/packet-engine.md), for a star: one switch,
one client. The network is the harness's own; its ports have the phantom queues and the pacers of our guests' kernel.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from harness.network.fabric import Fabric, FabricOptions
from harness.network.host_setup import Tcp, permit
from harness.network.netlink import EPORT, Eport, Netlink, call_inside
from harness.network.processes import Children
from harness.network.shaping import Shape
from harness.run.observation import read_tcp_counters
from record.files import temporary_folder
from record.spec import Phantom
from studies import star
from topos.arrays import Int64
from topos.fattree import port_name
from topos.network import NonBlocking
from topos.wire import ETHERNET_HEADER
from traffic.flows import SERVER_PORT

IP_AND_TCP = 40
"""Bytes of headers; the engine's frames have no other."""
WATCHED = port_name(NonBlocking.SWITCH, 1)
"""The switch's port to the client."""
BLOCK = 1 << 20
"""The kernel throws so much away before a client's program is asked again."""
REPLY = memoryview(bytes(BLOCK))
_BYTES_RECEIVED = struct.Struct("=128xQ")
"""Of TCP_INFO."""
_SET_TIMER_SLACK = 29
PATIENCE_S = 60.0


def shape_of(scenario: dict[str, Any]) -> Shape:
    """Of the switch's ports, which are all alike, and hosts have the same rate; these do not mark. A queue marks above
    so many bytes that wait, and here its length has the packet that is being sent as well."""
    link = next(one for one in scenario["links"] if one["from"] in scenario["switches"])
    frame, pacer = scenario["tcp"]["segment_bytes"] + IP_AND_TCP, scenario.get("pacer")
    mtu, marks, phantom = frame - ETHERNET_HEADER, link.get("mark_bytes", 0), link.get("phantom")
    return Shape(
        link["rate_bps"] / 1e6,
        link["queue_packets"],
        mtu,
        marks=marks > 0,
        carrier=EPORT,
        mark_packets=round((marks + frame) / mtu),
        ramp_packets=0.0,
        hosts_mark=False,
        delay_ms=link["delay_ns"] / 1e6,
        phantom=Phantom(phantom["drain_bps"] / link["rate_bps"], round(phantom["threshold_bytes"]))
        if phantom
        else None,
        pacer=None if pacer is None else "behind" if pacer.get("behind") else "front",
    )


def tcp_of(scenario: dict[str, Any]) -> Tcp:
    tcp = scenario["tcp"]
    return Tcp(
        tcp["variant"],
        sack=tcp["sack"],
        rack=tcp.get("rack", True),
        tail_loss_probes=tcp.get("tail_loss_probes", True),
        min_rto_ms=round(tcp["min_rto_ns"] / 1e6),
        initial_window=tcp["initial_segments"],
        timestamps=False,
        prompt=True,
        one_by_one=not tcp.get("large_segments", False),
    )


class Exchanges:
    """The scenario's connections, each with the exchanges on it, in their order; times in ns since the beginning."""

    def __init__(self, scenario: dict[str, Any], fabric: Fabric) -> None:
        asked = scenario["exchanges"]
        self.start_ns, self.connection = (np.array(asked[name], np.int64) for name in ("start_ns", "connection"))
        self.request, self.reply, self.service = (
            asked[name] for name in ("request_bytes", "reply_bytes", "service_ns")
        )
        self.asked_ns = np.full(self.start_ns.size, -1, np.int64)
        self.finished_ns = np.full(self.start_ns.size, -1, np.int64)
        self.of_connection = [
            np.flatnonzero(self.connection == one).tolist() for one in range(len(scenario["connections"]))
        ]
        self.begin = 0
        self._threads: list[threading.Thread] = []
        self.clients: list[socket.socket] = []
        self.servers: list[socket.socket] = []
        pids = {name: fabric.pid_of(host) for name, host in zip(scenario["hosts"], fabric.topo.hosts, strict=True)}
        addresses = {name: (fabric.topo.host_ip(n), SERVER_PORT) for n, name in enumerate(scenario["hosts"])}
        with contextlib.ExitStack() as opened:
            servers = dict.fromkeys(one["server"] for one in scenario["connections"])
            listening = {
                name: opened.enter_context(call_inside(pids[name], partial(socket.create_server, addresses[name])))
                for name in servers
            }
            for one in scenario["connections"]:
                connect = partial(socket.create_connection, addresses[one["server"]])
                self.clients.append(call_inside(pids[one["client"]], connect))
                self.servers.append(listening[one["server"]].accept()[0])
        for end in (*self.clients, *self.servers):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def run(self, begin: int, until_ns: int) -> None:
        """Ask for everything at its time after ``begin`` (of the monotonic clock, ns), and wait for all answers, at
        most until ``until_ns``; flows without an end are let run until then."""
        self.begin = begin
        for number in range(len(self.clients)):
            for work in (self._answer, self._take):
                self._start(partial(work, number))
        self._start(self._ask)
        while self.unfinished and time.monotonic_ns() - begin < until_ns:
            _sleep_until(min(begin + until_ns, time.monotonic_ns() + 50_000_000))

    @property
    def unfinished(self) -> int:
        return int((self.finished_ns < 0).sum())

    def received(self) -> Int64:
        """Bytes of payload that the client has, by connection."""
        info = (one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192) for one in self.clients)
        return np.array([_BYTES_RECEIVED.unpack_from(each)[0] for each in info], np.int64)

    def close(self) -> None:
        for each in (*self.clients, *self.servers):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE_S)
        for each in (*self.clients, *self.servers):
            each.close()

    def _start(self, work: Callable[[], None]) -> None:
        def carry_out() -> None:
            ctypes.CDLL(None).prctl(_SET_TIMER_SLACK, 1)
            with contextlib.suppress(OSError):  # closed while it lasts
                work()

        self._threads.append(threading.Thread(target=carry_out, daemon=True))
        self._threads[-1].start()

    def _ask(self) -> None:
        for number, (at, connection) in enumerate(zip(self.start_ns.tolist(), self.connection.tolist(), strict=True)):
            _sleep_until(self.begin + at)
            self.asked_ns[number] = time.monotonic_ns() - self.begin
            self.clients[connection].sendall(REPLY[: self.request[number]])

    def _answer(self, connection: int) -> None:
        end = self.servers[connection]
        for number in self.of_connection[connection]:
            if len(end.recv(self.request[number], socket.MSG_WAITALL)) < self.request[number]:
                return
            if self.service[number]:
                _sleep_until(time.monotonic_ns() + self.service[number])
            left = self.reply[number]
            while left:
                left -= end.send(REPLY[: min(left, BLOCK)])

    def _take(self, connection: int) -> None:
        end, room = self.clients[connection], bytearray(BLOCK)
        for number in self.of_connection[connection]:
            left = self.reply[number]
            while left:
                got = end.recv_into(room, min(left, BLOCK), socket.MSG_WAITALL | socket.MSG_TRUNC)
                if not got:
                    return
                left -= got
            self.finished_ns[number] = time.monotonic_ns() - self.begin


def _sleep_until(moment: int) -> None:
    if (ns := moment - time.monotonic_ns()) > 0:
        time.sleep(ns * 1e-9)


class Watch:
    """Looks at the port to the client in the window, every so often, and at what was received as it begins and ends."""

    def __init__(self, scenario: dict[str, Any], fabric: Fabric, exchanges: Exchanges) -> None:
        (sample,) = scenario["samples"]
        self.every_ns, self.window = (sample["every_ns"], (scenario["measure_from_ns"], scenario["measure_until_ns"]))
        self.mean_waiting: list[float] = []
        self.sent: tuple[int, int] = (0, 0)
        self.received = np.zeros(0, np.int64)
        self._exchanges = exchanges
        self._kernel = Netlink(fabric.open_vswitch.namespace)

    def port(self) -> Eport:
        return next(one for one in self._kernel.eports() if one.name == WATCHED)

    def look(self, begin: int) -> None:
        """Until the window ends; ``begin`` is of the monotonic clock."""
        ctypes.CDLL(None).prctl(_SET_TIMER_SLACK, 1)
        low, high = self.window
        _sleep_until(begin + low)
        first, received = self.port(), self._exchanges.received()
        before, at = first, time.monotonic_ns()
        for moment in range(low + self.every_ns, high + 1, self.every_ns):
            _sleep_until(begin + moment)
            now, port = time.monotonic_ns(), self.port()
            self.mean_waiting.append((port.waited - before.waited) / (now - at))
            before, at = port, now
        self.sent = (first.sent, before.sent)
        self.received = self._exchanges.received() - received

    def close(self) -> None:
        self._kernel.close()


def play(scenario: dict[str, Any], folder: Path) -> bytes:
    """What came of a scenario, as the engine writes it. RunFailed where the network cannot be made."""
    topo = NonBlocking(len(scenario["hosts"]))
    options = FabricOptions(shape_of(scenario), tcp_of(scenario))
    with (
        permit(scenario["tcp"]["variant"], folder),
        Children() as children,
        Fabric(topo, options, folder, children) as fabric,
    ):
        star.lay(topo, fabric, folder)
        with (
            contextlib.closing(Exchanges(scenario, fabric)) as exchanges,
            contextlib.closing(Watch(scenario, fabric, exchanges)) as watch,
        ):
            before, begin = read_tcp_counters(fabric), time.monotonic_ns()
            looking = threading.Thread(target=watch.look, args=(begin,))
            looking.start()
            exchanges.run(begin, scenario["end_ns"])
            looking.join()
            took_s, port, packets = (time.monotonic_ns() - begin) * 1e-9, watch.port(), _sent_packets(fabric)
            tcp = read_tcp_counters(fabric)
            tcp.subtract(before)
            head = {
                "simulated_s": took_s,
                "events": 0,
                "unfinished": exchanges.unfinished,
                "timeouts": tcp["timeouts"],
                "ports": [
                    {
                        "link": "switch>client",
                        "sent_packets": packets,
                        "sent_bytes_in_window": watch.sent[1] - watch.sent[0],
                        "marked_packets": port.marked + port.phantom_marked,
                        "dropped_packets": sum(fabric.queue_drops().values()),
                    }
                ],
                "pacers": list(_pacers(scenario, fabric)),
            }
            arrays = {
                # From when it was asked: its thread wakes a few us after its time.
                "finished_ns": _from_their_starts(exchanges),
                "client_received_bytes": watch.received,
                "mean_waiting_bytes switch>client": np.array(watch.mean_waiting),
            }
    told = [{"name": name, "type": each.dtype.str, "count": each.size} for name, each in arrays.items()]
    return json.dumps({**head, "arrays": told}).encode() + b"\n" + b"".join(map(np.ndarray.tobytes, arrays.values()))


def _from_their_starts(exchanges: Exchanges) -> Int64:
    took = exchanges.finished_ns - exchanges.asked_ns
    return np.where(exchanges.finished_ns < 0, -1, exchanges.start_ns + took)


def _sent_packets(fabric: Fabric) -> int:
    lines = Path(f"/proc/{fabric.open_vswitch.namespace}/net/dev").read_text().splitlines()
    (counts,) = [rest.split() for name, _, rest in (line.partition(":") for line in lines) if name.strip() == WATCHED]
    return int(counts[9])


def _pacers(scenario: dict[str, Any], fabric: Fabric) -> Iterator[dict[str, Any]]:
    for name, host in zip(scenario["hosts"], fabric.topo.hosts, strict=True):
        with contextlib.closing(Netlink(fabric.pid_of(host))) as kernel:
            for each in kernel.pacers():
                counts = {"passed_packets": each.passed, "paced_packets": each.paced, "dropped_packets": 0}
                yield {"host": name, **counts, "flows": []}


def main() -> None:
    scenario = json.loads(Path(sys.argv[1]).read_bytes())
    with temporary_folder("hull") as folder:
        Path(sys.argv[2]).write_bytes(play(scenario, folder))


if __name__ == "__main__":
    main()
