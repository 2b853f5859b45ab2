"""Tabu search over paths: flows leave overloaded links one by one, until there are none or the steps run out.

A step takes one overloaded link at random. Of the flows on it, and their paths that avoid it, it takes the flow and
path by which the excess falls most or rises least. A flow that has moved stays for some steps, unless moving it would
give the least excess so far (Glover 1986; for colouring graphs, Hertz and de Werra 1987). In a good placement, such
as the one `hedera.clos` begins with, nearly all links are within their rates, so a step looks at few flows.
"""

from __future__ import annotations

import numpy as np

from hedera.compiled import compiled
from hedera.draws import below, bits
from hedera.paths import NO_LINK, choice_links
from topos.arrays import Int32, Int64

_NOBODY = -1
_SHORTEST, _SPREAD = (3, 8)  # steps for which a flow stays where it was moved: from the first, up to both together


@compiled
def search(
    src: Int32, dst: Int32, size: Int64, core: Int32, excess: Int64, half: int, steps: int, seed: np.uint64
) -> int:
    """Improve ``core`` (flows,) in place by ``steps`` moves at most; returns the excess of the best that was met.

    ``size`` int64 (flows,) and ``excess`` int64 (links,), the load beyond capacity of every link with all flows on
    their paths, are in one unit. ``excess`` is changed, and not left in a state of use. The same ``seed`` gives the
    same moves.
    """
    flows, links = size.size, excess.size
    first = np.full(links, _NOBODY, dtype=np.int32)  # of the flows' ends on a link, which are a list;
    after = np.empty(4 * flows, dtype=np.int32)  # end 4 f + t is of flow f, on tier t
    for flow in range(flows):
        _enter(flow, choice_links(src[flow], dst[flow], core[flow], half), first, after)
    over = np.empty(links, dtype=np.int32)  # the exceeded links in any order,
    place = np.full(links, _NOBODY, dtype=np.int32)  # and where in that each is
    count = 0
    total = np.int64(0)
    for link in range(links):
        if excess[link] > 0:
            total += excess[link]
            over[count], place[link] = link, count
            count += 1
    best, best_core = total, core.copy()
    since_best = np.empty(steps, dtype=np.int32)  # the flows moved since the best was left
    moved = 0
    free_from = np.zeros(flows, dtype=np.int64)  # the step from which a flow may move again

    for step in range(steps):
        if count == 0:
            break
        number = np.uint64(4 * step)
        crowded = over[below(count, bits(seed, number))]
        turn = below(half, bits(seed, number + np.uint64(1)))  # where the search for a path begins
        chosen, to, least = _NOBODY, np.int64(0), np.int64(1) << 62
        end = first[crowded]
        while end != _NOBODY:
            flow = end // 4
            end = after[end]
            here = choice_links(src[flow], dst[flow], core[flow], half)
            relief = _load(excess, here, -size[flow])
            there, change = _lightest(excess, src[flow], dst[flow], size[flow], crowded, half, turn, least - relief)
            _load(excess, here, size[flow])
            if there == _NOBODY:
                continue
            if step >= free_from[flow] or total + relief + change < best:
                chosen, to, least = flow, there, relief + change
        if chosen == _NOBODY:
            continue
        before = choice_links(src[chosen], dst[chosen], core[chosen], half)
        behind = choice_links(src[chosen], dst[chosen], to, half)
        _leave(chosen, before, first, after)
        _enter(chosen, behind, first, after)
        total += _load(excess, before, -size[chosen])
        total += _load(excess, behind, size[chosen])
        for path in (before, behind):
            for link in path:
                if link == NO_LINK:
                    continue
                if excess[link] > 0 and place[link] == _NOBODY:
                    over[count], place[link] = link, count
                    count += 1
                elif excess[link] <= 0 and place[link] != _NOBODY:
                    count -= 1
                    over[place[link]] = over[count]
                    place[over[count]] = place[link]
                    place[link] = _NOBODY
        core[chosen] = to
        free_from[chosen] = step + 1 + _SHORTEST + below(_SPREAD, bits(seed, number + np.uint64(2)))
        since_best[moved] = chosen
        moved += 1
        if total < best:
            best = total
            for i in range(moved):
                best_core[since_best[i]] = core[since_best[i]]
            moved = 0
    core[:] = best_core
    return best


@compiled
def _lightest(
    excess: Int64, src: int, dst: int, size: int, crowded: int, half: int, turn: np.int64, limit: int
) -> tuple[int, int]:
    """The path without the ``crowded`` link whose links ``size`` adds least excess to, and how much that is.

    _NOBODY where none adds less than ``limit``.
    """
    edge_up, core_up, core_down, edge_down = choice_links(src, dst, 0, half)
    found, least = np.int64(_NOBODY), limit
    for i in range(half):
        up = (turn + i) % half
        edges = _more(excess[edge_up + up], size) + _more(excess[edge_down + up], size)
        if edges >= least or edge_up + up == crowded or edge_down + up == crowded:
            continue
        if core_up == NO_LINK:
            found, least = np.int64(up * half), edges
            continue
        for j in range(half):
            core = up * half + (turn + j) % half
            change = edges + _more(excess[core_up + core], size) + _more(excess[core_down + core], size)
            if change < least and core_up + core != crowded and core_down + core != crowded:
                found, least = np.int64(core), change
    return found, least


@compiled
def _more(excess: int, size: int) -> int:
    """By how much the excess of a link rises with ``size`` on top."""
    return max(excess + size, 0) - max(excess, 0)


@compiled
def _load(excess: Int64, path: tuple[int, int, int, int], size: int) -> int:
    """Add ``size`` to the links of a path; returns by how much the excess rises."""
    change = np.int64(0)
    for link in path:
        if link != NO_LINK:
            change += _more(excess[link], size)
            excess[link] += size
    return change


@compiled
def _enter(flow: int, path: tuple[int, int, int, int], first: Int32, after: Int32) -> None:
    for tier in range(4):
        if path[tier] != NO_LINK:
            after[4 * flow + tier] = first[path[tier]]
            first[path[tier]] = 4 * flow + tier


@compiled
def _leave(flow: int, path: tuple[int, int, int, int], first: Int32, after: Int32) -> None:
    for tier in range(4):
        link, own = path[tier], 4 * flow + tier
        if link == NO_LINK:
            continue
        if first[link] == own:
            first[link] = after[own]
            continue
        end = first[link]
        while after[end] != own:
            end = after[end]
        after[end] = after[own]
