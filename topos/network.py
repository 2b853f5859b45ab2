"""What every network offers, for building it, routing over it and simulating it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from topos.fattree import FatTree, Link

if TYPE_CHECKING:
    import networkx as nx


class Network(Protocol):
    """Hosts, switches, cables and paths, as in `FatTree` (whose docstrings say more) and `NonBlocking`.

    Hosts and cables are numbered from 0; `topos.links` numbers the two directions of each cable accordingly.
    A path is named by its core, below ``num_cores``; if there is no choice, by core 0.
    """

    @property
    def tree(self) -> FatTree:
        """The fat-tree with these hosts: which hosts share an edge switch or a pod there."""
        ...

    @property
    def num_hosts(self) -> int: ...
    @property
    def num_switches(self) -> int: ...
    @property
    def num_cores(self) -> int: ...
    @property
    def tiers(self) -> int: ...

    @property
    def hosts(self) -> tuple[str, ...]: ...
    @property
    def host_by_ip(self) -> Mapping[str, int]: ...
    def host_name(self, host: int) -> str: ...
    def host_ip(self, host: int) -> str: ...
    def host_mac(self, host: int) -> str: ...
    def edge_of(self, host: int) -> str: ...

    @property
    def switches(self) -> tuple[str, ...]: ...
    @property
    def switch_by_dpid(self) -> Mapping[int, str]: ...
    def dpid(self, name: str) -> int: ...
    def layer(self, name: str) -> str:
        """``host``, ``edge``, ``aggregation`` or ``core``."""
        ...

    def cable(self, number: int) -> Link:
        """One cable; those of the hosts come first. IndexError when there is no such cable."""
        ...

    def links(self) -> Iterator[Link]: ...

    def cables_at(self, name: str) -> list[int]:
        """The numbers of a node's cables, ascending; KeyError when there is no such node."""
        ...

    def path_cores(self, src: int, dst: int) -> range: ...

    def path(self, src: int, dst: int, core: int) -> tuple[str, ...]:
        """The nodes from host to host by way of a core; ValueError when the two hosts are one."""
        ...


def graph(network: Network) -> nx.Graph:
    """The network as a networkx graph: nodes carry ``layer``, links carry ``ports`` by node name."""
    import networkx as nx

    made = nx.Graph()
    for name in (*network.hosts, *network.switches):
        made.add_node(name, layer=network.layer(name))
    for lower, lower_port, upper, upper_port in network.links():
        made.add_edge(lower, upper, ports={lower: lower_port, upper: upper_port})
    return made
