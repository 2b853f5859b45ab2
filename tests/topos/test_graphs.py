"""Networks from graphs of others: which nodes are hosts, capacities, all shortest paths; and what is refused."""

import itertools
import json
import random

import networkx as nx
import numpy as np
import pytest

from record.spec import load_own_network
from tests.refused import refused
from topos.fattree import FatTree
from topos.graphs import MAX_PARTS, plan_of
from topos.links import link_rates
from topos.network import PlannedNetwork, make_graph

TREE = FatTree(4)
ABILENE = [
    *("NewYork-Chicago", "NewYork-Washington", "Chicago-Indianapolis", "Washington-Atlanta", "Seattle-Sunnyvale"),
    *("Seattle-Denver", "Sunnyvale-LosAngeles", "Sunnyvale-Denver", "LosAngeles-Houston", "Denver-KansasCity"),
    *("KansasCity-Houston", "KansasCity-Indianapolis", "Houston-Atlanta", "Atlanta-Indianapolis"),
]
"""Abilene in 2005, as the Topology Zoo has it (Knight et al., JSAC 2011): 11 routers, 14 links, all OC-192."""


def node_link(*links, nodes=(), key="links", **more):
    names = dict.fromkeys([*nodes, *(end for link in links for end in link[:2])])
    rows = [dict(zip(("source", "target", "capacity"), link, strict=False)) for link in links]
    return json.dumps({"nodes": [{"id": name} for name in names], key: rows, **more})


def graphml(links, speeds=()):
    keys = '<key attr.name="label" for="node" id="d1" attr.type="string"/>'
    keys += '<key attr.name="LinkSpeedRaw" for="edge" id="d2" attr.type="double"/>'
    ends = [link.split("-") for link in links]
    names = list(dict.fromkeys(itertools.chain(*ends)))
    nodes = "".join(f'<node id="{n}"><data key="d1">{name}</data></node>' for n, name in enumerate(names))
    speed = [f'<data key="d2">{one}</data>' for one in speeds] + [""] * len(links)
    edges = "".join(
        f'<edge source="{names.index(a)}" target="{names.index(b)}">{told}</edge>'
        for (a, b), told in zip(ends, speed, strict=False)
    )
    whole = f'{keys}<graph edgedefault="undirected">{nodes}{edges}</graph>'
    return f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{whole}</graphml>'


def made(text, suffix=".json"):
    plan = plan_of(text, suffix)
    return plan, PlannedNetwork("it", plan)


@pytest.mark.parametrize("key", ["links", "edges"])
@pytest.mark.parametrize("by", ["name", "one link"])
def test_the_fat_tree_as_networkx_writes_it_is_the_fat_tree(by, key):
    """Hosts by the attribute ``layer``, as our own graph has it, or as nodes with one link; the same sets of paths."""
    whole = make_graph(TREE)
    document = nx.node_link_data(whole, edges=key)
    for node in document["nodes"]:
        if by == "one link":
            del node["layer"]
    for link in document[key]:
        del link["ports"]
    plan, net = made(json.dumps(document))
    assert plan.said == [f"its hosts are the 16 nodes {'that are named so' if by == 'name' else 'with one link'}"]
    assert (net.num_hosts, net.num_switches, net.num_cables) == (16, 20, 48)
    for src, dst in itertools.permutations(range(16), 2):
        ours = {net.path(src, dst, n)[1:-1] for n in net.path_cores(src, dst)}
        assert ours == {TREE.path(src, dst, core)[1:-1] for core in TREE.path_cores(src, dst)}


def test_the_zoos_abilene_gets_a_host_at_each_node():
    """By hand: Seattle to Atlanta is four links, by Sunnyvale, Los Angeles, Houston, or by Denver, Kansas City and
    then Houston or Indianapolis."""
    plan, net = made(graphml(ABILENE, [9_953_280_000] * 14), ".graphml")
    assert plan.said[0] == "it has no hosts: one is put at each of its 11 nodes"
    assert (net.num_hosts, net.num_switches, net.num_cables) == (11, 11, 25)
    at = {net.edge_of(host): host for host in range(11)}
    assert sorted(at) == sorted(name[:8] for name in {end for link in ABILENE for end in link.split("-")})
    ways = [net.path(at["Seattle"], at["Atlanta"], n)[2:-2] for n in net.path_cores(at["Seattle"], at["Atlanta"])]
    assert sorted(ways) == [
        ("Denver", "KansasCi", "Houston"),
        ("Denver", "KansasCi", "Indianap"),
        ("Sunnyval", "LosAngel", "Houston"),
    ]
    assert (link_rates(net) == 1).all()


def test_a_default_of_graphml_holds_for_the_links_and_nodes_that_do_not_say_otherwise():
    """Which networkx keeps beside the graph."""
    told = graphml(["a-b", "b-c", "c-a"], [10_000_000_000, 2_500_000_000, 2_500_000_000])
    by_default = graphml(["a-b", "b-c", "c-a"], [10_000_000_000]).replace(
        'id="d2" attr.type="double"/>', 'id="d2" attr.type="double"><default>2500000000</default></key>'
    )
    rates = [link_rates(made(text, ".graphml")[1]).tolist() for text in (told, by_default)]
    assert rates[0] == rates[1]
    assert len(set(rates[0])) > 1


def test_capacities_are_multiples_of_the_hosts_links_or_of_the_largest():
    hosts = [("h1", "a", "10 Gbps"), ("h2", "a", "10G"), ("h3", "b", 1e10)]
    plan, net = made(node_link(*hosts, ("a", "b", "40Gb/s")))
    assert link_rates(net).tolist() == [1, 1, 1, 4] * 2
    assert "its hosts' links have --bw" in plan.said[1]
    _, net = made(graphml(["a-b", "b-c", "c-a"], [10_000_000_000, 2_500_000_000, 155_000_000]), ".graphml")
    assert link_rates(net).tolist() == [1, 1, 1, 1, 0.0155, 0.25] * 2
    plan, net = made(node_link(("a", "b", 100), ("b", "c"), ("c", "a", 50)))
    assert link_rates(net)[3:6].tolist() == [1, 0.5, 1]
    assert plan.said[-1] == "1 links without a capacity have --bw"


def test_ends_with_links_of_several_capacities_are_no_hosts():
    plan, net = made(node_link(("a", "b", 100), ("b", "c", 10), ("b", "d", 10)))
    assert (plan.in_file, net.num_hosts) == (False, 4)
    plan, net = made(node_link(("a", "b", 10), ("b", "c", 10), ("b", "d", 10)))
    assert (plan.in_file, net.num_hosts) == (True, 3)


def test_parallel_links_are_one_and_a_directed_graph_has_both_ways():
    several = [("h1", "a", 1), ("h2", "b", 1), ("a", "b", 2), ("a", "b", 3)]
    _, net = made(node_link(*several, multigraph=True))
    assert link_rates(net).tolist() == [1, 1, 5] * 2
    both = [(*link[1::-1], *link[2:]) for link in several[:3]]
    _, net = made(node_link(*several[:3], *both, directed=True))
    assert link_rates(net).tolist() == [1, 1, 2] * 2


def test_names_of_switches_are_those_that_interfaces_can_have():
    links = [("New York", "0_0_2"), ("0_0_2", "New York City"), ("New York City", "New York"), ("New York", "ä")]
    _, net = made(node_link(*links, ("ä", "0_0_2")))
    assert net.switches == ("NewYork", "n1", "NewYorkC", "n3")


def test_ns3s_topology_txt_has_hosts_that_are_no_switches():
    _, net = made("5 2 4\n3 4\n0 3 25Gbps 1000ns 0\n1 3 25Gbps 1000ns 0\n2 4 25Gbps 1us 0\n3 4 100Gbps 1us 0\n", ".txt")
    assert (net.num_hosts, net.num_switches, net.edge.tolist()) == (3, 2, [0, 0, 1])
    assert link_rates(net).tolist() == [1, 1, 1, 4] * 2


def test_a_topology_is_read_once_and_what_was_made_of_it_is_said(tmp_path):
    file = tmp_path / "abilene.graphml"
    file.write_text(graphml(ABILENE))
    with pytest.warns(UserWarning, match=r"abilene.graphml': it has no hosts: one is put at each of its 11 nodes$"):
        net = load_own_network(str(file), None)
    assert load_own_network(str(file), None) is net
    again = PlannedNetwork("rows", net.rows())
    assert again.switches == net.switches
    file.write_text(graphml(ABILENE[:-1]))
    with pytest.warns(UserWarning, match="abilene"):
        assert load_own_network(str(file), None).num_cables == net.num_cables - 1


ROW = [(str(n), str(n + 1)) for n in range(9)]
ONE = node_link(("h1", "a"), ("h2", "a"))


@pytest.mark.parametrize(
    ("text", "suffix", "words"),
    [
        ("", ".json", "it is empty"),
        ("", ".graphml", "it is empty"),
        ("  \n", ".txt", "it is empty"),
        (ONE[:-20], ".json", "no JSON, or is cut"),
        ("[" * 100_000, ".json", "no JSON, or is cut"),
        ("[]", ".json", "no node-link graph"),
        ('{"nodes": 5, "links": []}', ".json", "no node-link graph"),
        ('{"nodes": [1], "links": [2]}', ".json", "no node-link graph"),
        ('{"nodes": [{"id": 1}], "links": [{"source": 1}]}', ".json", "networkx does not read it"),
        ('{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}', ".json", "names a node that is not there"),
        ('{"nodes": [{"id": 1}], "links": []}', ".json", "it has no link"),
        (node_link(("a", "a"), ("a", "b")), ".json", "node 'a' has a link to itself"),
        (node_link(("a", "b"), ("c", "d")), ".json", "in pieces: there is no way from node 'a' to node 'c'"),
        (node_link(("a", "b"), nodes=("z",)), ".json", "in pieces"),
        (node_link(("a", "b", float("nan"))), ".json", "between 'a' and 'b' has no capacity 'nan'"),
        (node_link(("a", "b", -1)), ".json", "has no capacity '-1'"),
        (node_link(("a", "b", 0)), ".json", "has no capacity '0'"),
        (node_link(("a", "b", "fast")), ".json", "has no capacity 'fast'"),
        (node_link(("a", "b", True)), ".json", "has no capacity 'True'"),
        (node_link(("h1", "a"), ("h1", "b"), ("h2", "b"), ("a", "b")), ".json", "host 'h1' has links to a, b: a host"),
        (node_link(("h1", "h2"), ("h2", "a"), ("h3", "a")), ".json", "host 'h1' has links to h2"),
        (node_link(("h1", "a", 1), ("h2", "a", 2)), ".json", "hosts' links have several capacities"),
        (node_link(("a", "b", 1), ("b", "a", 2), directed=True), ".json", "between 'b' and 'a' has two capacities"),
        (node_link(*ROW, ("9", "0x"), ("0x", "x"), ("x", "0")), ".json", None),
        (node_link(*ROW, ("0", "a"), ("9", "b")), ".json", "no path of 8 switches or fewer"),
        (node_link(*((f"{n}", f"{n + 1}") for n in range(600)), ("600", "0")), ".json", "601 switches, and 500 are"),
        ('{"nodes": [' + "{}," * MAX_PARTS + '{}], "links": []}', ".json", "100,000 are the most of each"),
        (graphml(ABILENE)[:-200], ".graphml", "no XML, or is cut"),
        ("<graphml/>", ".graphml", "networkx does not read it as GraphML"),
        ("<!DOCTYPE x><graphml/>", ".graphml", "declares what GraphML does without"),
        ("<graphml><graph><edge source='a' target='b'/></graph></graphml>", ".graphml", "."),
        (graphml(["a-a", "a-b"]), ".graphml", "node 'a' has a link to itself"),
        (graphml(["a-b", "c-d"]), ".graphml", "in pieces"),
        (graphml(["a-b", "b-c"], ["NaN", 5]), ".graphml", "has no capacity 'nan'"),
        ("0 0 0\n", ".txt", "it is no topology.txt"),
        ("a b c\n1\n", ".txt", "it is no topology.txt"),
        ("5 2 4\n3 4\n0 3 25Gbps 1us 0\n", ".txt", "it says 2 switches and 4 links, and has 2 and 1: it is cut"),
        ("3 1 2\n2\n0 2 nanGbps 1us 0\n1 2 1Gbps 1us 0\n", ".txt", "has no capacity 'nanGbps'"),
        ("3 1 2\n2\n0 2 1Gbps 1us 0\n1 9 1Gbps 1us 0\n", ".txt", "names a node that is not there"),
        ("1 2 3\n" * 300_000, ".txt", "more than 200,000 lines"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_network_is_one_sentence(text, suffix, words):
    if words is None:
        assert made(text, suffix)
        return
    with refused(words):
        made(text, suffix)


@pytest.mark.slow  # as many are made as there may be
def test_too_many_shortest_paths_are_refused_and_not_all_made():
    """Layers of 15 switches, each joined to all of the next: 15^6 ways between the ends, which are never listed."""
    layers = [["s"], *([f"n{row}x{n}" for n in range(15)] for row in range(6)), ["t"]]
    links = [pair for here, there in itertools.pairwise(layers) for pair in itertools.product(here, there)]
    with refused("paths, too many for"):
        made(node_link(*links, ("h1", "s"), ("h2", "t")))


def test_paths_are_all_that_networkx_calls_shortest():
    """Random graphs: the same sets of paths by another's code."""
    rng = random.Random(1)
    for seed in range(5):
        given = nx.connected_watts_strogatz_graph(14, 4, 0.3, seed=seed)
        plan, net = made(json.dumps(nx.node_link_data(given, edges="links")))
        names = dict(zip(given.nodes, net.switches, strict=True)) if not plan.in_file else {}
        a, b = rng.sample(sorted(given.nodes), 2)
        ours = {net.path(a, b, n)[1:-1] for n in net.path_cores(a, b)}
        assert ours == {tuple(names[node] for node in way) for way in nx.all_shortest_paths(given, a, b)}
    assert np.isfinite(link_rates(net)).all()
