"""run.json: the complete record of one run, typed. It is defined, written and read only here.

Root may read a file that another user has written. So `read` takes only regular files of limited size, and `decode`
checks every type, range and name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from record import parts
from record.files import write_whole
from record.parts import Count, Digits, Fact, Mbps, Port, Record, Seconds, Sentence, written
from record.spec import BAD, Name, Positive
from topos.wire import payload_share
from traffic.textfile import read_regular

SCHEMA: Literal[2] = 2
"""Version of run.json."""
NOT_JUDGED, LOST = "not judged", "lost"
Verdict = Literal["ok", "invalid", "not judged", "lost"]
OLDER = "before-1.1"
ASIDE = re.compile(rf"trial-\d+(?:-again)?\.(?:[0-9a-f]{{16}}|{OLDER})(?:\.\d+)?")
"""The folder of a run that was set aside: its key, or OLDER, follows the name it had."""
MAX_BYTES = 256 << 20
"""Larger files are not read: 16,000 flows of ten minutes make about 150 MB."""


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
    started: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    """When, UTC."""
    capacity_mbps: Positive
    """Hosts x link rate."""
    window_s: tuple[Seconds, Seconds]
    """The measured part: the middle two thirds of the run (section 6.2)."""
    spec: parts.Settings
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
    rules: tuple[parts.Rule, ...] = written(())
    """Every rule of the verdict; runs of before they were told have none."""
    rates: parts.Rates = written(parts.Rates())
    """Per second."""
    links: Mapping[Port, Mbps | None] = written({})
    """Mean over the window by port: `SWITCH-ethN` out of that switch, a host's name out of the host."""
    full_links: parts.FullLinks | None = None
    """Links that max-min fairness says are full, once TCP has settled: 5 s or 25 round trips through a full
    queue after the last move."""
    disagreements: Mapping[Port, parts.Disagreement] = {}
    """Links whose counter contradicts the flows placed on them."""
    queue_drops: Mapping[Port, Count] = written({})
    """Packets dropped by a port's queue."""
    flows: tuple[parts.FlowRecord, ...]
    """Every one."""
    completion: tuple[parts.Completion, ...] = ()
    """By size class: flows due in the window. The FCT alone is the bytes at the link rate and 1.5 of the run's
    shortest handshake."""
    progress: float | None = None
    """`fluid_s` over `completion_s`, summed over flows that need half a second or more."""
    turns: parts.Turns | None = None
    """Of a shuffle."""
    collective: parts.Collective | None = None
    """Of a collective: flows that wait for each other."""
    cpu: parts.Cpu = written(parts.Cpu())
    """Every second."""
    rounds: tuple[parts.Round, ...] = written(())
    """What Hedera did, each time."""
    costs: Mapping[Name, float] = written({})
    """The controller's processor time, messages and bytes per second; TCP's retransmissions, reorderings,
    timeouts and ECN marks; how soon large flows were found and moved."""
    lost_packets: Mapping[Name, Count] = {}
    """Packets lost outside every queue, by place."""
    throttled_s: Mapping[Name, Seconds] = {}
    """How long its CPU limit held each host back; of earlier results."""
    controller_restarts: tuple[parts.Restart, ...] = ()
    """Each time that the controller was missed."""
    failures: tuple[parts.Failure, ...] = ()
    """With `--fail`."""
    phases: tuple[parts.Phase, ...] = ()
    """With `--fail`: between the moments."""
    timing: parts.Timing = written(parts.Timing())
    """What took how long."""
    environment: Mapping[Name, Fact] = written({})
    """Kernel, processor, versions, git revision, hash of the code, worker."""

    def __post_init__(self) -> None:
        if self.valid and (self.bisection_mbps is None or self.payload_mbps is None):
            raise ValueError("a valid run has bisection_mbps and payload_mbps")
        if not self.window_s[0] < self.window_s[1]:
            raise ValueError("window_s ends before it begins")
        # A pattern in the type of these, `Fact`, makes msgspec 0.22 free memory twice.
        if re.search(f"(?![\t\n])[{BAD}]", "".join(_texts(self.environment))):
            raise ValueError("environment has characters that control a terminal")

    def __repr__(self) -> str:
        rate = (
            "no result" if self.bisection_mbps is None else f"{self.bisection_mbps:.1f} of {self.capacity_mbps:g} Mb/s"
        )
        scheme, traffic = (name.rpartition("/")[2] for name in (self.scheme, self.traffic))
        return f"<{scheme} on {traffic}, trial {self.trial}: {rate}, {self.verdict}>"

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
        return not self.valid and (self.judged or any(rule.found is not None for rule in self.rules if rule.why_not))

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
        """A pandas frame, a row for each flow, with the columns of `record.parts.FlowRecord` (docs/fields.md)."""
        from pandas import DataFrame

        return DataFrame([msgspec.structs.asdict(flow) for flow in self.flows])

    @property
    def payload_capacity_mbps(self) -> float:
        """The payload that full segments can deliver to sockets at full capacity."""
        return self.capacity_mbps * payload_share(self.spec.mtu)


def pattern_of(traffic: str, flows_per_host: int, keep: float) -> str:
    """The name of a traffic, with its flows per host and share of flows kept if these are not 1."""
    many = f" x{flows_per_host}" if flows_per_host != 1 else ""
    return traffic + many + (f" keep {keep:g}" if keep != 1 else "")


def encode(run: Run, indent: int = 1) -> bytes:
    """run.json as bytes; with ``indent`` 0, one line. Raises ValueError for a value that JSON cannot hold."""
    run = msgspec.structs.replace(run, reasons=tuple(map(_one_line, run.reasons)))
    try:
        data = _ENCODER.encode(run)
    except TypeError as error:
        raise ValueError(_one_line(str(error))) from None
    return msgspec.json.format(data, indent=indent) + b"\n"


def write(path: Path, run: Run) -> Run:
    """Write a run atomically, and return it as it will be read. Raises ValueError, and writes nothing, if `decode`
    would refuse it."""
    data = encode(run)
    run = decode(data)
    write_whole(path, data)
    return run


def decode(data: bytes) -> Run:
    """The run of a run.json. Raises ValueError with the reason, one sentence, when it is not one."""
    try:
        return _DECODER.decode(data)
    except msgspec.ValidationError as error:  # it quotes unknown fields
        raise ValueError(f"is not a run of schema {SCHEMA}: {_one_line(str(error))[:300]}") from None
    except (msgspec.DecodeError, RecursionError):
        raise ValueError("is not JSON, or was cut off") from None


def read(path: Path) -> Run:
    """The run of a file. Raises ValueError with the reason, one sentence, when it cannot be read."""
    return decode(read_regular(path, MAX_BYTES))


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


def _one_line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", text).strip()[:10_000]


def _texts(fact: Any) -> Iterator[str]:
    for part in [*fact, *fact.values()] if isinstance(fact, Mapping) else fact if isinstance(fact, tuple) else ():
        yield from _texts(part)
    if isinstance(fact, str):
        yield fact


def _plain(number: Any) -> Any:
    if not hasattr(number, "item"):
        raise TypeError(f"{type(number).__name__} is not what a run has")
    return number.item()


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)
_DECODER = msgspec.json.Decoder(Run)
