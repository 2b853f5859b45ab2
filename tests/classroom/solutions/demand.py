"""Figure 7, as a student might write it."""

import numpy as np


def estimate_demands(src, dst, num_hosts):
    demand = np.zeros(len(src))
    converged = np.zeros(len(src), dtype=bool)
    while True:
        before = demand.copy()
        for host in range(num_hosts):
            est_src(src == host, demand, converged)
        for host in range(num_hosts):
            est_dst(dst == host, demand, converged)
        if np.abs(demand - before).max(initial=0) < 1e-12:
            return demand


def est_src(mine, demand, converged):
    free = mine & ~converged
    if free.any():
        demand[free] = (1.0 - demand[mine & converged].sum()) / free.sum()


def est_dst(mine, demand, converged):
    if demand[mine].sum() <= 1.0 + 1e-12:
        return
    limited, share = mine.copy(), 1.0 / mine.sum()
    while True:
        small = limited & (demand < share - 1e-12)
        if not small.any():
            break
        limited &= ~small
        share = (1.0 - demand[mine & ~limited].sum()) / limited.sum()
    demand[limited] = share
    converged[limited] = True
