"""The k-ary fat-tree: names, datapath ids, ports, addresses and paths (Hedera section 5.1).

Names, datapath ids and ports follow RipL's ``FatTreeTopo``, so that controllers written for it run on this
network. The file needs the standard library alone, because ``mn --custom topos/fattree.py --topo fattree,4``
executes it with the system's Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple


def port_name(node: str, port: int) -> str:
    return f"{node}-eth{port}"


class Link(NamedTuple):
    """One cable: the lower node and its port, the upper node and its port."""

    lower: str
    lower_port: int
    upper: str
    upper_port: int

    @property
    def lower_end(self) -> str:
        """The name of the lower port: ``SWITCH-ethN``, or for a host just the host's name. It stands for the traffic
        that the port sends."""
        return port_name(self.lower, self.lower_port) if self.lower_port else self.lower

    @property
    def upper_end(self) -> str:
        """The name of the upper port: ``SWITCH-ethN``."""
        return port_name(self.upper, self.upper_port)


class Place(NamedTuple):
    """The place of a host: its pod, its edge switch within the pod, its position below that switch."""

    pod: int
    edge: int
    position: int


class Cabling:
    """What follows from a network's names, numbers and cables."""

    @cached_property
    def hosts(self: Any) -> tuple[str, ...]:
        return tuple(map(self.host_name, range(self.num_hosts)))

    @cached_property
    def host_by_ip(self: Any) -> dict[str, int]:
        return {self.host_ip(host): host for host in range(self.num_hosts)}

    @cached_property
    def switch_by_dpid(self: Any) -> dict[int, str]:
        return {self.dpid(name): name for name in self.switches}

    def links(self: Any) -> Iterator[Link]:
        return map(self.cable, range(self.num_cables))

    @cached_property
    def _at(self: Any) -> dict[str, list[int]]:
        numbers: dict[str, list[int]] = {name: [] for name in (*self.hosts, *self.switches)}
        for number, link in enumerate(self.links()):
            numbers[link.lower].append(number)
            numbers[link.upper].append(number)
        return numbers

    @cached_property
    def ports(self: Any) -> dict[tuple[str, str], int]:
        """The port of a node to its neighbour, by the names of both."""
        ports = {(link.lower, link.upper): link.lower_port for link in self.links()}
        return ports | {(link.upper, link.lower): link.upper_port for link in self.links()}

    def cables_at(self, name: str) -> list[int]:
        """The numbers of a node's cables, ascending; KeyError when there is no such node."""
        return self._at[name]

    def __contains__(self, name: object) -> bool:
        return name in self._at


@dataclass(frozen=True)
class FatTree(Cabling):
    """A fat-tree of k-port switches: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores.

    Hosts, cores and switches are counted from 0. Core ``c`` is the ``c % (k/2)``-th core above aggregation
    index ``c // (k/2)``; a path between two pods is fixed by its core (Hedera section 5.1). Ports count from 1 on
    switches; a host's only port is 0. ``uplink`` is the rate of the links between switches over that of the hosts'.

    Raises ValueError when k is odd or below 4.
    """

    k: int
    uplink: float = field(default=1.0, repr=False)

    def __post_init__(self) -> None:
        # Core switches have k in the place of a pod, and in datapath ids that is one byte.
        if not isinstance(self.k, int) or self.k < 4 or self.k % 2 or self.k > 254:
            raise ValueError(f"a fat-tree needs an even k from 4 to 254, not {self.k}")

    @property
    def half(self) -> int:
        """k/2: hosts per edge switch, edge (and aggregation) switches per pod, cores per aggregation index."""
        return self.k // 2

    @property
    def tree(self) -> FatTree:
        """The fat-tree itself; every `topos.network.Network` has this property."""
        return self

    @property
    def layout(self) -> int:
        """By what compiled loops find a path (`hedera.compiled.find_choice_links`)."""
        return self.half

    @property
    def num_hosts(self) -> int:
        """k^3/4."""
        return self.k**3 // 4

    @property
    def num_cores(self) -> int:
        """(k/2)^2, also the number of hosts in a pod."""
        return self.half**2

    @property
    def num_switches(self) -> int:
        """5k^2/4."""
        return self.k**2 + self.num_cores

    def place(self, host: int) -> Place:
        """Pod, edge and position of host number ``host``; IndexError when there is no such host."""
        if not 0 <= host < self.num_hosts:
            raise IndexError(f"host {host} is not one of the {self.num_hosts} hosts of a k={self.k} fat-tree")
        return Place(host // self.num_cores, host // self.half % self.half, host % self.half)

    def host_index(self, pod: int, edge: int, position: int) -> int:
        """The number of the host at a place (the inverse of `place`)."""
        return pod * self.num_cores + edge * self.half + position

    def host_name(self, host: int) -> str:
        """RipL's node name, ``pod_edge_(position+2)``."""
        pod, edge, position = self.place(host)
        return f"{pod}_{edge}_{position + 2}"

    def host_ip(self, host: int) -> str:
        """``10.pod.edge.(position+2)``."""
        return "10." + self.host_name(host).replace("_", ".")

    def host_mac(self, host: int) -> str:
        """``00:00:00:PP:SS:HH`` in hexadecimal."""
        pod, edge, position = self.place(host)
        return f"00:00:00:{pod:02x}:{edge:02x}:{position + 2:02x}"

    def edge_name(self, pod: int, edge: int) -> str:
        """``pod_edge_1``."""
        return f"{pod}_{edge}_1"

    def aggregation_name(self, pod: int, aggregation: int) -> str:
        """``pod_(k/2+aggregation)_1``."""
        return f"{pod}_{self.half + aggregation}_1"

    def core_name(self, core: int) -> str:
        """``k_(a+1)_(j+1)`` for the j-th core above aggregation index a."""
        return f"{self.k}_{core // self.half + 1}_{core % self.half + 1}"

    @cached_property
    def switches(self) -> tuple[str, ...]:
        pods, half = range(self.k), range(self.half)
        return (
            *(self.edge_name(p, e) for p in pods for e in half),
            *(self.aggregation_name(p, a) for p in pods for a in half),
            *(self.core_name(c) for c in range(self.num_cores)),
        )

    def layer(self, name: str) -> str:
        """``host``, ``edge``, ``aggregation`` or ``core``."""
        p, s, h = (int(part) for part in name.split("_"))
        if p == self.k:
            return "core"
        if h != 1:
            return "host"
        return "edge" if s < self.half else "aggregation"

    def edge_of(self, host: int) -> str:
        pod, edge, _ = self.place(host)
        return self.edge_name(pod, edge)

    @staticmethod
    def dpid(name: str) -> int:
        """The OpenFlow datapath id of a switch, ``P<<16 | S<<8 | H``."""
        p, s, h = (int(part) for part in name.split("_"))
        return p << 16 | s << 8 | h

    @staticmethod
    def up_port(index: int) -> int:
        """The port of an edge or aggregation switch to its index-th upward neighbour."""
        return 2 * index + 1

    @staticmethod
    def down_port(index: int) -> int:
        """The port of an edge or aggregation switch to its index-th downward neighbour."""
        return 2 * index + 2

    @staticmethod
    def core_port(pod: int) -> int:
        return pod + 1

    @property
    def num_cables(self) -> int:
        return 3 * self.num_hosts

    def cable(self, number: int) -> Link:
        """One of the 3k^3/4 cables: host by host to the edge switches, edge switch by edge switch to the aggregation
        switches, pod by pod to the cores. IndexError when there is no such cable."""
        layer, n = divmod(number, self.num_hosts)
        if layer == 0:
            pod, edge, position = self.place(n)
            return Link(self.host_name(n), 0, self.edge_name(pod, edge), self.down_port(position))
        if layer == 1:
            above, a = divmod(n, self.half)
            pod, edge = divmod(above, self.half)
            lower, upper = self.edge_name(pod, edge), self.aggregation_name(pod, a)
            return Link(lower, self.up_port(a), upper, self.down_port(edge))
        if layer == 2:
            pod, core = divmod(n, self.num_cores)
            a, j = divmod(core, self.half)
            lower, upper = self.aggregation_name(pod, a), self.core_name(core)
            return Link(lower, self.up_port(j), upper, self.core_port(pod))
        raise IndexError(f"there is no cable {number}")

    def path_cores(self, src: int, dst: int) -> range:
        """One core index for each minimal up-down path from host src to host dst, in RipL's sorted order.

        Between pods every core gives a different path. Inside a pod only the aggregation switch ``core // (k/2)``
        matters, so it is represented by its first core; a pair below one edge switch is represented by core 0.
        """
        a, b = self.place(src), self.place(dst)
        if a.pod != b.pod:
            return range(self.num_cores)
        # Each path has one number only, because a flow counts as moved where its number changes (`hedera.scheduler`).
        return range(0, self.num_cores, self.half) if a.edge != b.edge else range(1)

    def path(self, src: int, dst: int, core: int) -> tuple[str, ...]:
        """The nodes from host src to host dst by way of ``core`` (as far up as the pair needs).

        Raises ValueError when src is dst, IndexError for a host or core that is not there.
        """
        if src == dst:
            raise ValueError(f"host {src} has no path to itself")
        if not 0 <= core < self.num_cores:
            raise IndexError(f"core {core} is not one of the {self.num_cores} cores of a k={self.k} fat-tree")
        a, b = self.place(src), self.place(dst)
        up = core // self.half
        if a.pod != b.pod:
            middle: tuple[str, ...] = (
                self.edge_name(a.pod, a.edge),
                self.aggregation_name(a.pod, up),
                self.core_name(core),
                self.aggregation_name(b.pod, up),
                self.edge_name(b.pod, b.edge),
            )
        elif a.edge != b.edge:
            middle = (self.edge_name(a.pod, a.edge), self.aggregation_name(a.pod, up), self.edge_name(b.pod, b.edge))
        else:
            middle = (self.edge_name(a.pod, a.edge),)
        return (self.host_name(src), *middle, self.host_name(dst))


def mininet_topo(network: Any, **link_options: Any) -> Any:
    """A Mininet Topo of a FatTree or another `topos.network.Network`; ``link_options`` (``bw=10``): of every link."""
    from mininet.topo import Topo

    net = Topo()
    for host, name in enumerate(network.hosts):
        net.addHost(name, ip=f"{network.host_ip(host)}/8", mac=network.host_mac(host))
    for name in network.switches:
        net.addSwitch(name, dpid=f"{network.dpid(name):016x}")
    for link in network.links():
        net.addLink(link.lower, link.upper, port1=link.lower_port, port2=link.upper_port, **link_options)
    return net


topos = {"fattree": lambda k=4, **link_options: mininet_topo(FatTree(k), **link_options)}
"""Read by ``mn --custom topos/fattree.py --topo fattree,K``."""
