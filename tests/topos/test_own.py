"""Networks by plan: the fat-tree as a plan is the fat-tree, the control is one switch, and what is no network."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from hedera.global_first_fit import GlobalFirstFit
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from hedera.routing import Ecmp
from hedera.simulated_annealing import FlowAnnealing
from record.spec import load_own_network
from tests.hedera.reference import excess, random_flows
from tests.refused import refused
from tests.topos.plan import SAME, TREE
from topos.fattree import FatTree
from topos.links import NO_LINK, find_links_between, link_ends, link_rates, list_links_of_switch, path_links
from topos.network import NonBlocking, PlannedNetwork

EXAMPLE = (Path(__file__).parents[2] / "docs/examples/four_ring.py").read_text()


def test_the_control_has_the_hosts_of_the_fat_tree_on_one_switch():
    net = NonBlocking(16)
    assert (net.hosts, net.host_by_ip) == (TREE.hosts, TREE.host_by_ip)
    assert (NonBlocking(17).tree, NonBlocking(54).tree, NonBlocking(55).tree) == (FatTree(6), FatTree(6), FatTree(8))
    assert [net.host_mac(h) for h in range(16)] == [TREE.host_mac(h) for h in range(16)]
    assert [(link.lower, link.upper, link.upper_port) for link in net.links()] == [
        (TREE.host_name(h), net.SWITCH, h + 1) for h in range(16)
    ]
    assert net.path(3, 1) == (TREE.host_name(3), net.SWITCH, TREE.host_name(1))
    assert path_links(net, [3, 0], [1, 2], 0).tolist() == [[3, 17], [0, 18]]


@pytest.mark.parametrize("SAME", [SAME, PlannedNetwork("rows", SAME.rows())], ids=["plan", "rows"])
def test_the_fat_tree_as_a_plan_has_its_paths(SAME):
    for src, dst in itertools.permutations(range(16), 2):
        cores = TREE.path_cores(src, dst)
        assert [SAME.path(src, dst, i) for i in SAME.path_cores(src, dst)] == [TREE.path(src, dst, c) for c in cores]
        for number in range(4):  # beyond those that there are, they come again
            row = path_links(SAME, [src], [dst], [number])[0]
            walked = [link_ends(SAME, link) for link in row if link != NO_LINK]
            assert walked == list(itertools.pairwise(SAME.path(src, dst, number)))


@pytest.mark.parametrize("failed", ["4_1_1", "0_2_1", None])
def test_placements_on_the_plan_do_as_on_the_fat_tree(failed):
    flows, placed = random_flows(TREE, 40, 3), []
    for topo in (TREE, SAME):
        links, gff, annealing = LinkState(topo), GlobalFirstFit(topo), FlowAnnealing(topo, np.random.default_rng(1))
        links.fail(list_links_of_switch(topo, failed) if failed else [])
        core = gff.place(flows, links)
        placed.append({f: topo.path(flows.src[f], flows.dst[f], core[f]) for f in gff.assigned})
        core = annealing.place(flows, links)
        assert annealing.energy == excess(topo, flows, core, links) < excess(topo, flows, flows.core, links)
        core = Ecmp(topo, 1, links).cores(flows.src, flows.dst, np.arange(40), 5001)
        assert links.usable(flows.src, flows.dst, core).all()
        counts = [len(topo.path_cores(s, d)) for s, d in zip(flows.src, flows.dst, strict=True)]
        assert (links.usable_cores(flows.src, flows.dst).sum(axis=1) <= (counts if topo is SAME else 4)).all()
    assert placed[0] == placed[1]
    assert len(placed[0]) > 15


def test_a_leaf_spine_and_what_oversubscription_is():
    net = load_own_network("leaf-spine:4,2,6", None)
    assert (net.num_hosts, net.num_switches, net.num_cables, net.num_cores) == (24, 6, 24 + 8, 2)
    assert net.path(0, 6, 1) == (net.host_name(0), "leaf0", "spine1", "leaf1", net.host_name(6))
    assert net is load_own_network("leaf-spine:4,2,6", None), "made once"
    up, down = find_links_between(load_own_network("leaf-spine:4,2,6", 2.0), "leaf3", "spine0")
    assert link_rates(load_own_network("leaf-spine:4,2,6", 2.0))[[0, up, down]].tolist() == [1, 1.5, 1.5]
    assert link_rates(FatTree(4, 0.5)).tolist() == [1] * 16 + [0.5] * 64 + [1] * 16
    assert link_rates(NonBlocking(2)).tolist() == [1] * 4


def test_the_pages_example_is_a_network(tmp_path):
    file = tmp_path / "my_net.py"
    file.write_text(EXAMPLE)
    net = load_own_network(f"{file}:Ring", None)
    slower = load_own_network(f"{file}:Ring", 4.0)
    assert link_rates(slower)[8:12].tolist() == [0.25] * 4, "two hosts, two cables"
    again = PlannedNetwork("rows", slower.rows())
    assert (again.switches, link_rates(again).tolist()) == (net.switches, link_rates(net).tolist())
    assert [len(net.path(0, dst, 0)) - 2 for dst in (1, 2, 4, 6)] == [1, 2, 3, 4], "to the right"
    assert [len(net.path(0, dst, 1)) - 2 for dst in (1, 2, 4, 6)] == [1, 4, 3, 2], "to the left"
    assert link_rates(net).tolist() == [*[1] * 8, *[2.5] * 4] * 2


def test_a_dragonfly_has_paths_by_way_of_a_third_group():
    net = load_own_network("docs/examples/dragonfly.py:Dragonfly", None)
    assert (net.num_hosts, net.num_switches, net.num_cables, net.num_cores) == (20, 10, 20 + 5 + 10, 4)
    assert max(len(net.path(0, dst, core)) - 2 for dst in range(4, 20) for core in range(4)) == 6
    links, every = LinkState(net), np.repeat(np.arange(4, 20), 4)
    links.fail(find_links_between(net, "g0s0", "g1s1"))
    assert len(set(links.detour(np.zeros(64, dtype=int), every, np.tile(np.arange(4), 16)).tolist())) == 4
    hosts, none = np.arange(20, dtype=np.int32), np.zeros(20, dtype=np.int32)
    flows = LargeFlows(np.arange(20), hosts, (hosts + 4) % 20, np.ones(20), none, none)
    annealing = FlowAnnealing(net, np.random.default_rng(1))
    core = annealing.place(flows, LinkState(net))
    assert annealing.energy == excess(net, flows, core, LinkState(net)) < excess(net, flows, flows.core, LinkState(net))


GOOD = """
class Net:
    hosts = 2
    def links(self): return [(0, "a"), (1, "b"), ("a", "c"), ("b", "c")]
    def paths(self, src, dst): return [["a", "c", "b"] if src == 0 else ["b", "c", "a"]]
"""


@pytest.mark.parametrize(
    ("was", "is_", "words"),
    [
        ("hosts = 2", "hosts = 1", "at least 2 hosts"),
        ("hosts = 2", "hosts = 3", "each of the hosts 0 to 2 needs one cable"),
        ('"c"', '"0_0_2"', "not a host's or '0_0_2'"),
        ('("b", "c")]', '("b", "c", -1)]', "rate must be a number above 0"),
        ('("b", "c")]', '("b", "c"), ("c", "b")]', "one cable at most"),
        ('["b", "c", "a"]', '["b", "a"]', "from host 1 to host 0 has no cable from b to a: b-a"),
        ('["b", "c", "a"]', '["b", "c"]', "from host 1 to host 0 begins at b and ends at c.*: b-c"),
        ('["b", "c", "a"]', '["b", "c", "b", "c", "a"]', "from host 1 to host 0 meets one of its switches twice"),
        ('["b", "c", "a"]', '["b", *"cdefghi", "a"]', "from host 1 to host 0 has 9 switches"),
        ("hosts = 2", "hosts = 2\n    def addSwitch(self): ...", "is a Mininet Topo"),
        ("return [[", "return [] and [[", "there is no path"),
        ("def paths", "def path", "AttributeError: "),
        (GOOD, "Net = 5", "there is no class Net"),
    ],
)
def test_what_is_no_network_is_one_sentence(was, is_, words, tmp_path):
    file = tmp_path / "net.py"
    file.write_text(GOOD)
    assert load_own_network(f"{file}:Net", None).num_switches == 3
    assert was in GOOD
    file.write_text(GOOD.replace(was, is_))
    with refused(words):
        load_own_network(f"{file}:Net", None)
