"""The current state of a sweep: one small file in its folder, written every second, for `hedera watch`.

It is not a result: no verdict depends on it, and it is removed when the sweep ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from files.reader import Unreadable, read_bytes
from files.writer import write_whole
from results.parts import Count, Mbps, Name, Port, Positive, Record, Seconds, Sentence

LIVE = ".live.json"
"""The file's name in the folder of a sweep."""
MAX_BYTES = 16 << 20


class Now(Record, frozen=True, kw_only=True):
    """A run in progress. ``stage``: building, sending, finishing, judging, publishing, or what it waits for.
    ``worker``: the machine that makes it, on a cluster.

    ``t``, ``total_mbps``: seconds since the traffic started, and the rate of all hosts in each, on the wire.
    ``hosts``: Mb/s received in the last second. ``links``: by sending port, Mb/s in the last second. ``rounds``:
    (seconds, large flows, flows moved) of each scheduling round.
    """

    pattern: Name
    scheme: Name
    trial: Count
    worker: Sentence = ""
    stage: Sentence
    k: Annotated[int, Meta(ge=4, le=254, multiple_of=2)]
    link_mbps: Positive
    capacity_mbps: Positive
    seconds: Positive
    t: tuple[Seconds, ...] = ()
    total_mbps: tuple[Mbps, ...] = ()
    hosts: Mapping[Name, Mbps] = {}
    links: Mapping[Port, Mbps] = {}
    rounds: tuple[tuple[Seconds, Count, Count], ...] = ()


class Worker(Record, frozen=True, kw_only=True):
    """A machine of a cluster: its name, its description, and what it is doing (or why it is not used)."""

    name: Name
    machine: Sentence = ""
    doing: Sentence = ""
    used: bool = True


class Live(Record, frozen=True, kw_only=True):
    """A sweep: the time of writing (seconds since the epoch), runs planned and done, the forecast, and the runs in
    progress."""

    written: Annotated[float, Meta(ge=0)]
    jobs: Count
    done: Count
    seconds_left: Seconds
    runs: tuple[Now, ...] = ()
    workers: tuple[Worker, ...] = ()


def write_live(folder: Path, live: Live) -> None:
    """Write it into the folder of a sweep, atomically. OSError when that fails."""
    write_whole(folder / LIVE, msgspec.json.encode(live), lasting=False)


def read_live(folder: Path) -> Live | None:
    """The state in the folder of a sweep; None if there is none, or none that we wrote."""
    try:
        return msgspec.json.decode(read_bytes(folder / LIVE, MAX_BYTES), type=Live)
    except (Unreadable, msgspec.DecodeError, RecursionError):
        return None
