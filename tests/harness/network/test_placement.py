import re
from collections import Counter
from pathlib import Path

import pytest

from harness.network.placement import place
from topos.fattree import FatTree
from topos.nonblocking import NonBlocking

EVEN = range(4, 17, 2)


def hosts_of_edges(tree):
    return Counter(tree.edge_of(host) for host in range(tree.num_hosts))


@pytest.mark.parametrize("k", EVEN)
def test_every_instance_has_its_share_and_an_edge_switch_with_two_hosts(k):
    tree = FatTree(k)
    shared = {edge for edge, number in hosts_of_edges(tree).items() if number >= 2}
    for processors in range(1, 65):
        placed = place(tree, processors)
        assert set(placed) == set(tree.switches)
        instances = set(placed.values())
        count = min(processors, k * k // 2)
        assert instances == set(range(count)), f"{processors} processors: all of them, without a gap"
        assert max(Counter(placed.values()).values()) == -(-tree.num_switches // count), processors
        assert {placed[edge] for edge in shared} == instances, processors


def test_two_processors_get_two_pods_and_two_cores_each():
    placed = place(FatTree(4), 2)
    for name, instance in placed.items():
        pod = int(name.split("_")[0])
        if pod < 4:
            assert instance == pod // 2
    assert [placed[f"4_{a}_{j}"] for a in (1, 2) for j in (1, 2)] == [0, 1, 0, 1]


@pytest.mark.parametrize("processors", [1, 2, 5, 64])
def test_the_one_switch_of_the_control_has_one_instance(processors):
    control = NonBlocking(16)
    assert place(control, processors) == {control.switches[0]: 0}


def test_the_documentation_has_the_table_for_k_4():
    tree = FatTree(4)
    text = (Path(__file__).parents[3] / "docs/notes/emulation.md").read_text()
    rows = re.findall(r"^\| (\d+)(?: to (\d+))? \| (\d+) \| ([\d ]+) \| ([\d ]+) \|$", text, re.MULTILINE)
    told = {n: row[2:] for row in rows for n in range(int(row[0]), int(row[1] or row[0]) + 1)}
    assert set(told) == set(range(1, 65))
    for processors, (instances, switches, edges) in told.items():
        placed = place(tree, processors)
        of_edges = Counter(placed[name] for name in tree.switches if tree.layer(name) == "edge")
        assert int(instances) == len(set(placed.values()))
        for words, counts in ((switches, Counter(placed.values())), (edges, of_edges)):
            assert [int(n) for n in words.split()] == sorted(counts.values(), reverse=True)
