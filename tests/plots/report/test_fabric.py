import itertools

import pytest

from plots.report import fabric
from topos.fattree import FatTree
from topos.links import link_ends, links_between, num_links


@pytest.mark.parametrize("k", [4, 6, 8])
def test_every_link_is_drawn_between_its_nodes_without_nodes_on_top_of_each_other(k):
    tree = FatTree(k)
    drawn, lines = fabric.draw(tree)
    assert [(line.source, line.target) for line in lines] == [link_ends(tree, i) for i in range(num_links(tree))]
    nodes = {node.name: node for node in drawn}
    assert set(nodes) == {*tree.hosts, *tree.switches}
    for layer in ("host", "edge", "aggregation", "core"):
        row = sorted((node for node in drawn if node.layer == layer), key=lambda node: node.x)
        assert all(a.x + a.width / 2 < b.x - b.width / 2 for a, b in itertools.pairwise(row))
        assert row[0].x - row[0].width / 2 >= 0
        assert row[-1].x + row[-1].width / 2 <= fabric.WIDTH
    for line in lines:
        a, b = nodes[line.source], nodes[line.target]
        assert abs(line.x1 - a.x) <= a.width / 2 + 3
        assert abs(line.x2 - b.x) <= b.width / 2 + 3
        assert (line.y1 > line.y2) == (a.y > b.y)


def test_of_a_cable_the_right_line_leads_up():
    tree = FatTree(4)
    _, lines = fabric.draw(tree)
    for cable in tree.links():
        up, down = (lines[i] for i in links_between(tree, cable.lower, cable.upper))
        assert up.x1 > down.x2
        assert up.x2 > down.x1
