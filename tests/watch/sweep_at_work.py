"""A sweep as it lies on the disk while it runs: finished runs, and one under way."""

import time

from results.live import Live, Now, Worker, write_live
from tests.plots import computed
from tests.plots.sweeps import store
from topos.fattree import FatTree
from topos.links import sending_ports

TREE = FatTree(4)


def finish(folder, scheme, trial=1, traffic="stride:4", **more):
    store(folder, computed.document(traffic, scheme, trial, seconds=12) | more)


def under_way(scheme="ecmp", second=5, worker="", stage="sending", **more):
    return Now(
        pattern="stride:4",
        scheme=scheme,
        trial=1,
        worker=worker,
        stage=stage,
        k=4,
        link_mbps=10.0,
        capacity_mbps=160.0,
        seconds=12.0,
        t=tuple(map(float, range(1, second + 1))),
        total_mbps=tuple(20.0 * each for each in range(1, second + 1)),
        hosts=dict.fromkeys(TREE.hosts, 6.25),
        links=dict.fromkeys(sending_ports(TREE), 9.5),
        rounds=((2.1, 16, 7), (4.1, 16, 0)),
        **more,
    )


def at_work(folder, *runs, done=1, workers=(), written=None):
    names = [Worker(name=name, machine="2 cores", doing="a run") for name in workers]
    live = Live(
        written=time.time() if written is None else written,
        jobs=14,
        done=done,
        seconds_left=150.0,
        runs=runs,
        workers=tuple(names),
    )
    write_live(folder, live)
