"""Demand estimation (Hedera section 4.2, Figure 7): what each flow would get if only NICs were limits.

Figure 7 raises the senders' and lowers the receivers' shares in turn until nothing changes. What it arrives
at are the max-min fair rates, and these can be had without going back and forth. Let a NIC's share be its
rate that is not yet given away over the number of its flows that are not yet settled. As flows settle at other
NICs with less than this share, it can only grow. So a NIC whose share exceeds that of no NIC at the other end
of its flows will not see any of them settle lower: its flows settle at its share, now. In each round all such
NICs settle all their flows; the NIC with the least share is always among them, so the rounds come to an end.
Where that takes too many rounds, a heap hands out the NICs in the order of their shares instead.

A round reads the list of unsettled flows twice, once to find which NICs are blocked by a smaller share and
once to settle flows and shorten the list. Neither pass branches on what it reads, and nothing is sorted or
grouped; docs/performance-brain.md says what that saves. Shares are whole numbers of 2^-52 of a NIC's rate,
rounded down: sums and differences are exact, so neither the order of the flows nor the number of threads
shows in the result, and no NIC is overfilled.
"""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedera.compiled import compiled, compiled_parallel

_NIC = 2.0**52
_NO_LIMIT = np.inf  # the share of a NIC that none of its flows settled by
_ROUND_NS, _ORDER_NS, _ORDER_NIC_NS = 4.0, 15.0, 400.0  # of a round per flow, of `_in_order` per flow and NIC
_WORTH_SHARING = 25_000  # flows; with fewer left, starting the threads takes longer than a round

Ints = NDArray[np.int32]
Pairs = NDArray[np.int64]
Floats = NDArray[np.float64]


def estimate_demands(src: ArrayLike, dst: ArrayLike, num_hosts: int, threads: int = 1) -> Floats:
    """Each flow's natural demand as a fraction of the NIC rate: float64 (flows,).

    ``src`` and ``dst`` are int arrays of shape (flows,): host numbers below ``num_hosts``. Several flows may
    join one pair, and hosts may have none. ``threads`` changes the time taken and nothing else.
    Raises ValueError for other shapes, IndexError for other hosts.
    """
    s = np.ascontiguousarray(src, dtype=np.int32)
    d = np.ascontiguousarray(dst, dtype=np.int32)
    if s.ndim != 1 or s.shape != d.shape:
        raise ValueError(
            f"sources and destinations must be two lists of one length, not {s.shape}, {d.shape}"
        )
    if s.size == 0:
        return np.empty(0)
    if min(s.min(), d.min()) < 0 or max(s.max(), d.max()) >= num_hosts:
        raise IndexError(f"a flow names a host that is not one of the {num_hosts} hosts")
    pairs, unsettled, share = _prepare(s, d, num_hosts)
    room = np.full(2 * num_hosts, _NIC)
    begin = (
        np.arange(threads) * s.size // threads
    )  # each thread's stretch of the flows, and what is left in it
    size = np.diff(begin, append=s.size)
    worthwhile = True
    if threads > 1 and s.size > _WORTH_SHARING:
        numba.set_num_threads(threads)
        worthwhile = _rounds_parallel(pairs, begin, size, share, room, unsettled, _WORTH_SHARING)
    worthwhile = worthwhile and _rounds(pairs, begin, size, share, room, unsettled, 0)
    if not worthwhile:
        _in_order(pairs, begin, size, share, room, unsettled)
    return _demands(s, d, share)


@compiled
def _prepare(src: Ints, dst: Ints, num_hosts: int) -> tuple[Pairs, Ints, Floats]:
    """The flows, and each NIC's number of flows and first share. NIC h sends for host h, NIC H + h receives.

    A flow is the pair of its NICs in one word: the sending one in the lower half, the receiving one above.
    """
    pairs = np.empty(src.size, dtype=np.int64)
    unsettled = np.zeros(2 * num_hosts, dtype=np.int32)
    for flow in range(src.size):
        sender, receiver = src[flow], num_hosts + dst[flow]
        pairs[flow] = np.int64(receiver) << 32 | np.int64(sender)
        unsettled[sender] += 1
        unsettled[receiver] += 1
    share = np.empty(2 * num_hosts)
    for nic in range(2 * num_hosts):
        share[nic] = np.floor(_NIC / unsettled[nic]) if unsettled[nic] else _NO_LIMIT
    return pairs, unsettled, share


def _rounds_either(
    pairs: Pairs, begin: Pairs, size: Pairs, share: Floats, room: Floats, unsettled: Ints, until: int
) -> bool:
    """Settle flows in rounds, until no more than ``until`` are left, or rounds are no longer worthwhile.

    Rounds settle few flows each where hosts have tens of flows: then nearly every NIC has one with a smaller
    share at the other end. Returns whether they are worthwhile, judging the time they would still take by
    the last one against that of `_in_order`.

    Each thread keeps a stretch of the flows, from ``begin``, and moves its ``size`` unsettled ones to the front.
    Changes all arrays in place: the share a NIC ends with is the one its flows settled at.
    """
    settled = np.empty(
        (2, pairs.size), dtype=np.int64
    )  # flows settled at their senders' share, their receivers'
    count = np.empty((2, begin.size), dtype=np.int64)
    blocked = np.empty(share.size + 1, dtype=np.bool_)
    left = size.sum()
    while left > until:
        blocked[:] = False
        for thread in numba.prange(begin.size):
            _mark_blocked(pairs, begin[thread], size[thread], share, blocked)
        for thread in numba.prange(begin.size):
            _settle(pairs, settled, begin, size, count, thread, blocked)
        for side in numba.prange(2):
            _give_away(settled[side], begin, count[side], side, share, room, unsettled)
        before, left = left, size.sum()
        in_rounds = _ROUND_NS * left * left
        in_order = _ORDER_NS * left + _ORDER_NIC_NS * share.size
        if in_rounds > in_order * (before - left):
            return False
    return True


_rounds = compiled(_rounds_either)
_rounds_parallel = compiled_parallel(_rounds_either)


@compiled
def _mark_blocked(pairs: Pairs, begin: int, size: int, share: Floats, blocked: NDArray[np.bool_]) -> None:
    """Of each flow's two NICs the one with the larger share is blocked, for the flow may settle lower."""
    nobody = share.size
    for i in range(begin, begin + size):
        sender, receiver = pairs[i] & 0xFFFFFFFF, pairs[i] >> 32
        larger = receiver if share[sender] < share[receiver] else sender
        blocked[nobody if share[sender] == share[receiver] else larger] = True


@compiled
def _settle(
    pairs: Pairs,
    settled: Pairs,
    begin: Pairs,
    size: Pairs,
    count: Pairs,
    thread: int,
    blocked: NDArray[np.bool_],
) -> None:
    """Keep the flows blocked at both ends; list those blocked at one end only, which settle by the other.

    A flow that is blocked at neither end settles too, and nothing about its NICs needs to be kept.
    """
    start = begin[thread]
    kept = by_sender = by_receiver = start
    for i in range(start, start + size[thread]):
        pair = pairs[i]
        sender_blocked, receiver_blocked = blocked[pair & 0xFFFFFFFF], blocked[pair >> 32]
        pairs[kept] = settled[0, by_sender] = settled[1, by_receiver] = pair
        kept += sender_blocked & receiver_blocked
        by_sender += receiver_blocked & ~sender_blocked
        by_receiver += sender_blocked & ~receiver_blocked
    size[thread] = kept - start
    count[0, thread], count[1, thread] = by_sender - start, by_receiver - start


@compiled
def _give_away(
    settled: Pairs,
    begin: Pairs,
    count: Pairs,
    side: int,
    share: Floats,
    room: Floats,
    unsettled: Ints,
) -> None:
    """Take flows settled by their NIC on ``side`` (0: sending) out of the reckoning of the NIC at the other."""
    for thread in range(begin.size):
        for i in range(begin[thread], begin[thread] + count[thread]):
            sender, receiver = settled[i] & 0xFFFFFFFF, settled[i] >> 32
            by, other = (receiver, sender) if side else (sender, receiver)
            room[other] -= share[by]
            unsettled[other] -= 1
            left = unsettled[other]
            share[other] = np.floor(room[other] / left) if left else _NO_LIMIT


@compiled
def _in_order(pairs: Pairs, begin: Pairs, size: Pairs, share: Floats, room: Floats, unsettled: Ints) -> None:
    """Settle the flows that are left, taking NICs in the order of their shares, from a heap.

    A share in the heap may be out of date, but only too small: a NIC that comes up too early goes back with
    its present share. NICs of equal shares settle together, so that none sees the others' flows settled first.
    """
    first = np.zeros(share.size + 1, dtype=np.int32)  # peers of NIC n: peer[first[n] : first[n + 1]]
    for thread in range(begin.size):
        for i in range(begin[thread], begin[thread] + size[thread]):
            first[pairs[i] & 0xFFFFFFFF] += 1
            first[pairs[i] >> 32] += 1
    heap = [(share[nic], np.int64(nic)) for nic in range(share.size) if first[nic]]
    heapify(heap)
    end = 0
    for nic in range(first.size):
        end += first[nic]
        first[nic] = end
    peer = np.empty(end, dtype=np.int32)
    for thread in range(begin.size):
        for i in range(begin[thread], begin[thread] + size[thread]):
            sender, receiver = pairs[i] & 0xFFFFFFFF, pairs[i] >> 32
            first[sender] -= 1
            first[receiver] -= 1
            peer[first[sender]], peer[first[receiver]] = receiver, sender

    done = np.zeros(share.size, dtype=np.bool_)
    least = np.empty(share.size, dtype=np.int64)  # the NICs that settle now
    while heap:
        level, count = heap[0][0], 0
        while heap and heap[0][0] == level:
            nic = heap[0][1]
            if level < share[nic] < _NO_LIMIT:
                heapreplace(heap, (share[nic], nic))
                continue
            heappop(heap)
            if share[nic] == level:
                least[count] = nic
                count += 1
                done[nic] = True
        for nic in least[:count]:
            for other in peer[first[nic] : first[nic + 1]]:
                if not done[other]:
                    room[other] -= level
                    unsettled[other] -= 1
                    left = unsettled[other]
                    share[other] = np.floor(room[other] / left) if left else _NO_LIMIT


@compiled
def _demands(src: Ints, dst: Ints, share: Floats) -> Floats:
    """A flow settled at the lower of its NICs' shares."""
    num_hosts = share.size // 2
    demand = np.empty(src.size)
    for flow in range(src.size):
        demand[flow] = min(share[src[flow]], share[num_hosts + dst[flow]]) * (1 / _NIC)
    return demand
