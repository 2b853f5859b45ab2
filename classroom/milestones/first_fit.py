"""Milestone 2, Global First Fit (Hedera section 4.3, Figure 5): scenes with one right answer, then random histories.

Demands are 1, 1/2 and 1/4 of a link, so that rounding does not matter, and stay the same while a flow lives: how a
reservation follows a changing demand is left open by the paper, and here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from classroom.contract import Broken, Ints, valid
from classroom.histories import History, HistoryFlow, histories, smallest, walk
from classroom.looks import Look
from classroom.process import Misbehaved
from classroom.submission import Submission
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from topos.fattree import FatTree

# At k = 4, hosts 0 and 1 share an edge switch, hosts 0 to 3 a pod, and four cores lead to each pod.
FITS = HistoryFlow(0, 4, hashed=2, demand=1.0)


def _walked(submission: Submission, history: History) -> list[tuple[LargeFlows, LinkState, Ints]]:
    submission.fresh(history.k)

    def place(flows: LargeFlows, links: LinkState) -> Ints:
        return valid(flows, links, submission.place(flows, links))

    return walk(history, place)


def _cores(submission: Submission, history: History) -> dict[int, int]:
    """The core of each flow in the last period."""
    flows, _, core = _walked(submission, history)[-1]
    return dict(zip(flows.key.tolist(), core.tolist(), strict=True))


@dataclass(frozen=True)
class Scene:
    """A history with a right answer: the cores of flows in its last period, or two flows that share a path."""

    name: str
    section: str
    history: History
    words: str
    on: dict[int, int] = field(default_factory=dict)
    together: tuple[int, ...] = ()

    def look(self, submission: Submission, rng: Random) -> tuple[str, str]:
        """A sentence on what is wrong, and the history."""
        try:
            found = _cores(submission, self.history)
        except Broken as error:
            return str(error), str(self.history)
        if all(found[n] == core for n, core in self.on.items()) and (len({found[n] for n in self.together}) < 2):
            return "", ""
        where = ", ".join(f"flow {n} on core {found[n]}" for n in (*self.on, *self.together))
        return f"{self.words} Found in the last period: {where}", str(self.history)


def _random(submission: Submission, rng: Random) -> tuple[str, str]:
    """Compare with the project's own first fit, on histories of flows with constant demands."""
    from hedera.global_first_fit import GlobalFirstFit

    gone: list[tuple[str, str]] = []

    def difference(history: History) -> str:
        seen = _walked(submission, history)
        ours = GlobalFirstFit(FatTree(history.k))
        for period, (flows, links, core) in enumerate(seen):
            right = ours.place(flows, links)
            wrong = np.flatnonzero(right != core)
            if wrong.size:
                n = int(wrong[0])
                before = seen[period - 1][0].key.tolist() if period else []
                old = "was there in the last period" if int(flows.key[n]) in before else "is new"
                return (
                    f"in period {period + 1}, flow {flows.key[n]}, which {old}, is put on core {core[n]}: "
                    "is that the first "
                    "path, in the order of tree.path_cores, on which every link has room beside what the "
                    "flows before "
                    "it hold? Or, if no path has, its hashed one?"
                )
        return ""

    def fails(history: History) -> bool:
        try:
            return not gone and bool(difference(history))
        except Broken:
            return True
        except Misbehaved as error:
            if error.kind != "raised":
                gone.append((str(error), str(history)))
            return error.kind == "raised"

    found: Any = smallest(RANDOM, fails, rng.randrange(1 << 30), 150)
    if gone:
        return gone[0]
    if found is None:
        return "", ""
    try:
        return difference(found), str(found)
    except (Broken, Misbehaved) as error:
        return str(error), str(found)


SCENES = (
    Scene(
        "a demand of 1.0 fits an empty link",
        "section 4.3, Figure 5 line 4",
        History(4, (FITS,)),
        "A flow that wants a whole link has the network to itself, and the first path has room for exactly that.",
        on={0: 0},
    ),
    Scene(
        "reserved capacity is not given away twice",
        "section 4.3, Figure 5 lines 4 and 5",
        History(4, (FITS, HistoryFlow(1, 5, hashed=0, demand=1.0))),
        "Both flows want a whole link, from one edge switch and to one; the first holds core 0 and with it the links "
        "to the aggregation switch below.",
        on={0: 0, 1: 2},
    ),
    Scene(
        "two flows of half a link share one",
        "section 4.3, Figure 5 line 4",
        History(4, (HistoryFlow(0, 4, 3, demand=0.5), HistoryFlow(1, 5, 1, demand=0.5))),
        "A link has room for two demands of a half, so both flows fit the first path.",
        together=(0, 1),
    ),
    Scene(
        "an assigned flow keeps its path",
        "section 4.3, Figure 5 lines 1 and 2",
        History(4, (HistoryFlow(1, 5, 3, demand=1.0, gone=1), HistoryFlow(0, 4, 1, demand=1.0)), periods=2),
        "Flow 1 was given its path while flow 0 held the first one. That flow is gone; the other stays.",
        on={1: 2},
    ),
    Scene(
        "reservations are cleared when flows expire",
        "section 4.3",
        History(
            4,
            (HistoryFlow(0, 4, 1, demand=1.0, gone=1), HistoryFlow(1, 5, 3, born=1, demand=1.0)),
            periods=2,
        ),
        "Flow 0 is gone, and with it must be what it reserved: a full-rate flow fits its path again.",
        on={1: 0},
    ),
    Scene(
        "what a flow holds does not grow from period to period",
        "section 4.3, Figure 5",
        History(4, (HistoryFlow(0, 4, 1, demand=0.5), HistoryFlow(1, 5, 3, born=4, demand=0.5)), periods=5),
        "Flow 0 has been there for five periods and still wants half a link; flow 1 wants the other half.",
        together=(0, 1),
    ),
    Scene(
        "a flow that fits nowhere goes by its hash and holds nothing",
        "section 4.3, Figure 5 lines 7 to 9",
        History(
            4,
            (
                HistoryFlow(0, 4, 0, demand=1.0),
                HistoryFlow(1, 5, 0, demand=1.0),
                HistoryFlow(0, 6, 1, demand=0.5),
                HistoryFlow(2, 7, 0, demand=1.0),
            ),
        ),
        "Flows 0 and 1 fill both uplinks of their edge switch; flow 2 finds no room there and goes as it is hashed. "
        "Flow 3, from another edge switch, must not suffer from that.",
        on={0: 0, 1: 2, 2: 1, 3: 1},
    ),
)

RANDOM = histories(failures=False, most=12, sizes=(1.0, 0.5, 0.25))
LOOKS: list[tuple[str, str, Look]] = [
    *((scene.name, scene.section, scene.look) for scene in SCENES),
    ("random histories, as Figure 5 has it", "section 4.3, Figure 5", _random),
]
