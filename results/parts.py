"""The parts of run.json, typed (results/record.py has the whole).

Rates are in Mb/s (10^6 bit/s); ``t``, ``start`` and windows are in seconds since the first client started. A
number is never NaN: what could not be measured is None (``null``). What few runs have is left out of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from topos.wire import DEFAULT_MTU

Name = Annotated[str, Meta(min_length=1, max_length=1000, pattern=r"^[^\x00-\x1f\x7f-\x9f]+\Z")]
"""One line. Whoever makes a path or markup of it has to quote it all the same."""
Sentence = Annotated[str, Meta(max_length=10_000, pattern=r"^[^\x00-\x1f\x7f-\x9f]*\Z")]
"""For people: nothing in it that a terminal would obey."""
Count = Annotated[int, Meta(ge=0, le=2**53)]
Mbps = Annotated[float, Meta(ge=0, le=1e9)]
Seconds = Annotated[float, Meta(ge=-1e9, le=1e9)]
Positive = Annotated[float, Meta(gt=0, le=1e9)]
Percent = Annotated[float, Meta(ge=-1000, le=1000)]
"""Of a second by two clocks: a little below 0 or above 100 happens."""
Milliseconds = Annotated[float, Meta(ge=0, le=1e9)]
Cable = Name
"""``A-B``, the names of its two ends."""
Port = Name
"""``SWITCH-ethN``: out of that port of that switch; a host's name: out of that host."""
Fact = bool | int | float | str | tuple[str, ...] | dict[str, str] | None


T = TypeVar("T")


def written(default: T) -> T:
    """A field that every run has, and older ones had not; others are left out where they are their default."""
    return msgspec.field(default_factory=lambda: default)


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of run.json."""


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every option of a run but its scheme, traffic, trial and seed.

    ``link_mbps`` is the rate of each link, ``interval_s`` the time between scheduling rounds, ``seconds`` how long
    the traffic lasted, ``queue`` full-size packets per port, ``mtu`` bytes. ``threshold``, a share of the link rate,
    and the rule ``large_flows`` say which flows are large; ``iterations`` are those of annealing; ``keep`` is the
    share of the drawn flows that are kept; ``scale_sizes`` tells whether sizes of Poisson traffic went with the
    links' rate; ``new_flows``, who gave a flow its first path, ``controller`` or ``switch``. ``time`` is
    ``real`` or ``virtual``; ``platform`` and ``datapath`` say what ``auto`` became; ``fail`` is in the words of
    `topos.faults`. ``controller_delay_ms``: how late the controller's messages were made, in virtual time. ``sack``:
    whether TCP acknowledged selectively; ``min_rto_ms``: its shortest retransmission timeout, 200 in Linux.
    ``placement``, ``compute_s`` and ``repeats`` are a collective's.

    Runs are drawn together only when they agree in these, so an option that is not listed here is refused.
    """

    k: Annotated[int, Meta(ge=4, le=254, multiple_of=2)]
    seconds: Positive
    interval_s: Positive
    link_mbps: Positive
    threshold: Annotated[float, Meta(ge=0, lt=1)] = written(0.1)
    large_flows: Name = written("measured-or-estimated")
    iterations: Count = written(1000)
    flows_per_host: Count
    keep: Annotated[float, Meta(ge=0, le=1)]
    scale_sizes: bool = written(True)
    fail: tuple[Name, ...] = ()
    time: Name = written("real")
    controller_delay_ms: Annotated[float, Meta(ge=0)] = written(0.0)
    platform: Name
    datapath: Name
    congestion_control: Name
    sack: bool = written(True)
    min_rto_ms: Annotated[int, Meta(ge=1, le=60_000)] = written(200)
    queue: Count
    mtu: Annotated[int, Meta(ge=68, le=65535)] = written(DEFAULT_MTU)
    new_flows: Name = written("controller")
    disturb: tuple[Name, ...] = ()
    placement: Name = "compact"
    compute_s: Seconds = 0.0
    repeats: Count = 1


def _same_length(t: tuple[float, ...], *series: tuple[float, ...]) -> None:
    if any(len(values) != len(t) for values in series):
        raise ValueError("t and what it belongs to have different lengths")


class Rates(Record, frozen=True, kw_only=True):
    """On the wire, per second: ``t`` is the end of each; received by all hosts together and by each."""

    t: tuple[Seconds, ...] = written(())
    total_mbps: tuple[Mbps, ...] = written(())
    hosts: Mapping[Name, tuple[Mbps, ...]] = written({})

    def __post_init__(self) -> None:
        _same_length(self.t, self.total_mbps, *self.hosts.values())


class PathChange(Record, frozen=True):
    """From time ``t`` on a flow went by way of ``core``."""

    t: Seconds
    core: Count


class FlowRecord(Record, frozen=True, kw_only=True):
    """One flow between two hosts (numbers), by the receiver's iperf: rates are payload.

    ``mbps`` is the mean over its life of ``seconds`` from ``start`` (None: it did not end), ``window_mbps`` over
    the window, ``per_second_mbps`` in each second after ``start``.

    Of traffic that comes and goes also: ``size_bytes`` of payload (None: it lasts), ``how`` it ended: ``done``,
    ``cut off`` by the end of the run, ``not started``, or what went wrong; ``late_s`` how long after it was due it
    began, ``connect_s`` how long until it was connected, ``completion_s`` until its last byte arrived, and
    ``fluid_s`` what max-min fairness gives for that; segments sent again, and the smoothed round-trip time at the
    end.
    """

    src: Count
    dst: Count
    src_port: Count | None = None
    start: Seconds = written(0.0)
    seconds: Seconds | None = written(None)
    mbps: Mbps
    window_mbps: Mbps | None = None
    per_second_mbps: tuple[Mbps, ...] = written(())
    paths: tuple[PathChange, ...] = written(())
    size_bytes: Count | None = None
    completion_s: Seconds | None = None
    connect_s: Seconds | None = None
    fluid_s: Seconds | None = None
    how: Sentence | None = None
    late_s: Seconds | None = None
    retransmissions: Count | None = None
    rtt_ms: Milliseconds | None = None


class Completion(Record, frozen=True, kw_only=True):
    """How long flows of a size class took, in the words of `traffic.completion.Completion`."""

    size_class: Name
    flows: Count
    cut_off: Count
    known_share: Annotated[float, Meta(ge=0, le=1)]
    mean_s: Seconds | None = None
    median_s: Seconds | None = None
    p95_s: Seconds | None = None
    p99_s: Seconds | None = None
    mean_slowdown: Positive | None = None
    median_slowdown: Positive | None = None
    p95_slowdown: Positive | None = None
    p99_slowdown: Positive | None = None


class Turns(Record, frozen=True, kw_only=True):
    """A shuffle (section 6.3): seconds until all was sent, and until a host was done on average; what a host sent in
    its time, 10^6 bytes per second. None: it did not end."""

    shuffle_s: Seconds | None
    host_completion_s: Seconds | None
    goodput_mbytes_per_s: Mbps | None


class Collective(Record, frozen=True, kw_only=True):
    """A graph of flows, in the words of `traffic.graph.Collective`."""

    flows: Count
    ended: Count
    completion_s: Seconds | None
    steps: Count
    slowest_step: Count | None
    slowest_step_s: Seconds | None
    longest_flow_s: Seconds | None


class Round(Record, frozen=True, kw_only=True):
    """A scheduling round that was done at ``t``: flows seen, large ones, placed ones, those that changed their
    path; how long it took to poll, compute and install."""

    t: Seconds
    round: Count | None = None
    flows: Count | None = None
    large: Count
    placed: Count | None = None
    changed: Count
    polled_ms: Milliseconds | None = None
    compute_ms: Milliseconds | None = None
    install_ms: Milliseconds | None = None

    @property
    def total_ms(self) -> float | None:
        """Polling, computing and installing together; None when one of them was not stored."""
        if self.polled_ms is None or self.compute_ms is None or self.install_ms is None:
            return None
        return self.polled_ms + self.compute_ms + self.install_ms

    @property
    def began(self) -> float:
        """When the round began, as far as is known."""
        return self.t - (self.total_ms or 0.0) / 1e3


class Cpu(Record, frozen=True, kw_only=True):
    """Of the second that ended at each ``t``: how idle all processors were; for how much of it each forwarding
    process (by name) was ready to run and had no processor."""

    t: tuple[Seconds, ...] = written(())
    idle_percent: tuple[Percent, ...] = written(())
    waiting_percent: Mapping[Name, tuple[Percent, ...]] = written({})

    def __post_init__(self) -> None:
        _same_length(self.t, self.idle_percent)


class Rule(Record, frozen=True):
    """A rule of the verdict: whether the run ``kept`` it (None: it was not applied, and ``why_not``), what was
    ``found``, and how much that has to be at ``least``, or may be at ``most``."""

    rule: Name
    kept: bool | None = None
    found: float | None = None
    least: float | None = None
    most: float | None = None
    why_not: Sentence | None = None


class RoundTrips(Record, frozen=True, kw_only=True):
    """At each ``t``, means over the flows: TCP's smoothed round-trip time, and what of it the queues of the links on
    the paths of data and acknowledgements held."""

    t: tuple[Seconds, ...] = ()
    rtt_ms: tuple[Milliseconds, ...] = ()
    queues_ms: tuple[Milliseconds, ...] = ()

    def __post_init__(self) -> None:
        _same_length(self.t, self.rtt_ms, self.queues_ms)


class FullLinks(Record, frozen=True, kw_only=True):
    """What the links carried that max-min fairness says are full all through ``window_s``, on the wire."""

    window_s: tuple[Seconds, Seconds]
    mbps: Mapping[Port, Mbps | None]


class Disagreement(Record, frozen=True, kw_only=True):
    """A link whose own counter says something else than what the flows that were placed on it delivered; both on the
    wire, over the window."""

    flows_mbps: Mbps
    counter_mbps: Mbps | None


class Failure(Record, frozen=True, kw_only=True):
    """A moment at which cables went down (``broken``) or came back (``mended``).

    ``affected`` flows, or what acknowledges them, were on one of them; ``cut_off`` of these had no path left. It
    took ``rerouted_s`` until the controller had moved the last of the others, ``moving_s`` until all of them,
    and those that were without a path before, carried data again: an upper bound. None: not known, or there was
    none.
    """

    t: Seconds
    broken: tuple[Cable, ...] = written(())
    mended: tuple[Cable, ...] = written(())
    affected: Count
    cut_off: Count = written(0)
    rerouted_s: Seconds | None
    moving_s: Seconds | None


class Phase(Record, frozen=True, kw_only=True):
    """A stretch of the window with the same cables ``down``: what was received, what the paths of the flows
    allowed, and the most that any paths would have (an exact bound; None: not known)."""

    from_s: Seconds
    to_s: Seconds
    down: tuple[Cable, ...]
    mbps: Mbps | None = None
    maxmin_mbps: Mbps | None = None
    best_mbps: Mbps | None


class Restart(Record, frozen=True, kw_only=True):
    """When and why the controller was missed, when the next one had every switch, and how many flows that one
    had ``adopted`` from the switches' tables."""

    t: Seconds
    reason: Sentence
    ready_t: Seconds | None
    adopted: Count


class Timing(Record, frozen=True, kw_only=True):
    """What took how many seconds. ``ready_s`` counts from the start of building; ``overhead_s`` is all but the
    traffic."""

    build_s: Seconds | None = None
    ready_s: Seconds | None = None
    traffic_s: Seconds | None = None
    teardown_s: Seconds | None = None
    total_s: Seconds | None = None
    overhead_s: Seconds | None = None
