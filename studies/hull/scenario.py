"""One run: parameters, schemes, traffic drawn from a seed, and the scenario that the engine reads for them.

The draws do not depend on the scheme, so all schemes of a seed get exactly the same requests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import click
import numpy as np
from msgspec import Meta

from record.spec import check, described, one_of
from topos.arrays import Int64

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Parameters:
    """One setting of network, TCP, pacer and phantom queue; KB are 1,000 bytes.

    The fields are the options of every ``hedera hull`` command, where a number may have a unit: 100us, 1.5KB, 950Mb/s.
    If Table I gives no value, it is that of the authors' experiments (docs/notes/hull.md says which). Raises
    ValueError, one sentence, for a value out of range.
    """

    link_mbps: Annotated[float, Meta(ge=1), described("Rate of every link, Mb/s.", option="--bw")] = 1000.0
    link_delay_us: Annotated[float, Meta(ge=0), described("Propagation delay of every link, us.")] = 5.0
    port_queue_packets: Annotated[
        int, Meta(ge=1), described("Queue of every switch port, packets.", option="--queue")
    ] = 500
    host_queue_packets: Annotated[int, Meta(ge=1), described("Queue of every host, packets.")] = 1000
    segment_bytes: Annotated[
        int, Meta(ge=50, le=8960), described("TCP payload of a full packet (MTU in Table I), bytes.")
    ] = 950
    window_packets: Annotated[int, Meta(ge=2), described("Largest window, packets.")] = 1256
    initial_packets: Annotated[int, Meta(ge=1), described("Window at the start and after idle time, packets.")] = 2
    least_packets: Annotated[int, Meta(ge=1), described("Smallest window after a mark, packets.")] = 2
    min_rto_ms: Annotated[float, Meta(ge=0.001), described("Shortest retransmission timeout, ms.")] = 10.0
    idle_ms: Annotated[float, Meta(ge=0), described("Idle time after which a window starts anew; 0: never, ms.")] = 10.0
    jitter_us: Annotated[
        float, Meta(ge=0), described("A switch delays every packet by a random time up to this, us.")
    ] = 0.0
    sack: Annotated[bool, described("Selective acknowledgements (RFC 2018).")] = True
    rack: Annotated[
        bool,
        described("Linux, with --sack: losses by time (RFC 8985), not by three later acknowledgements (RFC 6675)."),
    ] = True
    tail_loss_probes: Annotated[bool, described("Linux: TCP probes for a loss at the end (RFC 8985).")] = True
    large_segments: Annotated[
        bool, described("Linux: TCP gives its port several segments as one packet, which pacers take for one.")
    ] = False
    whole_cuts: Annotated[
        bool, described("ns-3: DCTCP cuts its window by whole segments, rounded down, as Linux always does.")
    ] = False
    prr: Annotated[
        bool, described("ns-3: a cut window falls over a round trip (RFC 6937), as Linux's always does; else at once.")
    ] = False
    growth_anew: Annotated[
        bool, described("ns-3: a cut takes what DCTCP's window had of its next segment, too, as Linux's always does.")
    ] = False
    mark_kb: Annotated[
        Annotated[float, Meta(ge=0)] | None, described("K, marking threshold of DCTCP (default: the scheme's), KB.")
    ] = None
    drain: Annotated[float, Meta(ge=0.01), described("Phantom queue: drain rate as a share of the link.")] = 0.95
    phantom_kb: Annotated[float, Meta(ge=0), described("Phantom queue: marking threshold, KB.")] = 1.0
    pacers: Annotated[bool, described("Pacers, where the scheme has them.")] = True
    pacer_behind: bool = False
    """Whether the pacer is behind the host's queue, which it then stops, as in the authors' ns-2; no option, but what
    the variants differ by."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Scheme:
    """What a scheme switches on. ``mark_kb``: DCTCP's K at switch ports, 0 for none."""

    name: str
    label: str
    colour: str
    dctcp: bool = False
    mark_kb: float = 0.0
    pacer: bool = False
    phantom: bool = False


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("tcp", "TCP, drop tail", "#e69f00"),
        Scheme("dctcp-30k", "DCTCP, K = 30 KB", "#56b4e9", dctcp=True, mark_kb=30.0),
        Scheme("dctcp-6k-pacer", "DCTCP, K = 6 KB, pacer", "#009e73", dctcp=True, mark_kb=6.0, pacer=True),
        Scheme("hull", "HULL: phantom queue, pacer", "#0072b2", dctcp=True, pacer=True, phantom=True),
    )
}
"""By name, in the report's order."""

VARIANTS: dict[str, dict[str, Any]] = {"reproduction": {"sack": False, "pacer_behind": True}, "conforming": {}}
"""By name: the changes to the given parameters. *reproduction*: as in the authors' ns-2, TCP without selective
acknowledgements, and the pacer behind the host's queue. *conforming*: TCP by its RFCs, and the pacer where the report
has it."""

G, FIRST_ALPHA = 1 / 16, 1.0
"""DCTCP's weight of a new estimate, and its first estimate (RFC 8257)."""
PACER = {
    "eta": 0.125, "beta": 16.0, "depth_bits": 24_000.0, "update_ns": 32_000, "associate": 0.125,
    "association_ns": 10_000_000, "tick_ns": 16_000, "start_bps": 100e6,
}  # fmt: skip
"""The pacer, as the engine takes it: weight of a new rate, rate gained per queued bit at every update (1/s), depth of
the token bucket, T_r, p_a, T_i, time between deliveries of tokens, first rate. From Table I, and where it is silent
from the authors' experiments."""

UNITS = {
    "us": {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6},
    "ms": {"us": 1e-3, "ms": 1.0, "s": 1e3},
    "kb": {"B": 1e-3, "KB": 1.0, "kB": 1.0, "MB": 1e3},
    "mbps": {"Kb/s": 1e-3, "Mb/s": 1.0, "Gb/s": 1e3},
}
"""By the suffix of a field's name: the units that may be given, as multiples of the field's own."""

_UNIT_NAMES = {"us": "us", "ms": "ms", "kb": "KB", "mbps": "Mb/s"}


class Quantity(click.ParamType[float | None]):
    """A number in the unit of a field (``link_delay_us``: us), or with a unit behind it."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self.name = {"kb": "size", "mbps": "rate"}.get(unit, "time")

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float | None:
        if not isinstance(value, str):
            return None if value is None else float(value)
        text = value.strip()
        unit, factors = text.lstrip("0123456789.eE+- "), UNITS[self._unit]
        try:
            return float(text.removesuffix(unit)) * factors[unit or _UNIT_NAMES[self._unit]]
        except (ValueError, KeyError):
            self.fail(f"{value!r} is not a number with one of the units {', '.join(factors)}", parameter, context)


def spell_value(field: str, value: float) -> str:
    """A value with the unit of its field, as the option takes it."""
    return f"{value:g}{_UNIT_NAMES.get(field.rpartition('_')[2], '')}"


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

    def draw_service_ns(self, rng: np.random.Generator, count: int) -> Int64:
        """``count`` drawn service times."""
        if self.gamma is None:
            return np.full(count, round(self.mean_service_ns), np.int64)
        scale, shape, theta, minimum = self.gamma
        return (scale * rng.gamma(shape, theta, count) + minimum).astype(np.int64)


FAN_OUTS: dict[str, FanOut] = {
    "search": FanOut(3500, 2800, 0.30, 2_530_000.0, (180.0, 0.7, 20_000.0, 10_000.0), 25.0),
    "low-latency": FanOut(100, 100, 0.05, 100_000.0, None, 1.0),
}
"""Section III.B; the occupancies are those of the authors' experiments."""

OPENING_NS = 2_000_000_000
"""Time for the large files that open a fan-out's background connections: twice the shortest time they take."""

FILE_SERVERS, QUERY_SERVERS = 9, 10


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
        return np.array([connection.kind for connection in self.connections], np.int64)[self.connection]


def _make_exchanges(
    connection: Int64, start_ns: Int64, request_bytes: int, reply_bytes: int, service_ns: Int64 | int = 0,
    query: Int64 | int = -1,
) -> DataFrame:  # fmt: skip
    """Exchanges of one kind, before they are merged."""
    from pandas import DataFrame

    columns = {"connection": connection, "start_ns": start_ns, "request_bytes": request_bytes}
    return DataFrame({**columns, "reply_bytes": reply_bytes, "service_ns": service_ns, "query": query})


def draw_static(flows: int, seed: int) -> Traffic:
    """Section III.A: ``flows`` servers send endlessly, all started within a millisecond."""
    rng = np.random.default_rng([seed, _STARTS])
    start = np.sort(rng.integers(0, 1_000_000, flows)).astype(np.int64)
    part = _make_exchanges(np.arange(flows, dtype=np.int64), start, REQUEST_BYTES, ENDLESS_BYTES)
    return _merge(flows, (LARGE,), [part])


def draw_dynamic(load: float, seconds: float, seed: int, link_mbps: float = 1000.0) -> Traffic:
    """Section III.A: Poisson requests for small and large files, servers in turn.

    ``load``: large files over the link's rate, without headers.
    """
    rng, per_s = np.random.default_rng([seed, _BACKGROUND]), _compute_large_per_s(load, link_mbps)
    of_large = np.arange(FILE_SERVERS)
    large = _draw_in_turn(rng, of_large, per_s, seconds, LARGE_BYTES)
    small = _draw_in_turn(rng, FILE_SERVERS + of_large, SMALL_PER_LARGE * per_s, seconds, SMALL_BYTES)
    return _merge(FILE_SERVERS, (LARGE, SMALL), [large, small])


def draw_fan_out(name: str, background: float, seconds: float, seed: int, link_mbps: float = 1000.0) -> Traffic:
    """Section III.B: Poisson queries to all servers, beside large files at the load ``background``.

    As in the authors' experiments the background has no small files. At first all servers send one large file, at
    the same time. Without that, a connection's window grows until the server's own queue overflows, as long as it has
    not competed with another; in runs much shorter than the authors' the 99th percentile would show only that.
    """
    kind, servers = FAN_OUTS[name], np.arange(QUERY_SERVERS, dtype=np.int64)
    rng = np.random.default_rng([seed, _QUERIES])
    starts = _draw_starts(rng, kind.queries_per_s, seconds)
    queries = _make_exchanges(
        np.tile(servers, starts.size), np.repeat(starts, QUERY_SERVERS), kind.request_bytes, kind.reply_bytes,
        kind.draw_service_ns(rng, starts.size * QUERY_SERVERS), np.repeat(np.arange(starts.size), QUERY_SERVERS),
    )  # fmt: skip
    if not background:
        return _merge(QUERY_SERVERS, (QUERY,), [queries])
    rng, of_large = np.random.default_rng([seed, _BACKGROUND]), QUERY_SERVERS + servers
    large = _draw_in_turn(rng, of_large, _compute_large_per_s(background, link_mbps), seconds, LARGE_BYTES)
    opening = _make_exchanges(of_large, servers * 1_000_000, REQUEST_BYTES, LARGE_BYTES)
    later = [part.assign(start_ns=part.start_ns + OPENING_NS) for part in (queries, large)]
    return _merge(QUERY_SERVERS, (QUERY, LARGE), [opening, *later])


def _compute_large_per_s(load: float, link_mbps: float) -> float:
    return load * link_mbps * 1e6 / (8 * LARGE_BYTES)


def _draw_in_turn(
    rng: np.random.Generator, connections: Int64, per_s: float, seconds: float, reply_bytes: int
) -> DataFrame:
    """Poisson requests for files, on these connections in turn."""
    starts = _draw_starts(rng, per_s, seconds)
    return _make_exchanges(np.resize(connections, starts.size), starts, REQUEST_BYTES, reply_bytes)


def _draw_starts(rng: np.random.Generator, per_s: float, seconds: float) -> Int64:
    """Starts of a Poisson process, ns."""
    count = rng.poisson(per_s * seconds)
    return np.sort(rng.integers(0, round(seconds * 1e9), count)).astype(np.int64)


def _merge(servers: int, kinds: Sequence[int], parts: list[DataFrame]) -> Traffic:
    """All parts, on one connection of each of these kinds to each server, numbered in this order."""
    from pandas import concat

    merged = concat(parts).sort_values("start_ns", kind="stable").astype(np.int64)
    columns = {name: merged[name].to_numpy() for name in merged}
    columns["start_ns"] = columns["start_ns"] + WARM_UP_NS
    return Traffic(servers, tuple(Connection(1 + n, kind) for kind in kinds for n in range(servers)), **columns)


SETTLE_NS = 200_000_000
"""Static flows run for this long before anything is measured."""

SAMPLE_NS, STATIC_SAMPLE_NS = 10_000_000, 1_000_000
"""Between two samples of the queue; the second: of static flows."""

DRAIN_NS = 100_000_000_000
"""How long requests may still be answered after the last one (as in the authors' experiments)."""

EXCHANGE_COLUMNS = ("connection", "start_ns", "request_bytes", "reply_bytes", "service_ns")
"""The fields of every exchange that the engine reads."""

STATIC = {"segment_bytes": 600, "drain": 0.90}
"""The authors' parameters of static flows in place of 950 bytes and 95 %; see docs/notes/hull.md."""


@dataclass(frozen=True)
class Experiment:
    """One run: a scheme, a workload and a seed.

    ``flows``: of the static workload. ``load``: of large files on the client's link, as a share; for search
    and low-latency the background load, which may be 0. ``seconds``: simulated time that is measured.

    Raises ValueError, one sentence, for values that make no sense.
    """

    scheme: Annotated[str, one_of(*SCHEMES), described("tcp, dctcp-30k, dctcp-6k-pacer or hull.")]
    workload: Annotated[str, one_of("static", "dynamic", *FAN_OUTS), described("static, dynamic, search, low-latency.")]
    load: Annotated[
        float, Meta(ge=0, lt=1), described("Large files' share of the client's link (dynamic: 0.2; searches: 0).")
    ] = 0.0
    flows: Annotated[int, Meta(ge=1, le=1000), described("Number of flows of the static workload.")] = 2
    seconds: Annotated[float, Meta(gt=0), described("Measured time.")] = 10.0
    seed: Annotated[int, Meta(ge=0, lt=2**31), described("The first seed.")] = 1
    parameters: Parameters = field(default_factory=Parameters)

    def __post_init__(self) -> None:
        check(self)
        if self.workload == "dynamic" and self.load == 0:
            raise ValueError("the load of the dynamic workload must be above 0")

    def draw_traffic(self) -> Traffic:
        link = self.parameters.link_mbps
        if self.workload == "static":
            return draw_static(self.flows, self.seed)
        if self.workload == "dynamic":
            return draw_dynamic(self.load, self.seconds, self.seed, link)
        return draw_fan_out(self.workload, self.load, self.seconds, self.seed, link)

    @property
    def window_ns(self) -> tuple[int, int]:
        opening_ns = OPENING_NS if self.workload in FAN_OUTS and self.load else 0
        begin = WARM_UP_NS + (SETTLE_NS if self.workload == "static" else opening_ns)
        return begin, begin + round(self.seconds * 1e9)

    def make_key(self, engine: str) -> str:
        """A name for the result: equal for equal scenarios and engines, different for different ones."""
        traffic = self.draw_traffic()
        scenario = make_scenario(self, traffic)
        del scenario["exchanges"]  # as bytes below: much faster
        digest = hashlib.sha256(json.dumps([scenario, engine], sort_keys=True).encode())
        for name in EXCHANGE_COLUMNS:
            digest.update(getattr(traffic, name).tobytes())
        setting = f"{self.flows}" if self.workload == "static" else f"{round(100 * self.load)}"
        return f"{self.workload}-{setting}-{self.scheme}-{self.seed}-{digest.hexdigest()[:16]}"


def make_scenario(experiment: Experiment, traffic: Traffic) -> dict[str, Any]:
    """The scenario as the engine reads it (docs/notes/packet-engine.md): a client and its servers at one switch."""
    p, scheme, endless = experiment.parameters, SCHEMES[experiment.scheme], experiment.workload == "static"
    hosts = ["client", *(f"server{n}" for n in range(1, traffic.servers + 1))]
    wire = {"rate_bps": p.link_mbps * 1e6, "delay_ns": round(p.link_delay_us * 1e3)}
    mark_kb = scheme.mark_kb if p.mark_kb is None or not scheme.mark_kb else p.mark_kb
    port: dict[str, Any] = {"queue_packets": p.port_queue_packets, "mark_bytes": round(1000 * mark_kb)}
    if scheme.phantom:
        port["phantom"] = {"drain_bps": p.drain * p.link_mbps * 1e6, "threshold_bytes": 1000 * p.phantom_kb}
    links = []
    for host in hosts:
        links.append({"from": "switch", "to": host, **wire, **port})
        links.append({"from": host, "to": "switch", **wire, "queue_packets": p.host_queue_packets})
    begin, end = experiment.window_ns
    scenario: dict[str, Any] = {
        "seed": 1 + experiment.seed,
        "measure_from_ns": begin,
        "measure_until_ns": end,
        "end_ns": end if endless else end + DRAIN_NS,
        "hosts": hosts,
        "switches": ["switch"],
        "links": links,
        "tcp": {
            "variant": "dctcp" if scheme.dctcp else "reno",
            "segment_bytes": p.segment_bytes,
            "window_segments": p.window_packets,
            "initial_segments": p.initial_packets,
            "least_segments": p.least_packets,
            "min_rto_ns": round(p.min_rto_ms * 1e6),
            "idle_ns": round(p.idle_ms * 1e6),
            "g": G,
            "start_alpha": FIRST_ALPHA,
            "sack": p.sack,
        },
        "connections": [
            {"client": "client", "server": f"server{connection.server}"} for connection in traffic.connections
        ],
        "exchanges": {name: getattr(traffic, name).tolist() for name in EXCHANGE_COLUMNS},
        "samples": [{"from": "switch", "to": "client", "every_ns": STATIC_SAMPLE_NS if endless else SAMPLE_NS}],
    }
    if scheme.pacer and p.pacers:
        behind = {"behind": True} if p.pacer_behind else {}
        scenario["pacer"] = {**PACER, "queue_packets": p.port_queue_packets, **behind}
    scenario["tcp"] |= {
        name: True for name in ("large_segments", "whole_cuts", "prr", "growth_anew") if getattr(p, name)
    }
    scenario["tcp"] |= {name: False for name in ("rack", "tail_loss_probes") if not getattr(p, name)}
    if p.jitter_us:
        scenario["jitter_ns"] = round(p.jitter_us * 1e3)
    return scenario
