"""Milestone 4, the control loop (Hedera sections 3, 4.2 and 4.3): counters in, changes of path out, period by
period."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classroom.looks import Look
from classroom.submission import Submission, Turned
from hedera.figure_7 import estimate_demands
from topos.fattree import FatTree

TREE = FatTree(4)
MBPS = 100.0
"""The rate of every link in these scenes."""
PERIOD_S = 5.0


@dataclass
class Entry:
    """A flow's entry at its edge switch."""

    src: int
    dst: int
    bytes: int = 0
    duration_s: float = 0.0
    core: int = 0
    hashed: int = 0

    def run(self, mbps: float, seconds: float = PERIOD_S) -> None:
        """Send at a rate for a time."""
        self.bytes += round(mbps * 1e6 / 8 * seconds)
        self.duration_s += seconds


@dataclass
class Scene:
    """A loop at work on flows between hosts of different pods."""

    submission: Submission
    entries: dict[int, Entry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.submission.fresh(TREE.k, loop_mbps=MBPS)

    def turn(self, cores: dict[int, int] | None = None) -> Turned:
        """One period, in which the placement wants these flows on these cores, and the others unchanged."""
        types: dict[str, Any] = {"bytes": np.int64, "duration_s": np.float64}
        columns: dict[str, NDArray[Any]] = {"key": np.array(list(self.entries), dtype=np.int64)}
        for name in ("src", "dst", "bytes", "duration_s", "core", "hashed"):
            values = [getattr(entry, name) for entry in self.entries.values()]
            columns[name] = np.array(values, dtype=types.get(name, np.int32))
        told = self.submission.turn(columns, cores or {})
        if told.odd:
            raise Wrong(f"round answers with {told.odd}, not with a dictionary of cores by key")
        for key, core in told.changes.items():
            if not 0 <= core < TREE.num_cores:
                raise Wrong(f"round moves a flow to core {core}; there are 0 to {TREE.num_cores - 1}")
            if key in self.entries:
                self.entries[key].core = core
        return told


class Wrong(Exception):
    """A mistake of a loop."""


def _told(look: Look) -> Look:
    def safe(submission: Submission, rng: Random) -> tuple[str, str]:
        try:
            return look(submission, rng)
        except Wrong as error:
            return str(error), ""

    return safe


def _asked(submission: Submission, rng: Random) -> tuple[str, str]:
    scene = Scene(submission, {1: Entry(0, 4)})
    scene.entries[1].run(80)
    for period in (1, 2):
        if (asked := scene.turn().asked) != 1:
            return f"the placement was asked {asked} times in period {period}; it is asked once in each", ""
        scene.entries[1].run(80)
    scene.entries.clear()
    turned = scene.turn()
    if turned.asked != 1 or turned.placed:
        return (
            "the only large flow is gone, and the placement was not called without it: a reservation of "
            "Global First Fit would stay forever",
            "one flow of 80 Mb/s on links of 100, which ends",
        )
    return "", ""


def _threshold(submission: Submission, rng: Random) -> tuple[str, str]:
    rates = {1: 9.7, 2: 10.3, 3: 1.0, 4: 60.0}
    scene = Scene(submission, {key: Entry(key, key + 4) for key in rates})
    for key, rate in rates.items():
        scene.entries[key].run(rate)
    placed = set(scene.turn().placed)
    if placed == {2, 4}:
        return "", ""
    told = ", ".join(f"{rate:g} Mb/s {'placed' if key in placed else 'left alone'}" for key, rate in rates.items())
    return (
        "large is what was measured above a tenth of a link, 10 of 100 Mb/s, and a Mb/s is 10^6 bits in a second",
        f"links of 100 Mb/s: {told}",
    )


def _difference(submission: Submission, rng: Random) -> tuple[str, str]:
    scene = Scene(submission, {1: Entry(0, 4), 2: Entry(1, 5)})
    for _ in range(6):
        scene.entries[1].run(50)
        scene.entries[2].run(1)
        scene.turn()
    scene.entries[1].run(2)
    scene.entries[2].run(50)
    placed = set(scene.turn().placed)
    if placed == {2}:
        return "", ""
    return (
        "a rate is what was counted since the last poll over the time since then, not the average over "
        "the entry's life",
        "flow 1 ran at 50 Mb/s for six periods and at 2 in the seventh, flow 2 at 1 and then at 50: "
        f"placed in the seventh {sorted(placed)}",
    )


def _again_from_0(submission: Submission, rng: Random) -> tuple[str, str]:
    scene = Scene(submission, {1: Entry(0, 4)})
    for _ in range(3):
        scene.entries[1].run(40)
        scene.turn()
    scene.entries[1] = Entry(0, 4, core=scene.entries[1].core)
    scene.entries[1].run(40, 2.0)
    if set(scene.turn().placed) == {1}:
        return "", ""
    return (
        "an entry that was lost and made again counts from 0; what it has counted belongs to the time "
        "since it was made",
        "flow 1 at 40 Mb/s throughout; its entry is 2 s old in the fourth period",
    )


def _acknowledgements(submission: Submission, rng: Random) -> tuple[str, str]:
    """Stride: each host sends one flow, and acknowledges another."""
    scene = Scene(submission)
    for host in range(16):
        there = (host + 4) % 16
        scene.entries[host] = Entry(host, there)
        scene.entries[100 + host] = Entry(there, host)
    for entry_key, entry in scene.entries.items():
        entry.run(50 if entry_key < 100 else 1.5)
    placed = scene.turn().placed
    streams = [key for key in placed if key >= 100]
    if streams:
        return (
            "the streams of acknowledgements that flow back were placed as if they were flows that want bandwidth",
            "stride:4, 50 Mb/s a flow, 1.5 Mb/s of acknowledgements each",
        )
    wrong = {key: demand for key, demand in placed.items() if abs(demand - 1.0) > 1e-6}
    if wrong or len(placed) != 16:
        found = (
            f"demands {sorted(set(np.round(list(wrong.values()), 3).tolist()))}"
            if wrong
            else f"{len(placed)} flows placed"
        )
        return (
            f"{found} where 16 flows have a host's link to themselves at either end, and want all of it: demands are "
            "estimated among the large flows alone; what only acknowledges takes no share",
            "stride:4, 50 Mb/s a flow, 1.5 Mb/s of acknowledgements each",
        )
    return "", ""


def _demands(submission: Submission, rng: Random) -> tuple[str, str]:
    pairs = [(s, (s + 4 * rng.randrange(1, 4) + rng.randrange(4)) % 16) for s in range(16) for _ in range(2)]
    scene = Scene(submission, {n: Entry(s, d) for n, (s, d) in enumerate(pairs)})
    large = [n for n in scene.entries if rng.random() < 0.6]
    for n, entry in scene.entries.items():
        entry.run(20 if n in large else 2)
    placed = scene.turn().placed
    right = estimate_demands([pairs[n][0] for n in large], [pairs[n][1] for n in large], 16)
    for n, demand in zip(large, right, strict=True):
        if abs(placed.get(n, -1.0) - demand) > 1e-6:
            given = f"demand {placed[n]:.4f}" if n in placed else "not at all"
            return (
                f"flow {n}, host {pairs[n][0]} to {pairs[n][1]}, is handed on with {given}; among the "
                f"large flows its demand is {demand:.4f}",
                f"{len(large)} flows at 20 Mb/s, {len(pairs) - len(large)} at 2, links of 100",
            )
    return "", ""


def _only_changes(submission: Submission, rng: Random) -> tuple[str, str]:
    scene = Scene(submission, {key: Entry(key, key + 4, core=1, hashed=1) for key in range(4)})
    told = "four flows of 30 Mb/s on core 1, links of 100; the placement wants flow 2 on core 3"
    for entry in scene.entries.values():
        entry.run(30)
    if (changes := scene.turn({2: 3}).changes) != {2: 3}:
        return f"the changes are {changes}: an entry is sent for flow 2 and for no other flow", told
    for entry in scene.entries.values():
        entry.run(30)
    if changes := scene.turn({2: 3}).changes:
        return f"in the next period nothing is to move, and the changes are {changes}", told
    return "", ""


LOOKS: list[tuple[str, str, Look]] = [
    (
        "the placement is asked once in each period, also when all is quiet",
        "section 3 and 4.3",
        _told(_asked),
    ),
    ("a flow is large above a tenth of a link", "section 3.1", _told(_threshold)),
    ("rates are differences of counters", "section 3.1", _told(_difference)),
    ("a counter that starts again is no negative rate", "section 3.1", _told(_again_from_0)),
    ("acknowledgements are no large flows", "section 4.2", _told(_acknowledgements)),
    ("demands are those among the large flows", "section 4.2", _told(_demands)),
    ("only what changed is installed", "section 3.2", _told(_only_changes)),
]
