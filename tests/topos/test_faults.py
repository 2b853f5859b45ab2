import math

import pytest

from topos.fattree import FatTree
from topos.faults import Fault, cables, links_down, moments, parse
from topos.links import link_ends

TREE = FatTree(4)


def test_a_link_is_its_cable_both_ways():
    fault = parse("link:4_1_1-0_2_1@3.5", TREE, 10)
    assert fault == Fault(("4_1_1", "0_2_1"), 3.5, math.inf)
    assert {link_ends(TREE, link) for link in fault.links(TREE)} == {("0_2_1", "4_1_1"), ("4_1_1", "0_2_1")}
    assert cables(TREE, fault.links(TREE)) == [("0_2_1", "4_1_1")]


def test_a_switch_is_all_its_cables():
    fault = parse("switch:0_0_1@2:5", TREE, 10)
    assert (fault.at, fault.until, fault.what) == (2, 5, "switch:0_0_1")
    assert len(fault.links(TREE)) == 8
    assert len(cables(TREE, fault.links(TREE))) == 4


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
    with pytest.raises(ValueError, match=words) as error:
        parse(text, TREE, 10)
    assert "\n" not in str(error.value)


def test_what_is_down_when():
    faults = [parse(text, TREE, 10) for text in ("switch:4_1_1@2:6", "link:0_2_1-4_1_1@4", "link:0_2_1-4_1_2@4:8")]
    assert moments(faults) == [2, 4, 6, 8]
    core = faults[0].links(TREE)
    assert links_down(faults, TREE, 1.9) == frozenset()
    assert links_down(faults, TREE, 2) == core
    assert links_down(faults, TREE, 4) == core | faults[2].links(TREE)
    assert links_down(faults, TREE, 6) == faults[1].links(TREE) | faults[2].links(TREE), "still cut by itself"
    assert links_down(faults, TREE, 9) == faults[1].links(TREE)
