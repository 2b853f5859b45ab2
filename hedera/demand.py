"""Demand estimation (Hedera section 4.2): the rate that each flow would get if only NICs were limits.

Figure 7 raises the senders' shares and lowers the receivers' in turn until nothing changes. The result is the
max-min fair rates, and they can be computed without iterating. A NIC's share is its unassigned rate divided by the
number of its unsettled flows. When a flow settles at another NIC with less than this share, the share can only grow.
So if no NIC at the other end of its flows has a smaller share, none of them can settle lower, and all of them settle
at this NIC's share. In each round all such NICs settle all their flows. The NIC with the smallest share is always
among them, so the rounds come to an end.

A round reads the list of unsettled flows twice, without branching on the data; docs/notes/placement.md has what that
saves, and where it costs time. Shares are whole multiples of 2^-52 of a NIC's rate, rounded down: sums and
differences are exact, so the result does not depend on the order of the flows, and no NIC is overfilled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hedera.compiled import compiled
from topos.arrays import Float64, Int32

_NIC = 2.0**52


def estimate_demands(src: ArrayLike, dst: ArrayLike, num_hosts: int) -> Float64:
    """Each flow's natural demand as a fraction of the NIC rate: float64 (flows,).

    ``src`` and ``dst`` are int arrays of shape (flows,): host numbers below ``num_hosts``. Several flows may
    join one pair, and hosts may have none. Raises ValueError for other shapes, IndexError for other hosts.
    """
    s = np.ascontiguousarray(src, dtype=np.int32)
    d = np.ascontiguousarray(dst, dtype=np.int32)
    if s.ndim != 1 or s.shape != d.shape:
        raise ValueError(f"sources and destinations must be two lists of one length, not {s.shape}, {d.shape}")
    if s.size == 0:
        return np.empty(0)
    if min(s.min(), d.min()) < 0 or max(s.max(), d.max()) >= num_hosts:
        raise IndexError(f"a flow names a host that is not one of the {num_hosts} hosts")
    return _settle_in_rounds(s, d, num_hosts)


@compiled
def _settle_in_rounds(src: Int32, dst: Int32, num_hosts: int) -> Float64:
    """The demands. NIC h sends for host h, NIC H + h receives; a NIC ends with the share its flows settled at.

    A flow is its two NICs in one word, the sending one in the lower half.
    """
    nics = 2 * num_hosts
    flow = np.empty(src.size, dtype=np.int64)  # the unsettled ones, always at the front
    unsettled = np.zeros(nics, dtype=np.int32)
    for i in range(src.size):
        sender, receiver = np.int64(src[i]), np.int64(num_hosts + dst[i])
        flow[i] = receiver << 32 | sender
        unsettled[sender] += 1
        unsettled[receiver] += 1
    room = np.full(nics, _NIC)
    share = np.empty(nics)
    for nic in range(nics):
        share[nic] = _compute_share(room[nic], unsettled[nic])

    blocked = np.empty(nics + 1, dtype=np.bool_)
    nobody = nics
    by_sender = np.empty(src.size, dtype=np.int64)  # flows that settle at their sender's share,
    by_receiver = np.empty(src.size, dtype=np.int64)  # and at their receiver's
    left = src.size
    while left:
        # Of each flow's two NICs the one with the larger share is blocked, for the flow may settle lower.
        blocked[:] = False
        for i in range(left):
            sender, receiver = flow[i] & 0xFFFFFFFF, flow[i] >> 32
            larger = receiver if share[sender] < share[receiver] else sender
            blocked[nobody if share[sender] == share[receiver] else larger] = True
        # Flows blocked at both ends are kept, those blocked at one end settle by the other. One that is blocked at
        # neither settles as well, and as all flows of its NICs do, nothing more need be known about those.
        still_unsettled = senders = receivers = 0
        for i in range(left):
            both = flow[i]
            sender_blocked, receiver_blocked = blocked[both & 0xFFFFFFFF], blocked[both >> 32]
            flow[still_unsettled] = by_sender[senders] = by_receiver[receivers] = both
            still_unsettled += sender_blocked & receiver_blocked
            senders += receiver_blocked & ~sender_blocked
            receivers += sender_blocked & ~receiver_blocked
        left = still_unsettled
        for i in range(senders):
            sender, receiver = by_sender[i] & 0xFFFFFFFF, by_sender[i] >> 32
            room[receiver] -= share[sender]
            unsettled[receiver] -= 1
        for i in range(receivers):
            sender, receiver = by_receiver[i] & 0xFFFFFFFF, by_receiver[i] >> 32
            room[sender] -= share[receiver]
            unsettled[sender] -= 1
        for i in range(senders):
            receiver = by_sender[i] >> 32
            share[receiver] = _compute_share(room[receiver], unsettled[receiver])
        for i in range(receivers):
            sender = by_receiver[i] & 0xFFFFFFFF
            share[sender] = _compute_share(room[sender], unsettled[sender])

    demand = np.empty(src.size)
    for i in range(src.size):  # a flow settled at the lower of its NICs' shares
        demand[i] = min(share[src[i]], share[num_hosts + dst[i]]) * (1 / _NIC)
    return demand


@compiled
def _compute_share(room: float, unsettled: int) -> float:
    """The share of each unsettled flow; infinite where no flow settles by this NIC any more."""
    return np.floor(room / unsettled) if unsettled else np.inf
