"""The networks, for building them, routing over them and simulating them: all have the same methods and properties.

Hosts and cables are numbered from 0; `topos.links` numbers the two directions of each cable accordingly. A path is
named by its core, below ``num_cores``; if there is no choice, by core 0. ``tree`` is the fat-tree with these hosts:
which hosts share an edge switch or a pod there, or, for a topology of one's own, how they are named alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topos.fattree import FatTree
from topos.own import Own

if TYPE_CHECKING:
    import networkx as nx

Network = FatTree | Own


def graph(network: Network) -> nx.Graph:
    """The network as a networkx graph: nodes carry ``layer``, links carry ``ports`` by node name."""
    import networkx as nx

    made = nx.Graph()
    for name in (*network.hosts, *network.switches):
        made.add_node(name, layer=network.layer(name))
    for lower, lower_port, upper, upper_port in network.links():
        made.add_edge(lower, upper, ports={lower: lower_port, upper: upper_port})
    return made
