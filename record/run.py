"""run.json: the complete record of one run, typed, and ``runs.jsonl.xz``, those of a sweep. They are defined, written
and read only here.

Rates are in Mb/s (10^6 bit/s); ``t``, ``start`` and windows are in seconds since the first client started. A
number is never NaN: a missing measurement is None (``null``). Fields that few runs have are left out of the others.

Root may read a file that another user has written. So `read` takes only regular files of limited size, and `decode`
checks every type, range and name.
"""

from __future__ import annotations

import io
import lzma
import re
import warnings
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from record.files import write_whole
from record.spec import BAD, Name, Positive, RunSpec, list_options
from topos.wire import DEFAULT_MTU, compute_payload_share
from traffic.user_files import Unreadable, read_regular

SCHEMA: Literal[2] = 2
"""Version of run.json."""
NOT_JUDGED, LOST = "not judged", "lost"
Verdict = Literal["ok", "invalid", "not judged", "lost"]
OLDER = "before-1.1"
ASIDE = re.compile(rf"trial-\d+(?:-again)?\.(?:[0-9a-f]{{16}}|{OLDER})(?:\.\d+)?")
"""The folder of a run that was set aside: its key, or OLDER, follows the name it had."""
MAX_RUN_BYTES = 256 << 20
"""Larger files are not read: 16,000 flows of ten minutes make about 150 MB."""

# --- parts of a run ---------------------------------------------------------------------------------------------------

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
    """A field that is always written, although older runs lack it; others are left out if they have their default."""
    return msgspec.field(default_factory=lambda: default)


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of run.json."""


_RARE = (
    "fail", "disturb", "placement", "compute_s", "repeats", "topology", "oversubscribe", "delay_ms", "trace_ms", "pcap",
    "host_cpu", "phantom", "pacer",
)  # fmt: skip
_BEFORE = {
    "threshold": 0.1, "large_flows": "measured-or-estimated", "iterations": 1000, "scale_sizes": True, "time": "real",
    "controller_delay_ms": 0.0, "start_spread_ms": 0.0, "sack": True, "rack": True, "tail_loss_probes": True,
    "hystart": True, "initial_window": 10, "min_rto_ms": 200, "mtu": DEFAULT_MTU,
    "new_flows": "controller", "ack_paths": "hashed", "datapath": "kernel", "sink": "iperf",
}  # fmt: skip
"""What was used by runs that were made before there was such a setting, or before it was recorded."""


def _list_settings() -> Iterator[tuple[str, Any, Any] | tuple[str, Any]]:
    for name, option in list_options(RunSpec).items():
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
        "Settings",
        _list_settings(),
        bases=(Record,),
        module=__name__,
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
    )
"""Every option of a run except its scheme, traffic and seed; the choices made for ``auto``; ``datapath`` and ``sink``.

Runs are drawn together only when they agree in these, so an option that is not one of them is refused.
"""


def _check_lengths(t: tuple[float, ...], *series: tuple[float, ...]) -> None:
    if any(len(values) != len(t) for values in series):
        raise ValueError("t and what it belongs to have different lengths")


class Rates(Record, frozen=True, kw_only=True):
    """Rates on the wire, per second (``t`` is its end): received by all hosts together and by each."""

    t: tuple[Seconds, ...] = written(())
    total_mbps: tuple[Mbps, ...] = written(())
    hosts: Mapping[Name, tuple[Mbps, ...]] = written({})

    def __post_init__(self) -> None:
        _check_lengths(self.t, self.total_mbps, *self.hosts.values())


class PathChange(Record, frozen=True):
    """From time ``t`` on, a flow used ``core``."""

    t: Seconds
    core: Count


class FlowRecord(Record, frozen=True, kw_only=True):
    """One flow between two hosts (numbers), by the receiver's iperf: rates are payload.

    ``mbps`` is the mean over its life of ``seconds`` from ``start`` (None: it did not end), ``window_mbps`` over
    the window, ``per_second_mbps`` in each second after ``start``. ``ack_paths``: those of its acknowledgements, the
    other way.

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
    ack_paths: tuple[PathChange, ...] = ()
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
        _check_lengths(self.t, self.idle_percent)


_RULE_IN_FILES = {"passed": "kept", "measured": "found", "minimum": "least", "maximum": "most"}
"""Names of a rule's fields here, and in run.json."""


class Rule(Record, frozen=True, rename=_RULE_IN_FILES):
    """A rule of the verdict: whether the run ``passed`` it (None: it was not applied, for the reason ``why_not``), the
    value that was ``measured``, and the range for it, a ``minimum`` or a ``maximum``. In run.json these four have the
    names kept, found, least and most."""

    rule: Name
    passed: bool | None = None
    measured: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    why_not: Sentence | None = None

    def __getattr__(self, name: str) -> Any:
        """A field by the name that it had until 2.0, and has in run.json: it is there for one more release."""
        for field, earlier in _RULE_IN_FILES.items():
            if name == earlier:
                warnings.warn(f"record.run.Rule.{earlier} is called {field} now", DeprecationWarning, stacklevel=2)
                return getattr(self, field)
        raise AttributeError(f"a rule has no {name}")


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


# --- a run ------------------------------------------------------------------------------------------------------------


class Run(Record, frozen=True, kw_only=True):
    """One pattern, one scheme, one trial.

    Rates are on the wire, Ethernet headers and acknowledgements included, unless it says otherwise: those of
    ``payload_mbps`` compare with ``payload_capacity_mbps``, the others with ``capacity_mbps``. A run that is
    ``not judged`` counts no more than an invalid one: no rule of speed could say that the machine was fast enough.
    """

    schema: Literal[2]
    """Version of this format."""
    scheme: Name
    """How paths were chosen."""
    traffic: Name
    """Who sent to whom, as it was spelled."""
    trial: Count
    """From 1."""
    seed: Count
    """Of everything that was drawn."""
    key: Digits | None = None
    """A hash of all that was asked for, of the contents of the files that it names, and of the emulator: two runs with
    one key are one run. Runs before 1.1 have none."""
    inputs: Mapping[Name, Digits] = {}
    """The user's files that the run was made of, and hashes of their contents."""
    emulator: Name | None = None
    """What it was emulated by; another version may give other results."""
    started: Annotated[datetime, Meta(tz=True)] | None = None
    """When, UTC."""
    capacity_mbps: Positive
    """Hosts x link rate."""
    window_s: tuple[Seconds, Seconds]
    """The measured part: the middle two thirds of the run (section 6.2)."""
    spec: Settings
    """Every other option, with what `auto` became; and `datapath`: of the switches, in the `kernel` or in `user` space;
    `sink`: what took in flows that last, `iperf` or `blocks`."""
    matrix: tuple[tuple[Count, Count], ...] = written(())
    """Flows asked for: host numbers, source and destination."""
    bisection_mbps: Mbps | None
    """The result: what all hosts received, averaged over the window, on the wire (bwm-ng at the ports that
    face hosts)."""
    maxmin_mbps: Mbps | None = written(None)
    """What max-min fair sharing of the flows' paths would give, averaged over the window."""
    bound_mbps: Mbps | None = None
    """The most that the links of such a network could carry of these flows, if they last; of other networks than a
    fat-tree whose links all have one rate."""
    payload_mbps: Mbps | None = written(None)
    """As the result, but payload that sockets received (iperf), which section 6.2 of the paper counts."""
    verdict: Verdict
    """`ok`, `invalid`, `not judged`, or `lost`: the machine ended it before there was anything to judge."""
    reasons: tuple[Sentence, ...]
    """Of a verdict that is not `ok`. A run that broke off is invalid and has no result."""
    remarks: tuple[Sentence, ...] = ()
    """On a run that counts, for instance that TCP was slow, not the machine."""
    rules: tuple[Rule, ...] = written(())
    """Every rule of the verdict; runs of before they were told have none."""
    rates: Rates = written(Rates())
    """Per second."""
    links: Mapping[Port, Mbps | None] = written({})
    """Mean over the window by port: `SWITCH-ethN` out of that switch, a host's name out of the host."""
    ack_streams: Mapping[Port, float] = {}
    """How many flows' acknowledgements each port sent, by the paths that the controller gave them, its mean over the
    window; ports that sent none are left out. Each takes about 2 % of a link that its flow fills."""
    full_links: FullLinks | None = None
    """Links that max-min fairness says are full, once TCP has settled: 5 s or 25 round trips through a full
    queue after the last move."""
    disagreements: Mapping[Port, Disagreement] = {}
    """Links whose counter contradicts the flows placed on them."""
    queue_drops: Mapping[Port, Count] = written({})
    """Packets dropped by a port's queue."""
    flows: tuple[FlowRecord, ...]
    """Every one."""
    completion: tuple[Completion, ...] = ()
    """By size class: flows due in the window. The FCT alone is the bytes at the link rate and 1.5 of the run's
    shortest handshake."""
    progress: float | None = None
    """`fluid_s` over `completion_s`, summed over flows that need half a second or more."""
    turns: Turns | None = None
    """Of a shuffle."""
    collective: Collective | None = None
    """Of a collective: flows that wait for each other."""
    cpu: Cpu = written(Cpu())
    """Every second."""
    rounds: tuple[Round, ...] = written(())
    """What Hedera did, each time."""
    costs: Mapping[Name, float] = written({})
    """The controller's processor time, messages and bytes per second; TCP's retransmissions, reorderings,
    timeouts and ECN marks; packets that phantom queues marked, that pacers held, and that passed these;
    how soon large flows were found and moved."""
    lost_packets: Mapping[Name, Count] = {}
    """Packets lost outside every queue, by place."""
    throttled_s: Mapping[Name, Seconds] = {}
    """How long `--host-cpu` held each host back."""
    controller_restarts: tuple[Restart, ...] = ()
    """Each time that the controller was missed."""
    failures: tuple[Failure, ...] = ()
    """With `--fail`."""
    phases: tuple[Phase, ...] = ()
    """With `--fail`: between the moments."""
    timing: Timing = written(Timing())
    """What took how long."""
    environment: Mapping[Name, Fact] = written({})
    """Kernel, processor, versions, git revision, hash of the code, worker."""

    def __post_init__(self) -> None:
        if self.valid and (self.bisection_mbps is None or self.payload_mbps is None):
            raise ValueError("a valid run has bisection_mbps and payload_mbps")
        if not self.window_s[0] < self.window_s[1]:
            raise ValueError("window_s ends before it begins")
        # A pattern in the type of these, `Fact`, makes msgspec 0.22 free memory twice.
        if re.search(f"(?![\t\n])[{BAD}]", "".join(_list_texts(self.environment))):
            raise ValueError("environment has characters that control a terminal")

    def __repr__(self) -> str:
        rate = (
            "no result" if self.bisection_mbps is None else f"{self.bisection_mbps:.1f} of {self.capacity_mbps:g} Mb/s"
        )
        scheme, traffic = (name.rpartition("/")[2] for name in (self.scheme, self.traffic))
        return f"<{scheme} on {traffic}, trial {self.trial}: {rate}, {self.verdict}>"

    def _repr_html_(self) -> str:
        """For a notebook: the sentence of `repr`, why it is not valid, and the rates over time."""
        from record import notebook

        why = "; ".join((*self.reasons, *self.remarks))
        facts = {"run": repr(self)[1:-1], "flows": len(self.flows), "why": why}
        shown = {name: fact for name, fact in facts.items() if fact}
        rates = notebook.draw_rates(self.rates.t, self.rates.total_mbps, self.capacity_mbps, self.window_s)
        return notebook.make_table([shown]) + rates

    @property
    def valid(self) -> bool:
        return self.verdict == "ok"

    @property
    def judged(self) -> bool:
        return self.verdict != NOT_JUDGED

    @property
    def lost(self) -> bool:
        """Whether the machine lost it: it is no result, and is made again."""
        return self.verdict == LOST

    @property
    def emulated_by(self) -> str:
        """The emulator in words, also of runs that were made before they told it."""
        if self.emulator is not None:
            return self.emulator
        kernel = str(self.environment.get("guest_kernel_sha256", "not recorded"))[:12]
        return "real time before 1.1" if self.spec.time == "real" else f"virtual time before 1.1, kernel {kernel}"

    @property
    def may_be_tried_again(self) -> bool:
        """Whether another try may help: not if the run counts, and not if no rule of speed could be applied, because
        the next run would be just as short."""
        return not self.valid and (self.judged or any(rule.measured is not None for rule in self.rules if rule.why_not))

    @property
    def pattern(self) -> str:
        """The traffic, with its flows per host and share of flows kept if these are not 1."""
        return pattern_of(self.traffic, self.spec.flows_per_host, self.spec.keep)

    @property
    def settings(self) -> dict[str, Any]:
        """The values of ``spec`` by name."""
        spec: Any = self.spec
        return msgspec.structs.asdict(spec)

    def to_frame(self) -> Any:
        """A pandas frame, a row for each flow, with the columns of `record.FlowRecord`."""
        from pandas import DataFrame

        return DataFrame([msgspec.structs.asdict(flow) for flow in self.flows])

    @property
    def payload_capacity_mbps(self) -> float:
        """The payload that full segments can deliver to sockets at full capacity."""
        return self.capacity_mbps * compute_payload_share(self.spec.mtu)


def pattern_of(traffic: str, flows_per_host: int, keep: float) -> str:
    """The name of a traffic, with its flows per host and share of flows kept if these are not 1."""
    many = f" x{flows_per_host}" if flows_per_host != 1 else ""
    return traffic + many + (f" keep {keep:g}" if keep != 1 else "")


def encode(run: Run, indent: int = 1) -> bytes:
    """run.json as bytes; with ``indent`` 0, one line. Raises ValueError for a value that JSON cannot hold."""
    run = msgspec.structs.replace(run, reasons=tuple(map(_to_one_line, run.reasons)))
    try:
        data = _ENCODER.encode(run)
    except TypeError as error:
        raise ValueError(_to_one_line(str(error))) from None
    return msgspec.json.format(data, indent=indent) + b"\n"


def write(path: Path, run: Run) -> Run:
    """Write a run atomically; returns it as it will be read. ValueError if `decode` would refuse it."""
    data = encode(run)
    run = decode(data)
    write_whole(path, data)
    return run


def decode(data: bytes) -> Run:
    """The run of a run.json. Raises ValueError with the reason, one sentence, when it is not one."""
    try:
        return _DECODER.decode(data)
    except msgspec.ValidationError as error:  # it quotes unknown fields
        raise ValueError(f"is not a run of schema {SCHEMA}: {_to_one_line(str(error))[:300]}") from None
    except (msgspec.DecodeError, RecursionError):
        raise ValueError("is not JSON, or was cut off") from None


def read(path: Path) -> Run:
    """The run of a file. Raises ValueError with the reason, one sentence, when it cannot be read."""
    return decode(read_regular(path, MAX_RUN_BYTES))


def mean_over(times: NDArray[np.float64], rates: NDArray[np.float64], window: tuple[float, float]) -> float:
    """The mean over ``window`` of a rate sampled as averages, sample i covering (times[i-1], times[i]].

    ``times`` and ``rates`` have one shape (samples,); the first sample is taken to cover one second.
    Samples that the window cuts count by the part inside it; NaN if the window has no sample.
    """
    if len(times) == 0:
        return float("nan")
    starts = np.concatenate([[times[0] - 1.0], times[:-1]])
    inside = np.clip(np.minimum(times, window[1]) - np.maximum(starts, window[0]), 0, None)
    return float(np.sum(inside * rates) / np.sum(inside)) if np.sum(inside) > 0 else float("nan")


def _to_one_line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", text).strip()[:10_000]


def _list_texts(fact: Any) -> Iterator[str]:
    for part in [*fact, *fact.values()] if isinstance(fact, Mapping) else fact if isinstance(fact, tuple) else ():
        yield from _list_texts(part)
    if isinstance(fact, str):
        yield fact


def _to_plain(number: Any) -> Any:
    if not hasattr(number, "item"):
        raise TypeError(f"{type(number).__name__} is not what a run has")
    return number.item()


_ENCODER = msgspec.json.Encoder(enc_hook=_to_plain)
_DECODER = msgspec.json.Decoder(Run)


# --- the runs of a sweep in one file ----------------------------------------------------------------------------------

ARCHIVE = "runs.jsonl.xz"
QUEUES, CONNECTIONS = "queues.csv", "connections.csv"
"""What `--trace` writes down, beside a run.json."""
MAX_ARCHIVE_BYTES = 1 << 30
"""The limit for an unpacked archive; 700 runs of a minute take a tenth of it."""
MAX_RUNS = 20_000
MAX_MEMORY = 256 << 20
"""The memory limit for unpacking: an archive could ask for any amount."""


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    file: str
    run: msgspec.Raw


_LINES = msgspec.json.Decoder(_Line)


def pack(documents: Mapping[str, bytes]) -> bytes:
    """An archive of these run.json by their paths, always of the same bytes. ValueError for what is not JSON."""
    packed = lzma.LZMACompressor(preset=9 | lzma.PRESET_EXTREME)
    made = []
    for file, document in sorted(documents.items()):
        try:
            line = _Line(file, msgspec.Raw(msgspec.json.format(document, indent=-1)))
        except msgspec.DecodeError:
            raise ValueError(f"{file} is not JSON, or was cut off: remove it, or make that run again") from None
        made.append(packed.compress(msgspec.json.encode(line) + b"\n"))
    return b"".join([*made, packed.flush()])


def unpacked(path: Path) -> Iterator[tuple[str, bytes]]:
    """The path and the text of each run.json in an archive, which is not trusted: what would lie outside its folder is
    left out. Raises Unreadable, which is a ValueError, when it is not an archive or too large."""
    packed = lzma.LZMADecompressor(memlimit=MAX_MEMORY)
    try:
        plain = io.BytesIO(packed.decompress(read_regular(path, MAX_ARCHIVE_BYTES), MAX_ARCHIVE_BYTES))
        if not packed.eof:
            raise Unreadable(f"is cut off, or larger than {MAX_ARCHIVE_BYTES / 1e6:.3g} MB when it is unpacked")
        for line in map(_LINES.decode, islice(plain, MAX_RUNS)):
            place = PurePosixPath(line.file)
            if not (place.is_absolute() or ".." in place.parts):
                yield line.file, bytes(line.run)
        if plain.read(1):
            raise Unreadable(f"has more than {MAX_RUNS} runs")
    except (lzma.LZMAError, msgspec.DecodeError, RecursionError):
        raise Unreadable("is no archive of runs") from None
