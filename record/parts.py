"""The parts of run.json, typed (record/run.py has the whole).

Rates are in Mb/s (10^6 bit/s); ``t``, ``start`` and windows are in seconds since the first client started. A
number is never NaN: a missing measurement is None (``null``). Fields that few runs have are left out of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from record.spec import BAD, Name, Positive, RunSpec, options_of
from topos.wire import DEFAULT_MTU

Sentence = Annotated[str, Meta(max_length=10_000, pattern=rf"^[^{BAD}]*\Z")]
"""Text for people."""
Count = Annotated[int, Meta(ge=0, le=2**53)]
Mbps = Annotated[float, Meta(ge=0, le=1e9)]
Seconds = Annotated[float, Meta(ge=-1e9, le=1e9)]
Percent = Annotated[float, Meta(ge=-1000, le=1000)]
"""A percentage of a second. By two clocks, so it may be a little below 0 or above 100."""
Milliseconds = Annotated[float, Meta(ge=0, le=1e9)]
Digits = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]
"""The beginning of a SHA-256, hexadecimal."""
Cable = Name
"""``A-B``, the names of its two ends."""
Port = Name
"""A sending port: ``SWITCH-ethN`` of a switch, or a host's name."""
Fact = bool | int | float | str | tuple[str, ...] | dict[str, str] | None


T = TypeVar("T")


def written(default: T) -> T:
    """A field that is always written, although older runs lack it. Other fields are left out if they have their
    default."""
    return msgspec.field(default_factory=lambda: default)


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of run.json."""


_RARE = ["fail", "disturb", "placement", "compute_s", "repeats", "topology", "oversubscribe"]
_BEFORE = {
    "threshold": 0.1, "large_flows": "measured-or-estimated", "iterations": 1000, "scale_sizes": True, "time": "real",
    "controller_delay_ms": 0.0, "start_spread_ms": 0.0, "sack": True, "min_rto_ms": 200, "mtu": DEFAULT_MTU,
    "new_flows": "controller", "datapath": "kernel", "sink": "iperf",
}  # fmt: skip
"""What was used by runs that were made before there was such a setting, or before it was recorded."""


def _settings() -> Iterator[tuple[str, Any, Any] | tuple[str, Any]]:
    for name, option in options_of(RunSpec).items():
        if name in _RARE:
            yield name, option.type, option.default
        elif name in _BEFORE:
            yield name, option.type, written(_BEFORE[name])
        elif name not in ("scheme", "traffic", "seed"):
            yield name, option.type
    yield "datapath", Name, written(_BEFORE["datapath"])
    yield "sink", Name, written(_BEFORE["sink"])


if TYPE_CHECKING:
    Settings = RunSpec
else:
    Settings = msgspec.defstruct(
        "Settings", _settings(), bases=(Record,), module=__name__, frozen=True, kw_only=True, forbid_unknown_fields=True
    )
"""Every option of a run except its scheme, traffic and seed; the choices made for ``auto``; ``datapath`` and ``sink``.

Runs are drawn together only when they agree in these, so an option that is not one of them is refused.
"""


def _same_length(t: tuple[float, ...], *series: tuple[float, ...]) -> None:
    if any(len(values) != len(t) for values in series):
        raise ValueError("t and what it belongs to have different lengths")


class Rates(Record, frozen=True, kw_only=True):
    """Rates on the wire, per second (``t`` is its end): received by all hosts together and by each."""

    t: tuple[Seconds, ...] = written(())
    total_mbps: tuple[Mbps, ...] = written(())
    hosts: Mapping[Name, tuple[Mbps, ...]] = written({})

    def __post_init__(self) -> None:
        _same_length(self.t, self.total_mbps, *self.hosts.values())


class PathChange(Record, frozen=True):
    """From time ``t`` on, a flow used ``core``."""

    t: Seconds
    core: Count


class FlowRecord(Record, frozen=True, kw_only=True):
    """One flow between two hosts (numbers), by the receiver's iperf: rates are payload.

    ``mbps`` is the mean over its life of ``seconds`` from ``start`` (None: it did not end), ``window_mbps`` over
    the window, ``per_second_mbps`` in each second after ``start``.

    Flows that arrive and end also have: ``size_bytes`` of payload (None: it lasts); ``how`` it ended: ``done``, ``cut
    off`` by the end of the run, ``not started``, or an error; ``late_s``, how late it started; ``connect_s``, the
    time to connect; ``completion_s``, the time until its last byte arrived; ``fluid_s``, the same time with max-min
    fair rates; segments retransmitted; and the smoothed round-trip time at the end.
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
    """The flows of one size class; None in place of a statistic where there is none.

    ``flows``: all that count. ``cut_off``: those of them that had not ended. ``known_share``: up to this share of the
    flows, percentiles of times and slowdowns are exact; from there on they, and the means, are lower bounds.
    """

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
    """A shuffle (section 6.3): seconds until everything was sent, and until a host was done on average; a host's
    sending rate in that time, 10^6 bytes per second. None: it did not end."""

    shuffle_s: Seconds | None
    host_completion_s: Seconds | None
    goodput_mbytes_per_s: Mbps | None


class Collective(Record, frozen=True, kw_only=True):
    """What became of a graph of flows. ``flows``: without computing; ``ended`` of them.

    ``completion_s``: when the last node ended, None where one has not. ``steps``: flows are of one when as many nodes
    lie before them on the longest way; ``slowest_step_s``: the longest time from the first start to the last end of
    one that has ended. ``longest_flow_s``: the longest time of a flow. ``least_s``: `traffic.graph.FlowGraph.least_s`.
    """

    flows: Count
    ended: Count
    completion_s: Seconds | None
    steps: Count
    slowest_step: Count | None
    slowest_step_s: Seconds | None
    longest_flow_s: Seconds | None
    least_s: Seconds | None = None


class Round(Record, frozen=True, kw_only=True):
    """A scheduling round that ended at ``t``: the numbers of flows seen, large, placed, and moved to another path;
    the time to poll, compute and install."""

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
        return self.t - (self.total_ms or 0.0) / 1e3


class Cpu(Record, frozen=True, kw_only=True):
    """How idle all processors were in the second that ended at each ``t``."""

    t: tuple[Seconds, ...] = written(())
    idle_percent: tuple[Percent, ...] = written(())

    def __post_init__(self) -> None:
        _same_length(self.t, self.idle_percent)


class Rule(Record, frozen=True):
    """A rule of the verdict: whether the run ``kept`` it (None: not applied, for the reason ``why_not``), the value
    ``found``, and the range for it, at ``least`` or at ``most``."""

    rule: Name
    kept: bool | None = None
    found: float | None = None
    least: float | None = None
    most: float | None = None
    why_not: Sentence | None = None


class FullLinks(Record, frozen=True, kw_only=True):
    """The rates, on the wire, of links that should be full throughout ``window_s`` by max-min fairness."""

    window_s: tuple[Seconds, Seconds]
    mbps: Mapping[Port, Mbps | None]


class Disagreement(Record, frozen=True, kw_only=True):
    """A link whose counter disagrees with the rates of the flows placed on it; both on the wire, over the window."""

    flows_mbps: Mbps
    counter_mbps: Mbps | None


class Failure(Record, frozen=True, kw_only=True):
    """A time at which cables failed (``broken``) or came back (``mended``).

    ``affected`` flows, or their acknowledgements, were on one of these cables; ``cut_off`` of them had no path left.
    ``rerouted_s``: the time until the controller had moved the last of the others. ``moving_s``: the time until all
    of them, and flows without a path before, carried data again (an upper bound). None: not known, or there was none.
    """

    t: Seconds
    broken: tuple[Cable, ...] = written(())
    mended: tuple[Cable, ...] = written(())
    affected: Count
    cut_off: Count = written(0)
    rerouted_s: Seconds | None
    moving_s: Seconds | None


class Phase(Record, frozen=True, kw_only=True):
    """A part of the window with the same cables ``down``: the rate received, the rate that the flows' paths allowed,
    and the most that any paths would allow (an exact bound; None: not known)."""

    from_s: Seconds
    to_s: Seconds
    down: tuple[Cable, ...]
    mbps: Mbps | None = None
    maxmin_mbps: Mbps | None = None
    best_mbps: Mbps | None


class Restart(Record, frozen=True, kw_only=True):
    """When and why the controller was lost, when the next one was connected to every switch, and how many flows it
    had ``adopted`` from the switches' tables."""

    t: Seconds
    reason: Sentence
    ready_t: Seconds | None
    adopted: Count


class Timing(Record, frozen=True, kw_only=True):
    """Durations in seconds. ``ready_s`` counts from the start of building; ``overhead_s`` is everything except the
    traffic."""

    build_s: Seconds | None = None
    ready_s: Seconds | None = None
    traffic_s: Seconds | None = None
    teardown_s: Seconds | None = None
    total_s: Seconds | None = None
    overhead_s: Seconds | None = None
