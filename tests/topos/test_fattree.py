"""Structure of the fat-tree at k = 4, 8, 16, checked on the graph that the port tables describe."""

from functools import cache

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topos.fattree import FatTree
from topos.network import make_graph

SIZES = (4, 8, 16)


@pytest.fixture(params=SIZES, scope="module")
def tree(request):
    return FatTree(request.param)


def test_sizes(tree):
    k = tree.k
    assert len(tree.hosts) == tree.num_hosts == k**3 // 4
    assert len(tree.switches) == tree.num_switches == 5 * k**2 // 4
    assert len(list(tree.links())) == 3 * k**3 // 4
    assert len(set(tree.hosts) | set(tree.switches)) == tree.num_hosts + tree.num_switches


def test_every_switch_uses_exactly_its_k_ports(tree):
    ports = {}
    for link in tree.links():
        assert ports.setdefault((link.lower, link.lower_port), link.upper) == link.upper
        assert ports.setdefault((link.upper, link.upper_port), link.lower) == link.lower
    for name in tree.switches:
        assert {port for node, port in ports if node == name} == set(range(1, tree.k + 1))
    for name in tree.hosts:
        assert [port for node, port in ports if node == name] == [0]


def test_port_tables_lead_where_their_names_say(tree):
    across = {}
    for link in tree.links():
        across[link.lower, link.lower_port] = link.upper
        across[link.upper, link.upper_port] = link.lower
    for pod in range(tree.k):
        for i in range(tree.half):
            edge, aggregation = tree.edge_name(pod, i), tree.aggregation_name(pod, i)
            for j in range(tree.half):
                assert across[edge, tree.up_port(j)] == tree.aggregation_name(pod, j)
                assert across[edge, tree.down_port(j)] == tree.host_name(tree.host_index(pod, i, j))
                assert across[aggregation, tree.up_port(j)] == tree.core_name(i * tree.half + j)
                assert across[aggregation, tree.down_port(j)] == tree.edge_name(pod, j)
            for core in range(tree.num_cores):
                assert across[tree.core_name(core), tree.core_port(pod)] == tree.aggregation_name(
                    pod, core // tree.half
                )


@given(st.sampled_from(SIZES), st.data())
def test_paths_are_shortest_distinct_and_as_many_as_the_paper_says(k, data):
    tree = FatTree(k)
    src = data.draw(st.integers(0, tree.num_hosts - 1))
    dst = data.draw(st.integers(0, tree.num_hosts - 1).filter(lambda host: host != src))
    a, b = tree.place(src), tree.place(dst)
    expected = 1 if a[:2] == b[:2] else tree.half if a.pod == b.pod else tree.half**2
    paths = [tree.path(src, dst, core) for core in tree.path_cores(src, dst)]
    graph = _graph(k)
    shortest = nx.shortest_path_length(graph, tree.hosts[src], tree.hosts[dst])
    assert len(set(paths)) == len(paths) == expected
    for path in paths:
        assert path[0] == tree.hosts[src]
        assert path[-1] == tree.hosts[dst]
        assert len(set(path)) == len(path), "a loop"
        assert nx.is_path(graph, path)
        assert len(path) - 1 == shortest
    numbers = [[tuple(map(int, name.split("_"))) for name in path] for path in paths]
    assert numbers == sorted(numbers), "RipL's order"


@cache
def _graph(k):
    return make_graph(FatTree(k))


def test_ripl_names_numbers_and_addresses():
    tree = FatTree(4)
    assert tree.host_name(13) == "3_0_3"
    assert tree.host_ip(13) == "10.3.0.3"
    assert tree.host_mac(13) == "00:00:00:03:00:03"
    assert tree.host_by_ip["10.3.0.3"] == 13
    assert tree.edge_of(13) == "3_0_1"
    assert tree.dpid("3_0_1") == 0x030001
    assert tree.dpid("4_2_1") == 0x040201
    assert tree.switch_by_dpid[0x040201] == "4_2_1"
    layers = {"0_0_2": "host", "0_1_1": "edge", "0_2_1": "aggregation", "4_1_1": "core"}
    assert {name: tree.layer(name) for name in layers} == layers


@pytest.mark.parametrize("k", [3, 5, 2, 0, -4, 256])
def test_bad_k_is_refused(k):
    with pytest.raises(ValueError, match="even k"):
        FatTree(k)


def test_what_is_not_there_is_refused():
    tree = FatTree(4)
    with pytest.raises(IndexError, match="host 16"):
        tree.place(16)
    with pytest.raises(ValueError, match="no path to itself"):
        tree.path(3, 3, 0)
    with pytest.raises(IndexError, match="core 4"):
        tree.path(0, 15, 4)
