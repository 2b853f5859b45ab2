"""What is known without packets: large files that share a link evenly, each server's one after another."""

import numpy as np


def completion_s(starts_s, server, bits, link_bps):
    """Completion times by order of completion, under ideal processor sharing among the servers that send."""
    waiting = {each: [] for each in set(server)}
    left = {}
    arrivals = sorted(zip(starts_s, server, strict=True))
    now, took = 0.0, []
    while arrivals or left:
        rate = link_bps / max(len(left), 1)
        first = min(left, key=left.get, default=None)
        ends = now + left[first] / rate if left else np.inf
        then = min(ends, arrivals[0][0] if arrivals else np.inf)
        for each in left:
            left[each] -= rate * (then - now)
        now = then
        if then == ends:
            took.append(now - waiting[first].pop(0))
            del left[first]
            if waiting[first]:
                left[first] = bits
        else:
            start, who = arrivals.pop(0)
            waiting[who].append(start)
            left.setdefault(who, bits)
    return np.array(took)
