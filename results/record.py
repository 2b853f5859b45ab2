"""run.json: everything one run left behind, typed. It is defined, written and read here, and nowhere else.

A file may have been written by anybody and is read back by root. So `read` takes regular files of a sensible
size alone, and `decode` checks every type, range and name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from files.reader import read_bytes
from files.writer import write_whole
from results.parts import (
    Completion,
    Count,
    Cpu,
    Disagreement,
    Fact,
    Failure,
    FlowRecord,
    FullLinks,
    Mbps,
    Name,
    Phase,
    Port,
    Positive,
    Rates,
    Record,
    Restart,
    Round,
    RoundTrips,
    Rule,
    Seconds,
    Sentence,
    Settings,
    Timing,
    Turns,
    written,
)
from topos.wire import payload_share

SCHEMA: Literal[2] = 2
"""Version of run.json. `decode` reads all versions from 1 on."""
NOT_JUDGED = "not judged"
Verdict = Literal["ok", "invalid", "not judged"]
MAX_BYTES = 256 << 20
"""A larger file is not read: 16,000 flows of ten minutes make some 150 MB."""


class Run(Record, frozen=True, kw_only=True):
    """One pattern, one scheme, one trial.

    ``bisection_mbps`` is the sum over hosts of what each received, averaged over ``window_s``, **on the wire**:
    by bwm-ng at the switch ports that face the hosts. So Ethernet, IP and TCP headers count, and the
    acknowledgements of what a host sends. It is held against ``capacity_mbps``, hosts x link rate, and against
    ``maxmin_mbps``, what max-min fair sharing of the flows' own paths would give. ``payload_mbps`` is what the
    receivers' sockets were given in the same time (by iperf), which section 6.2 of the paper counts; it is held
    against ``payload_capacity_mbps``.

    A run that broke off is invalid and has no bisection bandwidth. One that is ``not judged`` counts no more than an
    invalid one: no rule of speed could say that the machine was fast enough. ``reasons`` say why a run does not
    count, ``remarks`` what is to be said of one that may. Runs of before ``rules`` were told have none.

    ``links``: by port, on the wire, mean over the window. ``progress``: what time flows that take long should have
    taken, over what they took. ``costs``: what controlling took (`harness.judge.costs`).
    """

    schema: Literal[2]
    scheme: Name
    traffic: Name
    trial: Count
    seed: Count
    started: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    capacity_mbps: Positive
    window_s: tuple[Seconds, Seconds]
    spec: Settings
    matrix: tuple[tuple[Count, Count], ...] = written(())
    bisection_mbps: Mbps | None
    maxmin_mbps: Mbps | None = written(None)
    payload_mbps: Mbps | None = written(None)
    verdict: Verdict
    reasons: tuple[Sentence, ...]
    remarks: tuple[Sentence, ...] = ()
    rules: tuple[Rule, ...] = written(())
    rates: Rates = written(Rates())
    links: Mapping[Port, Mbps | None] = written({})
    full_links: FullLinks | None = None
    round_trips: RoundTrips = RoundTrips()
    disagreements: Mapping[Port, Disagreement] = {}
    queue_drops: Mapping[Port, Count] = written({})
    flows: tuple[FlowRecord, ...]
    completion: tuple[Completion, ...] = ()
    progress: float | None = None
    turns: Turns | None = None
    cpu: Cpu = written(Cpu())
    rounds: tuple[Round, ...] = written(())
    costs: Mapping[Name, float] = written({})
    lost_packets: Mapping[Name, Count] = {}
    throttled_s: Mapping[Name, Seconds] = {}
    controller_restarts: tuple[Restart, ...] = ()
    failures: tuple[Failure, ...] = ()
    phases: tuple[Phase, ...] = ()
    timing: Timing = written(Timing())
    environment: Mapping[Name, Fact] = written({})

    def __post_init__(self) -> None:
        if self.valid and (self.bisection_mbps is None or self.payload_mbps is None):
            raise ValueError("a valid run has bisection_mbps and payload_mbps")
        if not self.window_s[0] < self.window_s[1]:
            raise ValueError("window_s ends before it begins")

    @property
    def valid(self) -> bool:
        """Whether the run counts."""
        return self.verdict == "ok"

    @property
    def judged(self) -> bool:
        """Whether a verdict was reached, good or bad."""
        return self.verdict != NOT_JUDGED

    @property
    def may_be_tried_again(self) -> bool:
        """Whether another try may tell more: not where the run counts, nor where no rule of speed found anything by
        which it could be judged, for which the next one would be as short."""
        return not self.valid and (
            self.judged or any(rule.found is not None for rule in self.rules if rule.why_not)
        )

    @property
    def pattern(self) -> str:
        """The traffic, and how it was multiplied and thinned where it was."""
        return pattern_of(self.traffic, self.spec.flows_per_host, self.spec.keep)

    @property
    def payload_capacity_mbps(self) -> float:
        """What of the capacity full segments can deliver to sockets."""
        return self.capacity_mbps * payload_share(self.spec.mtu)


def pattern_of(traffic: str, flows_per_host: int, keep: float) -> str:
    """The name of a traffic, and of how it was multiplied and thinned where it was."""
    many = f" x{flows_per_host}" if flows_per_host != 1 else ""
    return traffic + many + (f" keep {keep:g}" if keep != 1 else "")


def encode(run: Run, indent: int = 1) -> bytes:
    """run.json as bytes; with ``indent`` 0, one line. Raises ValueError when `decode` would refuse them: better now
    than when they are needed."""
    run = msgspec.structs.replace(run, reasons=tuple(map(_one_line, run.reasons)))
    try:
        data = _ENCODER.encode(run)
    except TypeError as error:
        raise ValueError(_one_line(str(error))) from None
    decode(data)
    return msgspec.json.format(data, indent=indent) + b"\n"


def write(path: Path, run: Run) -> Run:
    """Write a run, whole or not at all, and return it as it will be read. Raises ValueError as `encode` does."""
    data = encode(run)
    write_whole(path, data)
    return decode(data)


def decode(data: bytes) -> Run:
    """The run of a run.json. Raises ValueError with the reason, one sentence, when it is not one."""
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        try:
            old = _upgraded(data)
            if old is not None:
                return _DECODER.decode(old)
        except (ValueError, RecursionError) as upgrade_error:
            raise ValueError(_sentence(upgrade_error)) from None
        raise ValueError(_sentence(error)) from None


def read(path: Path) -> Run:
    """The run of a file. Raises ValueError with the reason, one sentence, when it cannot be had."""
    return decode(content(path))


def read_settings(path: Path) -> Settings:
    """What the runs of a sweep have in common, by its sweep.json. Raises ValueError as `read` does.

    What an older one does not name was as is the default of `Settings`, and so is here what runs may differ in.
    """
    data = content(path)
    try:
        document = _renamed(msgspec.json.decode(data, type=dict[str, Any]))
        document.pop("first_seed", None)
        return msgspec.convert({"flows_per_host": 1, "keep": 1.0} | document, Settings)
    except msgspec.ValidationError as error:
        raise ValueError(f"is not what a sweep has in common: {_one_line(str(error))[:300]}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(_sentence(error)) from None


def content(path: Path) -> bytes:
    """The bytes of a regular file of a sensible size. Raises ValueError, one sentence, when they cannot be had."""
    return read_bytes(path, MAX_BYTES)


def _upgraded(data: bytes) -> bytes | None:
    """A document of schema 1 as one of SCHEMA; None when it is none. Some of schema 1 hold NaN, which is no JSON."""
    document: Any = json.loads(data, parse_constant=lambda _: None)
    if not isinstance(document, dict) or document.get("schema") != 1:
        return None
    document["schema"] = SCHEMA
    if "iperf_mbps" in document:
        document["payload_mbps"] = document.pop("iperf_mbps")
    if isinstance(spec := document.get("spec"), dict):
        repeated = ("scheme", "traffic", "trial", "seed")
        document["spec"] = {name: value for name, value in _renamed(spec).items() if name not in repeated}
    if isinstance(reasons := document.get("reasons"), list):
        document["reasons"] = [_one_line(one) if isinstance(one, str) else one for one in reasons]
    return msgspec.json.encode(document)


def _renamed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by their names of today."""
    names = {"bw": "link_mbps", "interval": "interval_s"}
    return {names.get(name, name): value for name, value in settings.items()}


def _one_line(text: str) -> str:
    """What a tool said, as a Sentence."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", text).strip()[:10_000]


def _sentence(error: Exception) -> str:
    if isinstance(error, msgspec.ValidationError):
        return (
            f"is not a run of schema 1 to {SCHEMA}: {_one_line(str(error))[:300]}"  # it quotes unknown fields
        )
    return "is not JSON, or was cut off"


def _plain(number: Any) -> Any:
    """A number of numpy's as one of Python's."""
    if not hasattr(number, "item"):
        raise TypeError(f"{type(number).__name__} is not what a run has")
    return number.item()


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)
_DECODER = msgspec.json.Decoder(Run)
