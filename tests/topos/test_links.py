"""Link numbers against node names: the arrays must describe the same network as the strings."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.refused import refused
from topos.fattree import FatTree
from topos.links import (
    NO_LINK,
    Fault,
    find_links_between,
    find_links_down,
    link_ends,
    list_cables,
    list_links_of_switch,
    list_moments,
    list_sending_ports,
    num_links,
    parse,
    path_links,
)
from topos.network import LeafSpine, NonBlocking, PlannedNetwork
from topos.wire import compute_payload_share

OWN = PlannedNetwork("leaf-spine", LeafSpine(3, 2, 2))


@pytest.mark.parametrize("topo", [FatTree(4), FatTree(8), NonBlocking(16), OWN])
def test_link_numbers_are_the_cables_in_both_directions(topo):
    ends = [link_ends(topo, link) for link in range(num_links(topo))]
    cables = {(link.lower, link.upper) for link in topo.links()}
    assert len(set(ends)) == len(ends)
    assert set(ends) == cables | {(b, a) for a, b in cables}


@given(st.sampled_from([4, 8, 16]), st.data())
def test_path_links_follow_the_named_path(k, data):
    tree = FatTree(k)
    hosts = st.integers(0, tree.num_hosts - 1)
    src = data.draw(hosts)
    dst = data.draw(hosts.filter(lambda host: host != src))
    core = data.draw(st.integers(0, tree.num_cores - 1))
    (row,) = path_links(tree, [src], [dst], [core])
    walked = [link_ends(tree, int(link)) for link in row if link != NO_LINK]
    names = tree.path(src, dst, core)
    assert walked == list(itertools.pairwise(names))


@pytest.mark.parametrize("topo", [FatTree(4), FatTree(6), NonBlocking(16), OWN])
def test_the_sending_port_of_each_link_is_on_the_node_that_it_leaves(topo):
    names = list_sending_ports(topo)
    assert len(set(names)) == len(names) == num_links(topo)
    assert [name.partition("-")[0] for name in names] == [link_ends(topo, link)[0] for link in range(num_links(topo))]


@pytest.mark.parametrize("topo", [FatTree(4), FatTree(6), NonBlocking(5), OWN])
def test_links_by_name_are_those_with_these_ends(topo):
    """Against the table of all ends, which says the same and takes its time."""
    ends = {link_ends(topo, link): link for link in range(num_links(topo))}
    nodes = [*topo.hosts, *topo.switches]
    for a, b in itertools.product(nodes, nodes):
        if (a, b) in ends:
            assert find_links_between(topo, a, b) == (ends[a, b], ends[b, a])
        else:
            with pytest.raises(KeyError):
                find_links_between(topo, a, b)
    for switch in topo.switches:
        assert list_links_of_switch(topo, switch) == sorted(link for pair, link in ends.items() if switch in pair)


def test_what_is_no_node():
    tree = FatTree(4)
    for name in (*tree.hosts, *tree.switches):
        assert name in tree
    none = "0,0_0,0_0_0,0_0_4,0_2_2,0_4_1,4_0_1,4_1_0,4_3_1,4_1_3,5_1_1,00_0_1,0_0_+1,0_0_1 ,-1_0_1,٠_0_1,0_0_1_1,"
    for name in none.split(","):
        assert name not in tree


TREE = FatTree(4)


def test_a_link_is_its_cable_both_ways():
    fault = parse("link:4_1_1-0_2_1@3.5", TREE, 10)
    assert fault == Fault(("4_1_1", "0_2_1"), 3.5, math.inf)
    assert {link_ends(TREE, link) for link in fault.links(TREE)} == {("0_2_1", "4_1_1"), ("4_1_1", "0_2_1")}
    assert list_cables(TREE, fault.links(TREE)) == [("0_2_1", "4_1_1")]


def test_a_switch_is_all_its_cables():
    fault = parse("switch:0_0_1@2:5", TREE, 10)
    assert (fault.at, fault.until, fault.name) == (2, 5, "switch:0_0_1")
    assert len(fault.links(TREE)) == 8
    assert len(list_cables(TREE, fault.links(TREE))) == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "link:A-B@SECONDS"),
        ("link:0_2_1-4_1_1", "link:A-B@SECONDS"),
        ("switch:0_2_1-4_1_1@3", "link:A-B@SECONDS"),
        ("link:0_0_1-0_0_2@3", "0_0_2 is a host"),
        ("switch:9_9_9@3", "no switch '9_9_9'"),
        ("link:0_2_1-4_2_1@3", "there is no cable between 0_2_1 and 4_2_1"),
        ("switch:4_1_1@3:0", "end after it begins"),
        ("switch:4_1_1@10", "outside the run"),
        ("switch:4_1_1@nan", "a number"),
        ("switch:4_1_1@٣", "link:A-B@SECONDS"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(text, words):
    with refused(words):
        parse(text, TREE, 10)


def test_what_is_down_when():
    faults = [parse(text, TREE, 10) for text in ("switch:4_1_1@2:6", "link:0_2_1-4_1_1@4", "link:0_2_1-4_1_2@4:8")]
    assert list_moments(faults) == [2, 4, 6, 8]
    core = faults[0].links(TREE)
    assert find_links_down(faults, TREE, 1.9) == frozenset()
    assert find_links_down(faults, TREE, 2) == core
    assert find_links_down(faults, TREE, 4) == core | faults[2].links(TREE)
    assert find_links_down(faults, TREE, 6) == faults[1].links(TREE) | faults[2].links(TREE), "still cut by itself"
    assert find_links_down(faults, TREE, 9) == faults[1].links(TREE)


def test_full_segments_at_the_usual_mtu():
    assert compute_payload_share() == 1448 / 1514
    assert compute_payload_share(cable=True) == 1448 / 1538


@pytest.mark.parametrize("cable", [False, True])
def test_larger_packets_waste_less(cable):
    assert compute_payload_share(1500, cable=cable) < compute_payload_share(9000, cable=cable) < 1
