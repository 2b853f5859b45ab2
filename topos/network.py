"""The networks, for building them, routing over them and simulating them: all have the same methods and properties.

Hosts and cables are numbered from 0; `topos.links` numbers the two directions of each cable accordingly. A path is
named by its core, below ``num_cores``; if there is no choice, by core 0. ``tree`` is the fat-tree with these hosts:
which hosts share an edge switch or a pod there, or, for a topology of one's own, how they are named alone.

A network of one's own: hosts, switches, cables with rates, and the paths between two hosts by number.

A plan says it: ``hosts`` (how many), ``links()`` and ``paths(src, dst)``. ``links()`` gives (lower, upper) or (lower,
upper, rate) for each cable: a host is its number, a switch its name, the rate a multiple of that of the hosts' cables.
``paths(src, dst)`` gives the paths between two hosts that do not share a switch, each as the names of its switches in
order; their order numbers them. Hosts of one switch are alike: it is asked for one pair of each two switches.

`PlannedNetwork` checks a plan and makes tables of it. A path's number takes the place of a core. Directed links are
all cables upwards in the order of ``links()``, hosts' first, and then all downwards.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from topos.arrays import Float64, Int32
from topos.fattree import Cabling, FatTree, Link

if TYPE_CHECKING:
    import networkx as nx

MAX_HOSTS, MAX_PATHS = 100_000, 5_000_000
BETWEEN = 7
"""Cables between switches that a path has at most: two groups of a dragonfly by way of a third (Valiant) take five."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]{0,7}", re.ASCII)
"""An interface has at most 15 characters, seven of which may be ``-eth999``."""


NOT_SWITCHES = ("all", "control", "default", "lo")
"""Names of interfaces, and of none."""


def find_smallest_tree(hosts: int) -> FatTree:
    """The smallest fat-tree that has so many hosts."""
    k = 4
    while k**3 // 4 < hosts:
        k += 2
    return FatTree(k)


class LeafSpine(NamedTuple):
    """Every leaf has ``below`` hosts, and a cable to every spine."""

    leaves: int
    spines: int
    below: int

    @property
    def hosts(self) -> int:
        return self.leaves * self.below

    def links(self) -> Iterator[tuple[int | str, str]]:
        yield from ((host, f"leaf{host // self.below}") for host in range(self.hosts))
        yield from ((f"leaf{a}", f"spine{b}") for a in range(self.leaves) for b in range(self.spines))

    def paths(self, src: int, dst: int) -> list[tuple[str, ...]]:
        a, b = src // self.below, dst // self.below
        return [(f"leaf{a}", f"spine{spine}", f"leaf{b}") for spine in range(self.spines)]


class PlannedNetwork(Cabling):
    """A plan, what a class of them makes without arguments, or the `rows` of one, as tables. Hosts are named and
    addressed as in ``tree``, the smallest fat-tree that has so many: traffic and results name them alike everywhere.

    ``oversubscribe``: what the hosts of a switch can send over what its cables to others carry; all these are scaled
    alike, until the worst switch has it (None: they are left as they are). ``edge`` int32 (hosts,): the number of each
    host's switch. ``middle`` int32 (edges, edges, num_cores, BETWEEN): the directed links between two of these by each
    path, -1 beyond its end; where a pair has fewer paths than another its own come again. ``count`` int32 (edges,
    edges): how many it has.

    Raises ValueError, one sentence, for a plan that is no network.
    """

    def __init__(self, name: str, plan: Any, oversubscribe: float | None = None) -> None:
        try:
            if isinstance(plan, str):
                plan = read(plan)
            if hasattr(plan, "addSwitch"):
                raise ValueError(
                    "it is a Mininet Topo; a network here is a class with hosts, links() and paths() "
                    "(docs/own-topology.md), and hedera guest -- mn --custom FILE runs a Topo (docs/guest.md)"
                )
            plan = plan() if isinstance(plan, type) else plan
            self.num_hosts = int(plan.hosts)
            if not 2 <= self.num_hosts <= MAX_HOSTS:
                raise ValueError(f"it needs at least 2 hosts, and at most {MAX_HOSTS}, not {self.num_hosts}")
            self._lay(plan)
            self._find_paths(plan)
            if oversubscribe is not None:
                self._scale(oversubscribe)
        except Exception as error:
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            raise ValueError(f"topology {name!r}: {kind}{' '.join(str(error).split())}") from error

    def _lay(self, plan: Any) -> None:
        rows = [(*row, 1.0)[:3] for row in plan.links()]
        between = [row for row in rows if isinstance(row[0], str)]
        attached = sorted((row for row in rows if not isinstance(row[0], str)), key=lambda row: row[0])
        if [(row[0], row[2]) for row in attached] != [(host, 1.0) for host in range(self.num_hosts)]:
            raise ValueError(f"each of the hosts 0 to {self.num_hosts - 1} needs one cable, of rate 1, to its switch")
        self.switches = tuple(
            dict.fromkeys([*(row[1] for row in attached), *(end for row in between for end in row[:2])])
        )
        taken = {*self.hosts, *NOT_SWITCHES}
        for name in self.switches:
            if not isinstance(name, str) or not _NAME.fullmatch(name) or name in taken:
                raise ValueError(f"a switch's name is up to eight letters, digits and _, not a host's or {name!r}")
        if any(not 0 < float(row[2]) < math.inf for row in between):
            raise ValueError("a cable's rate must be a number above 0")
        if len({frozenset(row[:2]) for row in between} - {frozenset(row[:1]) for row in between}) < len(between):
            raise ValueError("two switches have one cable at most, and none has one to itself")
        self._number = {name: number for number, name in enumerate(self.switches)}
        self._edges = len({row[1] for row in attached})
        self.edge: Int32 = np.array([self._number[row[1]] for row in attached], dtype=np.int32)
        self._laid = [(row[0] if isinstance(row[0], str) else int(row[0]), *row[1:]) for row in (*attached, *between)]
        self.rates: Float64 = np.array([float(row[2]) for row in self._laid])
        """float64 (cables,): those of both directions, over that of the hosts' cables."""
        self._cables: list[Link] = []
        ports = dict.fromkeys((*self.hosts, *self.switches), 0)
        for cable, (below, upper, _) in enumerate(self._laid):
            lower = self.hosts[below] if cable < self.num_hosts else below
            ports[upper] += 1
            ports[lower] += cable >= self.num_hosts  # a host's only port is 0
            self._cables.append(Link(lower, ports[lower], upper, ports[upper]))

    def _find_paths(self, plan: Any) -> None:
        link = {(cable.lower, cable.upper): number for number, cable in enumerate(self._cables)}
        link |= {(upper, lower): self.num_cables + number for (lower, upper), number in link.items()}
        first = np.unique(self.edge, return_index=True)[1].tolist()
        self._paths: dict[tuple[int, int], list[tuple[str, ...]]] = {}
        for a, b in product(range(self._edges), repeat=2):
            planned = plan.paths(first[a], first[b]) if a != b else [self.switches[a : a + 1]]
            paths = self._paths[a, b] = [tuple(map(str, path)) for path in planned]
            ends, between = (self.switches[a], self.switches[b]), f"from host {first[a]} to host {first[b]}"
            if not paths or len(set(paths)) < len(paths):
                raise ValueError(f"{between} there is no path, or one of them twice")
            if self._edges**2 * len(paths) > MAX_PATHS:
                raise ValueError(f"{between} it has {len(paths)} paths, too many for {self._edges} switches with hosts")
            for path in paths:
                wrong = ""
                if (path[0], path[-1]) != ends:
                    wrong = f"begins at {path[0]} and ends at {path[-1]}, not at {ends[0]} and {ends[1]}"
                elif len(set(path)) < len(path):
                    wrong = "meets one of its switches twice"
                elif len(path) > BETWEEN + 1:
                    wrong = f"has {len(path)} switches, and the most are {BETWEEN + 1}"
                elif gaps := [hop for hop in pairwise(path) if hop not in link]:
                    wrong = f"has no cable from {gaps[0][0]} to {gaps[0][1]}"
                if wrong:
                    raise ValueError(f"a path {between} {wrong}: {'-'.join(path)}")
        self.num_cores = max(map(len, self._paths.values()))
        shape = (self._edges, self._edges)
        self.count: Int32 = np.array([len(paths) for paths in self._paths.values()], dtype=np.int32).reshape(shape)
        self.middle: Int32 = np.full((*shape, self.num_cores, BETWEEN), -1, dtype=np.int32)
        for pair, paths in self._paths.items():
            for core in range(self.num_cores):
                # A pair with fewer paths has its own again, so that every number means a path of every pair.
                hops = [link[hop] for hop in pairwise(paths[core % len(paths)])]
                self.middle[pair][core, : len(hops)] = hops

    def _scale(self, oversubscribe: float) -> None:
        between = self._cables[self.num_hosts :]
        ends = [self._number[cable.lower] for cable in between] + [self._number[cable.upper] for cable in between]
        rates = np.tile(self.rates[self.num_hosts :], 2)
        # A cable counts at both of its ends: it carries what leaves either switch, whichever of them was named first.
        out = np.bincount(np.array(ends, dtype=np.int64), weights=rates, minlength=len(self.switches))
        self.rates[self.num_hosts :] *= (np.bincount(self.edge) / out[: self._edges]).max() / oversubscribe
        if not np.isfinite(self.rates).all():
            raise ValueError("a switch with hosts has no cable to another, and --oversubscribe no meaning")

    def rows(self) -> str:
        """The plan as JSON, without ``oversubscribe``, which is another parameter."""
        first = np.unique(self.edge, return_index=True)[1].tolist()
        between = {f"{first[a]},{first[b]}": paths for (a, b), paths in self._paths.items() if a != b}
        return encode_plan(Rows(self.num_hosts, self._laid, between))

    @cached_property
    def tree(self) -> FatTree:
        return find_smallest_tree(self.num_hosts)

    def host_name(self, host: int) -> str:
        return self.tree.host_name(host)

    def host_ip(self, host: int) -> str:
        return self.tree.host_ip(host)

    def host_mac(self, host: int) -> str:
        return self.tree.host_mac(host)

    @property
    def num_switches(self) -> int:
        return len(self.switches)

    @property
    def num_cables(self) -> int:
        return len(self._cables)

    @property
    def layout(self) -> tuple[Int32, Int32]:
        """By what compiled loops find a path (`hedera.compiled.find_choice_links`)."""
        return self.edge, self.middle

    def edge_of(self, host: int) -> str:
        return str(self.switches[int(self.edge[host])])

    def layer(self, name: str) -> str:
        """``host``, ``edge`` for a switch with hosts, ``aggregation`` for any other: it too has entries of flows."""
        number = self._number.get(name)
        return "host" if number is None else "edge" if number < self._edges else "aggregation"

    def dpid(self, name: str) -> int:
        return self._number[name] + 1

    def cable(self, number: int) -> Link:
        """A cable; IndexError when there is no such one."""
        return self._cables[number]

    @cached_property
    def two_tiers(self) -> bool:
        """Whether each path goes by one switch without hosts, as in a leaf-spine: packets may take any at any time."""
        middle = {path[1:-1] for (a, b), paths in self._paths.items() if a != b for path in paths}
        return all(len(switches) == 1 and self._number[switches[0]] >= self._edges for switches in middle)

    def path_cores(self, src: int, dst: int) -> range:
        return range(int(self.count[self.edge[src], self.edge[dst]]))

    def path(self, src: int, dst: int, core: int = 0) -> tuple[str, ...]:
        """As `topos.fattree.FatTree.path`, by the number of the path."""
        if src == dst:
            raise ValueError(f"host {src} has no path to itself")
        paths = self._paths[int(self.edge[src]), int(self.edge[dst])]
        return (self.host_name(src), *paths[core % len(paths)], self.host_name(dst))


@dataclass(frozen=True)
class Rows:
    """What a class's methods gave, ``between`` by ``SRC,DST``."""

    hosts: int
    cables: list[tuple[int | str, str, float]]
    between: dict[str, list[tuple[str, ...]]]

    def links(self) -> list[tuple[int | str, str, float]]:
        return self.cables

    def paths(self, src: int, dst: int) -> list[tuple[str, ...]]:
        return self.between.get(f"{src},{dst}", [])


def read(text: str) -> Rows:
    """Raises msgspec.DecodeError for text that is not such a plan."""
    import msgspec  # which a class's handout does without

    return msgspec.json.decode(text, type=Rows)


def encode_plan(rows: Rows) -> str:
    import msgspec

    return msgspec.json.encode(rows).decode()


class NonBlocking(PlannedNetwork):
    """n hosts on one switch, ``0_0_1``: host i is on its port i + 1. Raises ValueError when n is below 2."""

    SWITCH = "0_0_1"

    def __init__(self, n: int) -> None:
        one_switch = SimpleNamespace(hosts=n, links=lambda: ((host, self.SWITCH) for host in range(n)))
        super().__init__("nonblocking", one_switch)
        self.middle = self.middle[..., :0]  # nothing between switches: a path has two links

    def layer(self, name: str) -> str:
        return "core" if name == self.SWITCH else "host"


Network = FatTree | PlannedNetwork


def make_graph(network: Network) -> nx.Graph:
    """The network as a networkx graph: nodes carry ``layer``, links carry ``ports`` by node name."""
    import networkx as nx

    made = nx.Graph()
    for name in (*network.hosts, *network.switches):
        made.add_node(name, layer=network.layer(name))
    for lower, lower_port, upper, upper_port in network.links():
        made.add_edge(lower, upper, ports={lower: lower_port, upper: upper_port})
    return made
