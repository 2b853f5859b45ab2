"""How much bandwidth a scheduler gives, in points: the same in grading and in a student's own check, of other traffic.

Flows last, every flow gets its max-min fair share, and a period follows another. What other schedulers reach, and what
no paths can exceed, comes with the cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import starmap
from statistics import mean, stdev

import numpy as np

from classroom.checks import Case, Check, Wrong, valid
from classroom.histories import History, HistoryFlow, walk
from classroom.submission import Misbehaved, Submission
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from topos.arrays import Float64, Int32
from topos.links import num_links, path_links

BASELINE = "hedera-gff"
AS_GOOD = 0.5
"""Of the points for quality, the share for reaching the baseline's mean; the rest is for certainly exceeding it."""
ROUNDS = 4
DRAWS = 1  # of a scheduler's own: the seed of the traffic would reveal future flows
_T = 2.069  # Student's, for 95 % of 24 simulations


def lasting(case: Case) -> History:
    """A case's traffic, for ROUNDS periods."""
    columns = (case[name] for name in ("src", "dst", "hashed", "demand"))
    return History(case["k"], tuple(starmap(HistoryFlow, zip(*columns, strict=True))), ROUNDS)


def reached(case: Case, place: Callable[[LargeFlows, LinkState], Int32]) -> float:
    """The share of the bound that a placement reaches under a case's traffic, a mean over ROUNDS periods."""
    carried = []

    def placed(flows: LargeFlows, links: LinkState) -> Int32:
        core = place(flows, links)
        carried.append(fair_rates(path_links(links.tree, flows.src, flows.dst, core), num_links(links.tree)).sum())
        return core

    walk(lasting(case), placed)
    return float(mean(carried) / case["bound"])


def fair_rates(paths: Int32, links: int) -> Float64:
    """Max-min fair rates of flows on these links (-1 for none), as shares of a link, by filling all at once."""
    on = np.zeros((paths.shape[0], links), dtype=bool)
    flow, tier = np.nonzero(paths >= 0)
    on[flow, paths[flow, tier]] = True
    rate, growing, room = np.zeros(paths.shape[0]), np.ones(paths.shape[0], dtype=bool), np.ones(links)
    while growing.any():
        count = on[growing].sum(axis=0)
        share = np.divide(room, count, out=np.full(links, np.inf), where=count > 0)
        full = growing & on[:, share <= share.min() + 1e-12].any(axis=1)
        rate[full] = share.min()
        room = np.maximum(room - share.min() * on[full].sum(axis=0), 0.0)
        growing &= ~full
    return rate


def measured(submission: Submission, cases: Sequence[Case]) -> tuple[float | None, float | None, Check]:
    """The part of the points for quality, the mean share of the bound in percent, and what is to be said of them."""
    name, shares = f"scheduler.py: more bandwidth than {BASELINE}", list[float]()
    (replies,) = submission.ask([[lasting(case).question(DRAWS, case["iterations"]) for case in cases]])
    for case in cases:
        replies.begin()
        try:
            shares.append(reached(case, lambda flows, links: valid(flows, links, replies.next())))
        except (Misbehaved, Wrong) as error:
            return None, None, Check(name, "section 5.5", str(error), f"k = {case['k']}, {case['traffic']}")
    least, most = (mean(case[scheme] for case in cases) for scheme in ("ecmp", BASELINE))
    base = min(1.0, max(0.0, (mean(shares) - least) / max(most - least, 1e-9)))
    more = [round(share - case[BASELINE], 9) + 0.0 for share, case in zip(shares, cases, strict=True)]
    gain, half = mean(more), _T * stdev(more) / len(more) ** 0.5
    above = 0.0 if gain < 1e-9 or base < 1.0 else min(1.0, gain / max(half, 1e-9))
    words = (
        f"it reaches {100 * mean(shares):.1f} % of what no paths can exceed, ECMP {100 * least:.1f} %, {BASELINE} "
        f"{100 * most:.1f} %: {100 * gain:+.1f} points beside it, 95 % interval {100 * (gain - half):+.1f} to "
        f"{100 * (gain + half):+.1f}{'' if above >= 1 else '. All points need an interval above zero'}"
    )
    part = AS_GOOD * base + (1 - AS_GOOD) * above
    return part, 100 * mean(shares), Check(name, "section 5.5", words, weakness=part >= 1)
