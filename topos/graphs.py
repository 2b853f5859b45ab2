"""Networks from graphs of others: node-link JSON, as networkx and topohub write it; GraphML, as the Topology Zoo; and
ns-3's topology.txt, as HPCC and its descendants have it, where all nodes but the switches are hosts.

Hosts are the nodes that are named so (``h1``, ``host-3``, ``server2``; or by an attribute ``type``, ``kind``, ``role``
or ``layer``), else the nodes with one link, if these links have one capacity. Where there are none, one host is put at
each node. Hosts are numbered in the order of the file. All other nodes are switches, which keep their names as far as
those of interfaces allow.

A link's capacity is its ``LinkSpeedRaw``, ``capacity``, ``bandwidth``, ``bw``, ``LinkSpeed``, ``speed`` or ``rate``: a
number, or a text like ``10 Gbps``. Hosts' links have rate 1, and all others the multiple of that; where hosts' are not
in the file the largest capacity is 1. Parallel links are one of their sum. Paths are all shortest ones, by hops.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict, deque
from collections.abc import Hashable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

from topos.network import BETWEEN, MAX_PATHS, NOT_SWITCHES, find_smallest_tree

if TYPE_CHECKING:
    import networkx as nx

MAX_GRAPH_BYTES, MAX_PARTS, MAX_EDGES = 10_000_000, 100_000, 500
"""Larger files, graphs with more nodes or links, and networks with more switches that have hosts are refused: their
paths are tables over all pairs of these."""
SUFFIXES = (".json", ".graphml", ".txt")
CAPACITIES = ("LinkSpeedRaw", "capacity", "bandwidth", "bw", "LinkSpeed", "speed", "rate")
KINDS = ("type", "kind", "role", "layer")

_HOST = re.compile(r"(h|host|server|srv|vm|pc|gpu)[-_ .]?\d+([-_.]\d+)*", re.IGNORECASE | re.ASCII)
_SPEED = re.compile(r"([0-9.]+(?:e[+-]?[0-9]+)?)\s*([kmgt]?)(?:i?b(?:it)?(?:ps|/s)?)?", re.IGNORECASE | re.ASCII)


def plan_of(text: str, suffix: str) -> GraphPlan:
    """The network of a file's text. ValueError, one sentence, for text that is not such a graph, and for one that
    cannot be a network here."""
    if suffix not in SUFFIXES:
        raise ValueError(f"graphs are read from {', '.join(SUFFIXES)}")
    if not text.strip():
        raise ValueError("it is empty")
    return GraphPlan({".json": _read_json, ".graphml": _read_graphml, ".txt": _read_ns3}[suffix](text))


def _read_json(text: str) -> nx.Graph:
    import networkx as nx

    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON, or is cut") from None
    links = next((key for key in ("links", "edges") if isinstance(document, dict) and key in document), None)
    parts: list[Any] = [document.get("nodes"), document[links]] if links else [None]
    if not all(isinstance(part, list) and all(isinstance(entry, dict) for entry in part) for part in parts):
        raise ValueError("it is no node-link graph: that has nodes and links, or nodes and edges, lists of objects")
    _check_size(len(parts[0]), len(parts[1]))
    try:
        graph = nx.node_link_graph(document, edges=links)
    except (nx.NetworkXException, KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"networkx does not read it as a node-link graph ({type(error).__name__}: {error})") from None
    if graph.number_of_nodes() > len(parts[0]):
        raise ValueError("a link names a node that is not there")
    return graph


def _read_graphml(text: str) -> nx.Graph:
    import networkx as nx

    if re.search("<!(DOCTYPE|ENTITY)", text):
        raise ValueError("it declares what GraphML does without (DOCTYPE)")
    nodes, links = (len(re.findall(rf"<(?:\w+:)?{tag}[\s/>]", text)) for tag in ("node", "edge"))
    _check_size(nodes, links)
    try:
        graph = nx.parse_graphml(text)
    except ParseError:
        raise ValueError("it is no XML, or is cut") from None
    except (nx.NetworkXException, KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"networkx does not read it as GraphML ({type(error).__name__}: {error})") from None
    if graph.number_of_nodes() > nodes:
        raise ValueError("a link names a node that is not there")
    # A key's default is of every node or link that does not say otherwise; networkx keeps it beside them.
    for parts, key in ((graph.nodes, "node_default"), (graph.edges, "edge_default")):
        for *_, data in parts(data=True):
            data.update({name: value for name, value in graph.graph.get(key, {}).items() if name not in data})
    return graph


def _read_ns3(text: str) -> nx.Graph:
    """``nodes switches links``, the switches' numbers, and ``a b rate delay errors`` for each link."""
    import networkx as nx

    if text.count("\n") > 2 * MAX_PARTS:
        raise ValueError(f"it has more than {2 * MAX_PARTS:,} lines")
    lines = [line.split() for line in text.splitlines() if line.strip()]
    whole = [[word for word in line if word.isascii() and word.isdigit() and len(word) < 8] for line in lines[:2]]
    if len(lines) < 2 or len(lines[0]) != 3 or whole != lines[:2]:
        raise ValueError("it is no topology.txt of ns-3: that begins with 'nodes switches links' and switches' numbers")
    nodes, switches, links = map(int, lines[0])
    _check_size(nodes, links)
    if len(lines[1]) != switches or len(lines) - 2 < links:
        counts = f"{len(lines[1]):,} and {len(lines) - 2:,}"
        raise ValueError(f"it says {switches:,} switches and {links:,} links, and has {counts}: it is cut")
    graph = nx.MultiGraph()
    graph.add_nodes_from((str(number), {"role": "host"}) for number in range(nodes))
    graph.add_nodes_from((number, {"role": "switch"}) for number in lines[1])
    for a, b, *rest in lines[2 : 2 + links]:
        graph.add_edge(a, b, capacity=rest[0] if rest else "")
    if graph.number_of_nodes() > nodes:
        raise ValueError("a link names a node that is not there")
    return graph


def _check_size(nodes: int, links: int) -> None:
    if max(nodes, links) > MAX_PARTS:
        raise ValueError(f"it has {nodes:,} nodes and {links:,} links, and {MAX_PARTS:,} are the most of each")


class GraphPlan:
    """A graph as a plan (`topos.network`). ``said``: which nodes are hosts, and what was done to capacities, as the
    parts of a sentence. ValueError, one sentence, for a graph that cannot be a network here."""

    def __init__(self, graph: nx.Graph) -> None:
        self._label = {node: _label(node, data) for node, data in graph.nodes(data=True)}
        capacity = self._join_links(graph)
        self._beside: dict[Hashable, list[Hashable]] = {node: [] for node in graph}
        for a, b in capacity:
            self._beside[a].append(b)
            self._beside[b].append(a)
        self._refuse_pieces()
        at = self._find_hosts(graph, capacity)
        switches = [node for node in graph if not self.in_file or node not in at]
        self._at = list(at.values())
        names = _name_switches([self._label[node] for node in switches], len(self._at))
        self._name = dict(zip(switches, names, strict=True))
        self.hosts = len(self._at)
        self._edges = len(set(self._at))
        if self._edges > MAX_EDGES:
            raise ValueError(f"hosts are at {self._edges:,} switches, and {MAX_EDGES} are the most")
        self._before: dict[Hashable, dict[Hashable, list[Hashable]]] = {}
        self._cables = self._rate_cables(capacity, {frozenset(pair) for pair in at.items()} if self.in_file else set())

    def _join_links(self, graph: nx.Graph) -> dict[tuple[Hashable, Hashable], float | None]:
        """The capacity of each cable between two nodes, None where it is not told: parallel links are one."""
        each: defaultdict[tuple[Hashable, Hashable], list[float | None]] = defaultdict(list)
        for a, b, data in graph.edges(data=True):
            if a == b:
                raise ValueError(f"node {self._label[a]!r} has a link to itself")
            each[a, b].append(self._read_capacity(a, b, data))
        cables: dict[tuple[Hashable, Hashable], float | None] = {}
        for (a, b), parts in each.items():
            known = [part for part in parts if part is not None]
            whole = sum(known) if len(known) == len(parts) else None
            if (b, a) in cables:  # of a directed graph, the other way
                if cables[b, a] != whole:
                    raise ValueError(
                        f"the link between {self._label[a]!r} and {self._label[b]!r} has two capacities, "
                        "and a cable here has the same both ways"
                    )
                continue
            cables[a, b] = whole
        if not cables:
            raise ValueError("it has no link")
        return cables

    def _read_capacity(self, a: Hashable, b: Hashable, data: dict[str, Any]) -> float | None:
        capacity_text = next((data[name] for name in CAPACITIES if data.get(name) not in (None, "")), None)
        if capacity_text is None:
            return None
        match = _SPEED.fullmatch(str(capacity_text).strip()) if not isinstance(capacity_text, bool) else None
        unit = str(data.get("LinkSpeedUnits") or "") if "LinkSpeedRaw" not in data else ""
        try:
            number = float(match[1]) if match else math.nan
        except ValueError:
            number = math.nan
        power = "kmgt".find((match[2] or unit[:1]).lower() or "-") + 1 if match else 0
        if not 0 < number < math.inf:
            capacity_text = str(capacity_text)[:40]
            raise ValueError(
                f"the link between {self._label[a]!r} and {self._label[b]!r} has no capacity {capacity_text!r}"
            )
        return number * 1000.0**power

    def _refuse_pieces(self) -> None:
        first = next(iter(self._beside))
        reached, waiting = {first}, deque([first])
        while waiting:
            for node in self._beside[waiting.popleft()]:
                if node not in reached:
                    reached.add(node)
                    waiting.append(node)
        if other := next((node for node in self._beside if node not in reached), None):
            raise ValueError(
                f"it is in pieces: there is no way from node {self._label[first]!r} to node {self._label[other]!r}"
            )

    def _find_hosts(
        self, graph: nx.Graph, capacity: dict[tuple[Hashable, Hashable], float | None]
    ) -> dict[Hashable, Hashable]:
        """The hosts with the switch that each is at; ``in_file`` says whether they are nodes."""
        ones = [node for node, data in graph.nodes(data=True) if _is_host(node, data)]
        host_rule = f"its hosts are the {len(ones)} nodes that are named so"
        if not ones:
            ones = [node for node in graph if len(self._beside[node]) == 1]
            host_rule = f"its hosts are the {len(ones)} nodes with one link"
            at_ends = set(ones)
            # The ends of a wide area's network are no hosts: they have links of many kinds.
            if len({mbps for pair, mbps in capacity.items() if not at_ends.isdisjoint(pair)}) > 1:
                ones = []
        self.in_file = 2 <= len(ones) < len(graph)
        if not self.in_file:
            self.said = [f"it has no hosts: one is put at each of its {len(graph)} nodes"]
            return {node: node for node in graph}
        self.said, hosts = [host_rule], set(ones)
        for host in ones:
            if len(self._beside[host]) != 1 or self._beside[host][0] in hosts:
                to = ", ".join(self._label[node] for node in islice(self._beside[host], 3))
                raise ValueError(f"host {self._label[host]!r} has links to {to}: a host has one link here, to a switch")
        return {host: self._beside[host][0] for host in ones}

    def _rate_cables(
        self, capacity: dict[tuple[Hashable, Hashable], float | None], of_hosts: set[frozenset[Hashable]]
    ) -> list[tuple[str, str, float]]:
        """The cables between switches with their rates, over that of hosts' cables."""
        own = {mbps for pair, mbps in capacity.items() if frozenset(pair) in of_hosts}
        if len(own) > 1:
            raise ValueError("its hosts' links have several capacities, and here all have --bw")
        between = {pair: mbps for pair, mbps in capacity.items() if frozenset(pair) not in of_hosts}
        known = [mbps for mbps in between.values() if mbps is not None]
        unit = next((mbps for mbps in own if mbps is not None), max(known, default=1.0))
        if known:
            reference = "its hosts' links have" if own != {None} and own else "the largest capacity is"
            self.said.append(f"{reference} --bw, all others in proportion")
        if known and len(known) < len(between):
            self.said.append(f"{len(between) - len(known)} links without a capacity have --bw")
        name = self._name
        return [(name[a], name[b], 1.0 if mbps is None else mbps / unit) for (a, b), mbps in between.items()]

    def links(self) -> Iterator[tuple[int | str, str, float]]:
        yield from ((host, self._name[switch], 1.0) for host, switch in enumerate(self._at))
        yield from self._cables

    def paths(self, src: int, dst: int) -> list[tuple[str, ...]]:
        """All shortest ones, in the order of the links in the file; one more than there may be where there are too
        many, which the network then refuses."""
        # The search from one switch answers for all receivers. A network asks sender by sender, so only the last search
        # is kept.
        first, last = self._at[src], self._at[dst]
        if first not in self._before:
            self._before = {first: self._search(first)}
        before = self._before[first]
        if last not in before:
            row = f"no path of {BETWEEN + 1} switches or fewer, and longer ones are not made"
            raise ValueError(f"from {self._label[first]!r} to {self._label[last]!r} there is {row}")
        most = MAX_PATHS // self._edges**2 + 1
        ways = islice(_walk_back(before, last), most)
        return [tuple(self._name[node] for node in reversed(way)) for way in ways]

    def _search(self, first: Hashable) -> dict[Hashable, list[Hashable]]:
        """By switch, those before it on the shortest paths from the first, as far as these are allowed."""
        before: dict[Hashable, list[Hashable]] = {first: []}
        reached = [first]
        for _ in range(BETWEEN):
            further: dict[Hashable, list[Hashable]] = {}
            for node in reached:
                for beside in self._beside[node]:
                    if beside in self._name and beside not in before:
                        further.setdefault(beside, []).append(node)
            before |= further
            reached = list(further)
        return before


def _walk_back(before: dict[Hashable, list[Hashable]], last: Hashable) -> Iterator[list[Hashable]]:
    """The ways back from the last node, each beginning there."""
    if not before[last]:
        yield [last]
    for node in before[last]:
        yield from ([last, *rest] for rest in _walk_back(before, node))


def _label(node: Hashable, data: dict[str, Any]) -> str:
    return str(data.get("label") or data.get("name") or node)[:60]


def _is_host(node: Hashable, data: dict[str, Any]) -> bool:
    kinds = {str(data.get(name, "")).lower() for name in KINDS}
    if "switch" in kinds:
        return False
    names = (str(node), str(data.get("label", "")), str(data.get("name", "")))
    return bool(kinds & {"host", "hosts", "server", "endhost"}) or any(map(_HOST.fullmatch, names))


def _name_switches(labels: list[str], hosts: int) -> list[str]:
    """Names of switches: of at most eight letters and digits, each once, none that of a host or of no port."""
    names: dict[str, None] = {}
    tree = find_smallest_tree(hosts)
    taken = {*(tree.host_name(host) for host in range(hosts)), *NOT_SWITCHES}
    for number, label in enumerate(labels):
        # A port is an interface, NAME-ethN, and Linux gives names of interfaces 15 characters (IFNAMSIZ).
        name = re.sub(r"[^A-Za-z0-9_]", "", label).lstrip("_")[:8]
        if not name or name in names or name in taken:
            name = f"n{number}"
        while name in names:
            name = f"n{number}x{len(names)}"[:8]
        names[name] = None
    return list(names)
