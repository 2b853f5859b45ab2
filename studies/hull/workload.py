"""Who asks whom for what, and when: the report's traffic, drawn from a seed.

The draws do not depend on the scheme, so all schemes of a seed get exactly the same requests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from topos.arrays import Int64

REQUEST_BYTES = 100
SMALL_BYTES = 900
LARGE_BYTES = 10_000_000
SMALL_PER_LARGE = 5
"""Requests for small files per request for a large one (authors' experiments; the report's text has 4)."""

ENDLESS_BYTES = 10**12
_STARTS, _QUERIES, _BACKGROUND = 1, 2, 3  # streams of random numbers of one seed
LARGE, SMALL, QUERY = 0, 1, 2
"""Kinds of an exchange."""

WARM_UP_NS = 50_000_000
"""Time before the first request, while connections are made."""


@dataclass(frozen=True)
class FanOut:
    """A query to every server at once. Service times in ns are ``scale * gamma(shape, theta) + least``."""

    request_bytes: int
    reply_bytes: int
    occupancy: float
    mean_service_ns: float
    gamma: tuple[float, float, float, float] | None
    deadline_ms: float

    @property
    def queries_per_s(self) -> float:
        """The rate that keeps a server busy for the share ``occupancy`` of the time."""
        return self.occupancy / (self.mean_service_ns * 1e-9)

    def service_ns(self, rng: np.random.Generator, count: int) -> Int64:
        """``count`` drawn service times."""
        if self.gamma is None:
            return np.full(count, round(self.mean_service_ns), np.int64)
        scale, shape, theta, least = self.gamma
        return (scale * rng.gamma(shape, theta, count) + least).astype(np.int64)


FAN_OUTS: dict[str, FanOut] = {
    "search": FanOut(3500, 2800, 0.30, 2_530_000.0, (180.0, 0.7, 20_000.0, 10_000.0), 25.0),
    "low-latency": FanOut(100, 100, 0.05, 100_000.0, None, 1.0),
}
"""Section III.B; the occupancies are those of the authors' experiments."""

OPENING_NS = 2_000_000_000
"""Time for the large files that open a fan-out's background connections: twice the shortest time they take."""

WORKLOADS = ("static", "dynamic", *FAN_OUTS)
SERVERS = {"dynamic": 9, "search": 10, "low-latency": 10}


@dataclass(frozen=True)
class Connection:
    """A persistent connection of the client, host 0, to a server, from 1."""

    server: int
    kind: int


@dataclass(frozen=True)
class Traffic:
    """Connections and the exchanges on them: arrays of one length, sorted by start.

    ``query``: the number of the query an exchange belongs to, -1 for others. Times in ns, sizes in bytes.
    """

    servers: int
    connections: tuple[Connection, ...]
    connection: Int64
    start_ns: Int64
    request_bytes: Int64
    reply_bytes: Int64
    service_ns: Int64
    query: Int64

    @property
    def kind(self) -> Int64:
        kinds = np.array([connection.kind for connection in self.connections], np.int64)
        return kinds[self.connection] if self.connection.size else np.zeros(0, np.int64)


@dataclass(frozen=True)
class _Part:
    """Exchanges of one kind, before they are merged; what is one number is the same for all."""

    connection: Int64
    start_ns: Int64
    request_bytes: int
    reply_bytes: int
    service_ns: Int64 | int = 0
    query: Int64 | int = -1


def static(flows: int, seed: int) -> Traffic:
    """Section III.A: ``flows`` servers send endlessly, all started within a millisecond."""
    rng = np.random.default_rng([seed, _STARTS])
    start = np.sort(rng.integers(0, 1_000_000, flows)).astype(np.int64)
    part = _Part(np.arange(flows, dtype=np.int64), start, REQUEST_BYTES, ENDLESS_BYTES)
    return _merged(flows, tuple(Connection(1 + n, LARGE) for n in range(flows)), [part])


def dynamic(load: float, seconds: float, seed: int, servers: int = 9, link_mbps: float = 1000.0) -> Traffic:
    """Section III.A: Poisson requests for small and large files, servers in turn.

    ``load``: large files over the link's rate, without headers.
    """
    return _merged(servers, *_background(load, seconds, seed, servers, 0, link_mbps))


def fan_out(
    name: str, background: float, seconds: float, seed: int, servers: int = 10, link_mbps: float = 1000.0
) -> Traffic:
    """Section III.B: Poisson queries to all servers, beside large files at the load ``background``.

    As in the authors' experiments the background has no small files. At first all servers send one large file, at
    the same time. Without that, a connection's window grows until the server's own queue overflows, as long as it has
    not competed with another; in runs much shorter than the authors' the 99th percentile would show only that.
    """
    kind = FAN_OUTS[name]
    rng = np.random.default_rng([seed, _QUERIES])
    starts = _poisson(rng, kind.queries_per_s, seconds)
    count = starts.size * servers
    part = _Part(
        np.tile(np.arange(servers, dtype=np.int64), starts.size),
        np.repeat(starts, servers),
        kind.request_bytes,
        kind.reply_bytes,
        kind.service_ns(rng, count),
        np.repeat(np.arange(starts.size, dtype=np.int64), servers),
    )
    connections = tuple(Connection(1 + n, QUERY) for n in range(servers))
    parts = [part]
    if background > 0:
        more, large = _background(background, seconds, seed, servers, servers, link_mbps, small=False)
        opening = _Part(
            servers + np.arange(servers, dtype=np.int64),
            np.arange(servers, dtype=np.int64) * 1_000_000,
            REQUEST_BYTES,
            LARGE_BYTES,
        )
        later = opening_ns(name, background)
        parts = [opening, *(replace(each, start_ns=each.start_ns + later) for each in (*parts, *large))]
        connections = connections + more
    return _merged(servers, connections, parts)


def opening_ns(workload: str, load: float) -> int:
    """How long a workload's first large files take, which are not measured; 0 if it has none."""
    return OPENING_NS if workload in FAN_OUTS and load > 0 else 0


def _background(
    load: float, seconds: float, seed: int, servers: int, first: int, link_mbps: float, small: bool = True
) -> tuple[tuple[Connection, ...], list[_Part]]:
    rng = np.random.default_rng([seed, _BACKGROUND])
    large_per_s = load * link_mbps * 1e6 / (8 * LARGE_BYTES)
    kinds = [(LARGE, LARGE_BYTES, large_per_s)]
    if small:
        kinds.append((SMALL, SMALL_BYTES, SMALL_PER_LARGE * large_per_s))
    connections: list[Connection] = []
    parts = []
    for kind, size, per_s in kinds:
        starts = _poisson(rng, per_s, seconds)
        turn = np.arange(starts.size, dtype=np.int64) % servers
        own = first + len(connections)
        parts.append(_Part(own + turn, starts, REQUEST_BYTES, size))
        connections += [Connection(1 + n, kind) for n in range(servers)]
    return tuple(connections), parts


def _poisson(rng: np.random.Generator, per_s: float, seconds: float) -> Int64:
    """Starts of a Poisson process, ns."""
    count = rng.poisson(per_s * seconds)
    return np.sort(rng.integers(0, round(seconds * 1e9), count)).astype(np.int64)


def _merged(servers: int, connections: tuple[Connection, ...], parts: list[_Part]) -> Traffic:
    start = np.concatenate([part.start_ns for part in parts]) + WARM_UP_NS
    order = np.argsort(start, kind="stable")

    def column(name: str) -> Int64:
        values = [np.broadcast_to(getattr(part, name), part.start_ns.shape) for part in parts]
        return np.concatenate(values).astype(np.int64)[order]

    names = ("request_bytes", "reply_bytes", "service_ns", "query")
    return Traffic(servers, connections, column("connection"), start[order], *map(column, names))
