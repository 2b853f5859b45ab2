"""What the tools of a run under way have written so far: rates of hosts and links, and rounds, second by second.

Looked at from outside, in the folder that they write to anyway; the run itself knows nothing of it and does nothing
for it. What is judged is read again, whole, when the run has ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.run.events import parse_events
from harness.run.spec import RunSpec
from hedera.schemes import CONTROL
from results.live import Now
from results.record import pattern_of
from topos.fattree import FatTree
from topos.nonblocking import NonBlocking

_MAX_READ = 1 << 20
"""Bytes of a file that one look takes in; the next takes in more."""


def begun(spec: RunSpec, stage: str, worker: str = "") -> Now:
    """A run of which no more is known than what it is."""
    return Now(
        pattern=pattern_of(spec.traffic, spec.flows_per_host, spec.keep),
        scheme=spec.scheme,
        trial=spec.trial,
        worker=worker,
        stage=stage,
        k=spec.k,
        link_mbps=spec.link_mbps,
        capacity_mbps=spec.capacity_mbps,
        seconds=spec.seconds,
    )


class _Lines:
    """The whole lines that a file has gained since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def __iter__(self) -> Iterator[bytes]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                text = file.read(_MAX_READ)
        except OSError:
            return
        whole = text[: text.rfind(b"\n") + 1]
        self._at += len(whole)
        yield from whole.splitlines()


class Tail:
    """A run under way as its raw files tell it. ``raw``: where its tools write; ``begin``: when the traffic started,
    seconds since the epoch."""

    def __init__(self, raw: Path, now: Now, begin: float) -> None:
        self._raw = raw
        self._begin = begin
        topo = FatTree(now.k) if now.scheme != CONTROL else NonBlocking(FatTree(now.k).num_hosts)
        hosts = set(topo.hosts)
        cables = [link for link in topo.links() if link.lower in hosts]
        self._facing = {cable.upper_end: cable.lower for cable in cables}
        self._files: dict[Path, _Lines] = {}
        self._log = _Lines(raw / "controller.jsonl")
        self._hosts: dict[str, float] = {}
        self._links: dict[str, float] = {}
        self._received: dict[int, dict[str, float]] = {}
        self._rounds: list[tuple[float, int, int]] = []
        self._first: set[str] = set()

    def onto(self, now: Now) -> Now:
        """The same run with what is known by now."""
        from msgspec.structs import replace

        for path in self._raw.glob("bwm-ng-*.csv"):
            for line in self._files.setdefault(path, _Lines(path)):
                self._sample(line)
        for event in parse_events(b"\n".join(self._log)):
            if event["event"] == "round":
                t = round(event["t"] - self._begin, 2)
                self._rounds.append((t, event["large"], event["changed"]))
        # A second counts when every host's port has been sampled in it.
        full = sorted(t for t, hosts in self._received.items() if len(hosts) == len(self._facing) and t > 0)
        return replace(
            now,
            t=tuple(map(float, full)),
            total_mbps=tuple(round(sum(self._received[t].values()), 3) for t in full),
            hosts=dict(self._hosts),
            links=dict(self._links),
            rounds=tuple(each for each in self._rounds if each[0] >= 0),
        )

    def _sample(self, line: bytes) -> None:
        """One line of bwm-ng's; see `traffic.bwmng`. A line of anything else is passed over."""
        columns = line.split(b";", 4)
        try:
            port = columns[1].decode("ascii")
            t, out_mbps, in_mbps = float(columns[0]), float(columns[2]) * 8e-6, float(columns[3]) * 8e-6
        except (IndexError, ValueError):
            return
        if port == "total" or not 0 <= out_mbps < 1e9 or not 0 <= in_mbps < 1e9:
            return
        if port not in self._first:  # no time has passed before the first sample: its rates are none
            self._first.add(port)
            return
        self._links[port] = round(out_mbps, 3)
        host = self._facing.get(port)
        if host is not None:
            self._hosts[host] = round(out_mbps, 3)
            self._links[host] = round(in_mbps, 3)  # what a host sends shows in what enters its switch
            self._received.setdefault(round(t - self._begin), {})[host] = out_mbps
