"""A network of fake flow tables: flow-mods are applied to it, packets traced through it. No switch, no root.

It is the driver of a controller under test, and reports to it what switches would report. Time stands still
until `advance` is called; replies arrive only then, or in `settle`.
"""

import dataclasses
import functools
import hashlib
import heapq
import itertools
import random
import socket
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass

from controllers.core import Controller
from controllers.driver import CONTROLLER_PORT, FiveTuple, FlowStat, Rule, Spread
from controllers.rules import make_flow_match
from controllers.settings import UNTOLD
from record.spec import RunSpec

IDLE_TIMEOUT, DELETE = 0, 2


@dataclass
class Entry:
    rule: Rule
    created: float
    used: float
    packets: int = 0
    bytes: int = 0

    def count(self, packets, size, now):
        self.packets, self.bytes, self.used = self.packets + packets, self.bytes + packets * size, now


@functools.cache
def masked(address, length):
    if address is None or length is None:
        return None
    return int.from_bytes(socket.inet_aton(address), "big") >> (32 - length) if length else 0


def signature(match):
    """Which fields a match looks at."""
    src, dst = (prefix and int(prefix.split("/")[1]) for prefix in (match.src, match.dst))
    rest = (match.in_port, match.ethertype, match.protocol, match.src_port, match.dst_port)
    return (src, dst, *(field is not None for field in rest))


def values(match):
    src, dst = (prefix and masked(*_split(prefix)) for prefix in (match.src, match.dst))
    rest = (match.in_port, match.ethertype, match.protocol, match.src_port, match.dst_port)
    return (src, dst, *(field for field in rest if field is not None))


def _split(prefix):
    address, length = prefix.split("/")
    return address, int(length)


class FlowTable:
    """One OpenFlow 1.0 flow table, by tuple-space search: per set of fields looked at, entries by value."""

    def __init__(self):
        self.spaces = {}

    def __iter__(self):
        return (entry for space in self.spaces.values() for found in space.values() for entry in found.values())

    def clear(self):
        self.spaces.clear()

    def add(self, rule, now):
        """One that was in its place is as if it had never been, but that Open vSwitch goes on with its last use."""
        slot = self.spaces.setdefault(signature(rule.match), {}).setdefault(values(rule.match), {})
        old = slot.get(rule.priority)
        slot[rule.priority] = Entry(rule, now, now if old is None else old.used)

    def modify_strict(self, rule, now):
        """Counters, timeouts and age stay when there is such an entry; else it is added."""
        slot = self.spaces.get(signature(rule.match), {}).get(values(rule.match), {})
        entry = slot.get(rule.priority)
        if entry is None:
            self.add(rule, now)
        else:
            old = entry.rule
            entry.rule = dataclasses.replace(old, out_port=rule.out_port, cookie=rule.cookie, vendor=rule.vendor)

    def remove(self, entry):
        del self.spaces[signature(entry.rule.match)][values(entry.rule.match)][entry.rule.priority]

    def lookup(self, in_port, packet):
        best = None
        fields = (in_port, packet.ethertype, packet.protocol, packet.src_port, packet.dst_port)
        for (src, dst, *looked), space in self.spaces.items():
            rest = itertools.compress(fields, looked)
            key = (masked(packet.src_ip, src), masked(packet.dst_ip, dst), *rest)
            for priority, entry in space.get(key, {}).items():
                if best is None or priority > best.rule.priority:
                    best = entry
        return best


class ListLog(list):
    def __call__(self, event, **fields):
        self.append({"event": event, **fields})

    def of(self, event):
        return [e for e in self if e["event"] == event]


@dataclass
class Reply:
    """What a switch has sent to its controller, and is on its way."""

    dpid: int
    deliver: Callable[[], None]

    def __call__(self):
        self.deliver()


class FakeNetwork:
    """All switches of ``settings``' network and one controller, connected unless ``connect`` is False.

    Cables break and are mended (`set_cable`), switches lose their controller and find it again (`disconnect`,
    `connect`), and the controller is replaced (`restart`); what is on its way to or from it then is lost.
    """

    MAX_HOPS = 12

    def __init__(self, connect=True, **settings):
        self.settings = RunSpec(**UNTOLD | settings)
        self.topo = self.settings.network()
        self.time = 100.0
        self.tables = {self.topo.dpid(name): FlowTable() for name in self.topo.switches}
        self.sent = []  # (dpid, kind, rule or None)
        self.muted = set()  # switches whose statistics replies are lost
        self.late = set()  # switches whose replies wait in self.held
        self.held = deque()
        self.replies = deque()
        self.timers = []
        self.order = itertools.count()
        self.draws = random.Random(1)
        self.outputs = []
        self.log = ListLog()
        self.packet_ins = Counter()
        self.away = set()  # switches that have no controller
        self.broken = set()  # both ends of each cable that is: (node, port)
        self.cables = {}
        for low, low_port, high, high_port in self.topo.links():
            self.cables[low, low_port], self.cables[high, high_port] = (high, high_port), (low, low_port)
        self.controller = Controller(self.settings, self, self.log)
        self.ends = {(a, b): port for (a, port), (b, _) in self.cables.items()}
        if connect:
            for dpid in self.tables:
                self.controller.switch_up(dpid)
            self.settle()

    # --- driver

    def clear(self, dpid):
        if dpid in self.away:
            return
        self.sent.append((dpid, "clear", None))
        removed = [entry.rule for entry in self.tables[dpid] if entry.rule.notify]
        self.tables[dpid].clear()
        for rule in removed:
            self._reply(dpid, lambda r=rule: self.controller.flow_removed(dpid, r.cookie, DELETE))

    def install(self, dpid, rule, modify=False):
        if dpid in self.away:
            return
        self.sent.append((dpid, "modify" if modify else "add", rule))
        table = self.tables[dpid]
        (table.modify_strict if modify else table.add)(rule, self.time)

    def packet_out(self, dpid, port, frame):
        self.sent.append((dpid, "packet_out", port))
        self.outputs.append((dpid, port, frame))

    def request_flow_stats(self, dpid, xid):
        stats = [self._stat(entry) for entry in self.tables[dpid] if entry.rule.cookie]
        if dpid in self.muted or dpid in self.away:
            return
        parts = [stats[i : i + 2] for i in range(0, len(stats), 2)] or [[]]
        for number, part in enumerate(parts):
            more = number < len(parts) - 1
            self._reply(dpid, lambda p=part, m=more: self.controller.flow_stats(dpid, xid, p, m), dpid in self.late)

    def _reply(self, dpid, deliver, late=False):
        (self.held if late else self.replies).append(Reply(dpid, deliver))

    def _stat(self, entry):
        m = entry.rule.match
        flow = FiveTuple(m.protocol, m.src.split("/")[0], m.dst.split("/")[0], m.src_port or 0, m.dst_port or 0)
        age = self.time - entry.created
        return FlowStat(entry.rule.cookie, flow, entry.rule.out_port or 0, entry.packets, entry.bytes, age)

    def barrier(self, dpid, xid):
        if dpid not in self.away:
            self.sent.append((dpid, "barrier", None))
            self._reply(dpid, lambda: self.controller.barrier_reply(dpid, xid))

    def call_later(self, delay_s, function):
        heapq.heappush(self.timers, (self.time + delay_s, next(self.order), function))

    def now(self):
        return self.time

    # --- time

    def settle(self):
        """Deliver all replies under way."""
        while self.replies:
            self.replies.popleft()()

    def advance(self, seconds, settle=True):
        """Let time pass; replies come at once, or with ``settle`` False not at all."""
        end = self.time + seconds
        while self.timers and self.timers[0][0] <= end:
            self.time, _, function = heapq.heappop(self.timers)
            self.expire()
            function()
            if settle:
                self.settle()
        self.time = end
        self.expire()
        if settle:
            self.settle()

    def expire(self):
        for dpid, table in self.tables.items():
            for entry in list(table):
                rule = entry.rule
                if rule.idle_timeout and self.time - entry.used >= rule.idle_timeout:
                    table.remove(entry)
                    if rule.notify and dpid not in self.away:
                        self._reply(
                            dpid, lambda d=dpid, r=rule: self.controller.flow_removed(d, r.cookie, IDLE_TIMEOUT)
                        )

    # --- what breaks

    def set_cable(self, a, b, up=False):
        """Break or mend the cable between two nodes; both ends report it."""
        ends = [(a, self.ends[a, b]), (b, self.ends[b, a])]
        (self.broken.difference_update if up else self.broken.update)(ends)
        for name, port in ends:
            dpid = self.topo.dpid(name)
            if dpid not in self.away:
                self.controller.port_status(dpid, port, up)

    def disconnect(self, name):
        """A switch loses its controller, and goes on with what it has."""
        dpid = self.topo.dpid(name)
        self._lose(dpid)
        self.controller.switch_down(dpid)

    def _lose(self, dpid):
        self.away.add(dpid)
        for queue in (self.replies, self.held):
            kept = [reply for reply in queue if reply.dpid != dpid]
            queue.clear()
            queue.extend(kept)

    def connect(self, name):
        """A switch finds its controller again."""
        dpid = self.topo.dpid(name)
        self.away.discard(dpid)
        self.controller.switch_up(dpid, [port for node, port in self.broken if node == name])

    def restart(self):
        """Another controller in the place of the one that is gone; no switch has found it yet."""
        for dpid in self.tables:
            self._lose(dpid)
        self.timers.clear()
        for seen in (self.log, self.sent, self.packet_ins):
            seen.clear()
        self.controller = Controller(self.settings, self, self.log)

    # --- traffic

    def send(self, src, packet, count=1, size=1514):
        """The nodes that a packet from host ``src`` visits; the last one is a host if it arrives.

        With ``count``, that many packets of ``size`` bytes are counted by the entries on the way.
        """
        node, port = self.topo.host_name(src), 0
        path = [node]
        while (node, port) in self.cables and (node, port) not in self.broken:
            node, port = self.cables[node, port]
            path.append(node)
            assert len(path) <= self.MAX_HOPS, f"loop: {path}"
            if node not in self.topo.switches:
                return tuple(path)
            port = self._through(node, port, packet, count, size)
        return tuple(path)

    def _through(self, switch, in_port, packet, count, size):
        dpid = self.topo.dpid(switch)
        entry = self.tables[dpid].lookup(in_port, packet)
        if entry is None:
            return self.packet_in(switch, in_port, packet)
        if isinstance(entry.rule.vendor, Spread):
            return self.draws.choice(entry.rule.vendor.ports)
        if entry.rule.vendor is not None:  # which the first packet is counted by
            entry.count(1, size, self.time)
            entry, count = self._learn(switch, entry.rule.vendor, packet), count - 1
        entry.count(count, size, self.time)
        if entry.rule.out_port == CONTROLLER_PORT:
            return self.packet_in(switch, in_port, packet)
        return None if entry.rule.out_port == in_port else entry.rule.out_port

    def _learn(self, switch, learn, packet):
        """What Open vSwitch does with a new flow; its hash is another, but as good. Without a port that is up the
        entry that it makes drops."""
        t = FiveTuple(packet.protocol, packet.src_ip, packet.dst_ip, packet.src_port, packet.dst_port)
        up = [p for p in learn.ports if (switch, p) not in self.broken or len(learn.ports) == 1]
        port = self.choose(up, learn, t)
        table = self.tables[self.topo.dpid(switch)]
        table.add(Rule(make_flow_match(t), learn.priority, port, learn.cookie, learn.idle_timeout), self.time)
        return table.lookup(None, packet)

    def choose(self, ports, learn, flow):
        """One of a switch's ports for a new flow, by a hash; None where there is none."""
        fields = flow.dst_ip if learn.fields == 5 else flow  # NX_HASH_FIELDS_NW_DST
        digest = hashlib.blake2b(repr((learn.basis, fields)).encode()).digest()
        return ports[int.from_bytes(digest[:4], "big") % len(ports)] if ports else None

    def packet_in(self, switch, in_port, packet):
        """Give a packet to the controller; the port by which that sends it on from the same switch."""
        dpid = self.topo.dpid(switch)
        if dpid in self.away:
            return None
        self.packet_ins[switch] += 1
        self.outputs.clear()
        self.controller.packet_in(dpid, in_port, packet.frame())
        assert len(self.outputs) <= 1, "a packet was multiplied"
        for out_dpid, port, frame in self.outputs:
            assert (out_dpid, frame) == (dpid, packet.frame()), "another packet came out, or elsewhere"
            return port
        return None

    def flow_mods(self):
        """What has been sent to tables since the last call, and forget it: [(switch, kind, rule)]."""
        names = self.topo.switch_by_dpid
        sent = [(names[dpid], kind, rule) for dpid, kind, rule in self.sent if kind in ("add", "modify")]
        self.sent.clear()
        return sent
