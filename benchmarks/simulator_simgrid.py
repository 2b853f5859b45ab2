"""SimGrid's max-min model on its own fat-tree zone: the other side of the comparison in benchmarks/simulator.py.

A program of its own, with nothing but the standard library and SimGrid's Python bindings (PyPI's ``simgrid``, or
Debian's ``python3-simgrid``), because a process can hold one SimGrid engine only. Reads a JSON object from
standard input (``k``, ``link_mbps``, ``flows``: lists of source, destination and bytes), and writes one to
standard output: ``run_s``, the wall-clock time of the simulation itself, and ``end_s``, when each flow ended.
"""

import json
import os
import sys
import time
from typing import Any


def main() -> None:
    work = json.load(sys.stdin)
    real_stdout = os.dup(1)
    os.dup2(2, 1)  # SimGrid announces its settings there
    from simgrid import Actor, ClusterCallbacks, Comm, Engine, FatTreeParams, Link, NetZone

    half = work["k"] // 2
    # Plain max-min: no TCP window, no share lost to headers or acknowledgements, no weight by round-trip time.
    settings = ("network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0", "network/weight-S:0")
    engine = Engine(["simgrid", *(f"--cfg={setting}" for setting in settings), "--log=root.thres:error"])
    root = NetZone.create_full_zone("world")
    hosts = {}

    def make_host(zone: Any, coordinates: object, number: int) -> tuple[Any, None]:
        hosts[number] = zone.create_host(f"host-{number}", 1e9)
        return hosts[number].netpoint, None

    # Three levels, described from the hosts up: children below, parents above, cables between, for each level.
    shape = FatTreeParams(3, [half, half, work["k"]], [1, half, half], [1, 1, 1])
    bytes_per_s = work["link_mbps"] * 1e6 / 8
    zone = NetZone.create_fatTree_zone(
        "tree",
        root,
        shape,
        ClusterCallbacks(make_host, None, None),
        bytes_per_s,
        0.0,
        Link.SharingPolicy.SPLITDUPLEX,
    )
    zone.seal()
    root.seal()

    ends: list[float] = []

    def start_and_wait() -> None:
        comms = [Comm.sendto_async(hosts[src], hosts[dst], size) for src, dst, size in work["flows"]]
        for comm in comms:
            comm.wait()
        ends.extend(comm.finish_time for comm in comms)

    Actor.create("all", hosts[0], start_and_wait)
    before = time.perf_counter()
    engine.run()
    spent = time.perf_counter() - before
    with os.fdopen(real_stdout, "w") as out:
        json.dump({"run_s": spent, "end_s": ends}, out)


if __name__ == "__main__":
    main()
