"""Which private Open vSwitch instance forwards for which switch: a pure function of the network and the processors.

An ovs-vswitchd in userspace forwards on one processor, so instances are as many as there are processors, as
long as each has an edge switch of its own: at most k^2/2. What a packet costs does not depend on where its next
switch lives (every cable is a veth pair), and under full load every switch of a fat-tree forwards k links'
worth of packets, so the same number of switches is the same work.
"""

from __future__ import annotations

from topos.network import Network
from topos.nonblocking import NonBlocking


def place(topo: Network, processors: int) -> dict[str, int]:
    """Switch -> number of its instance, counted from 0 without a gap, for ``processors`` at least 1.

    No instance has more than its share (switches / instances, rounded up), and each has an edge switch with
    two hosts or more. Pods stay together as far as that allows.
    """
    if isinstance(topo, NonBlocking):
        return {topo.SWITCH: 0}
    by_layer: dict[str, list[str]] = {"edge": [], "aggregation": [], "core": []}
    for name in topo.switches:
        by_layer[topo.layer(name)].append(name)
    edges = by_layer["edge"]
    count = max(1, min(processors, len(edges)))
    share = -(-topo.num_switches // count)
    load = [0] * count
    instance_of: dict[str, int] = {}

    def give(name: str, instance: int) -> None:
        instance_of[name] = instance
        load[instance] += 1

    for i, name in enumerate(edges):
        give(name, i * count // len(edges))
    for i, name in enumerate(by_layer["aggregation"]):
        at_home = i * count // len(edges)  # as many as edge switches, and in the same order of pods
        give(name, at_home if load[at_home] < share else load.index(min(load)))
    for name in by_layer["core"]:
        give(name, load.index(min(load)))
    return instance_of
