"""Milestone 1, demand estimation (Hedera section 4.2): Figure 4 by hand, then Figure 7 on random flows.

A wrong estimate is shown flow by flow. If a known mistake gives this result, the mistake is named, but not corrected.
"""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from classroom.histories import smallest
from classroom.looks import Look
from classroom.process import Misbehaved
from classroom.submission import Submission
from hedera.figure_7 import estimate_demands

Pairs = list[tuple[int, int]]
Floats = NDArray[np.float64]

FIGURE_4: Pairs = [(0, 1), (0, 2), (0, 3), (1, 0), (1, 0), (1, 2), (2, 0), (2, 3), (3, 1), (3, 1)]
"""The example of section 4.2: H0 sends a flow each to H1, H2 and H3, H1 two to H0 and one to H2, and so on."""
CLOSE = 1e-6
NO_FLOWS = "nothing to estimate"
ORDER = "the order of the flows does not matter"


def _right(pairs: Pairs, num_hosts: int) -> Floats:
    return np.array(estimate_demands([s for s, _ in pairs], [d for _, d in pairs], num_hosts))


def _answer(submission: Submission, pairs: Pairs, num_hosts: int) -> tuple[Floats | None, str]:
    """The demands, or a sentence on what is wrong with the form of the answer."""
    src, dst = [s for s, _ in pairs], [d for _, d in pairs]
    told = submission.estimate(src, dst, num_hosts)
    if told.core is None:
        return None, f"the answer is {told.odd}, not an array of numbers"
    if told.core.shape != (len(pairs),):
        return None, f"the answer has shape {told.core.shape} where there are {len(pairs)} flows"
    if told.touched:
        return None, f"{' and '.join(told.touched)} belong to the caller and have been written to"
    demand = told.core.astype(np.float64)
    return (demand, "") if np.isfinite(demand).all() else (None, "some of the demands are no finite numbers")


def _flow_by_flow(pairs: Pairs, given: Floats, right: Floats) -> str:
    lines = []
    for n, ((s, d), mine, theirs) in enumerate(zip(pairs, given, right, strict=True)):
        mark = "" if abs(mine - theirs) < CLOSE else "   <-"
        lines.append(f"flow {n}: H{s} to H{d}: {mine:.4f}, by Figure 7 {theirs:.4f}{mark}")
    return "\n".join(lines)


def _passes(pairs: Pairs, num_hosts: int, passes: int, inner: int) -> Floats:
    """The result of Figure 7 if its loops ended too soon: after ``passes`` passes, and ``inner`` passes of EST-DST's
    own loop."""
    demand = np.zeros(len(pairs))
    converged = np.zeros(len(pairs), dtype=bool)
    src, dst = (np.array(ends) for ends in zip(*pairs, strict=True))
    for _ in range(passes):
        for host in range(num_hosts):
            free = (src == host) & ~converged
            if free.any():
                demand[free] = (1.0 - demand[(src == host) & converged].sum()) / free.sum()
        for host in range(num_hosts):
            limited = dst == host
            if demand[limited].sum() <= 1.0 + 1e-12:
                continue
            all_of_it, share = limited.copy(), 1.0 / limited.sum()
            for _ in range(inner):
                small = limited & (demand < share - 1e-12)
                if not small.any():
                    break
                limited = limited & ~small
                share = (1.0 - demand[all_of_it & ~limited].sum()) / limited.sum()
            demand[limited], converged[limited] = share, True
    return demand


def mistaken(pairs: Pairs, num_hosts: int) -> list[tuple[str, Floats]]:
    """The results of known mistakes, each with a description."""
    return [
        ("all demands are 0: is a share computed with whole numbers? 1 // 3 is 0", np.zeros(len(pairs))),
        (
            "this is what one pass of EST-SRC and EST-DST gives; Figure 7 goes on until no demand changes any more",
            _passes(pairs, num_hosts, 1, len(pairs)),
        ),
        (
            "this is what EST-DST gives when its own loop (lines 9 to 18) runs once: when a flow turns out not to be "
            "limited by the receiver, the share of the others grows, and others may fall below it",
            _passes(pairs, num_hosts, 2 * len(pairs) + 2, 1),
        ),
    ]


def _why(pairs: Pairs, num_hosts: int, given: Floats) -> str:
    """A sentence on what is wrong with an estimate."""
    for words, like in mistaken(pairs, num_hosts):
        if np.allclose(given, like, atol=CLOSE):
            return words
    for end, verb in ((0, "sends"), (1, "receives")):
        for host in range(num_hosts):
            total = sum(g for g, pair in zip(given, pairs, strict=True) if pair[end] == host)
            if total > 1 + CLOSE:
                return f"host {host} {verb} {total:.3f} of its link: demands are what NICs allow"
    return "the flows marked below want what no sender or receiver limits them to; which of the two limits each?"


def _compare(submission: Submission, pairs: Pairs, num_hosts: int) -> tuple[str, str]:
    given, wrong = _answer(submission, pairs, num_hosts)
    if given is None:
        return wrong, f"flows {pairs}, {num_hosts} hosts"
    right = _right(pairs, num_hosts)
    if np.allclose(given, right, atol=CLOSE):
        return "", ""
    return _why(pairs, num_hosts, given), _flow_by_flow(pairs, given, right)


def _figure_4(submission: Submission, rng: Random) -> tuple[str, str]:
    return _compare(submission, FIGURE_4, 4)


def _no_flows(submission: Submission, rng: Random) -> tuple[str, str]:
    told = submission.estimate([], [], 4)
    if told.core is None or told.core.size:
        return "without flows there are no demands: an array of length 0", "no flows, 4 hosts"
    return "", ""


def _random_flows(submission: Submission, rng: Random) -> tuple[str, str]:
    pair = st.tuples(st.integers(0, 5), st.integers(1, 5)).map(lambda p: (p[0], (p[0] + p[1]) % 6))
    gone: list[tuple[str, str]] = []

    def fails(pairs: Pairs) -> bool:
        try:
            return not gone and bool(_compare(submission, pairs, 6)[0])
        except Misbehaved as error:
            if error.kind == "raised":
                return True
            gone.append((str(error), f"flows {pairs}, 6 hosts"))
            return False

    found = smallest(st.lists(pair, min_size=1, max_size=12), fails, rng.randrange(1 << 30), 150)
    if gone:
        return gone[0]
    if found is None:
        return "", ""
    try:
        return _compare(submission, found, 6)
    except Misbehaved as error:
        return str(error), f"flows {found}, 6 hosts"


def _order(submission: Submission, rng: Random) -> tuple[str, str]:
    pairs = [(s, (s + rng.randrange(1, 8)) % 8) for s in (rng.randrange(8) for _ in range(20))]
    turned = rng.sample(range(20), 20)
    given, _ = _answer(submission, pairs, 8)
    again, wrong = _answer(submission, [pairs[n] for n in turned], 8)
    if given is None or again is None:
        return wrong or "the answer is not an array of numbers", f"flows {pairs}, 8 hosts"
    if not given.any():
        return "all demands are 0, in whatever order", f"flows {pairs}, 8 hosts"
    if np.allclose(given[turned], again, atol=CLOSE):
        return "", ""
    return (
        "the same flows in another order get other demands; each answer belongs to its flow",
        f"flows {pairs}",
    )


def _many(submission: Submission, rng: Random) -> tuple[str, str]:
    hosts = 128
    pairs = [(s, (s + rng.randrange(1, hosts)) % hosts) for s in (rng.randrange(hosts) for _ in range(600))]
    return _compare(submission, pairs, hosts)[0], f"600 random flows among {hosts} hosts"


LOOKS: list[tuple[str, str, Look]] = [
    ("the example of Figure 4", "section 4.2, Figure 4", _figure_4),
    (NO_FLOWS, "section 4.2", _no_flows),
    ("random flows, as Figure 7 has it", "section 4.2, Figure 7", _random_flows),
    (ORDER, "section 4.2", _order),
    ("600 flows among 128 hosts", "section 4.2, Figure 7", _many),
]
