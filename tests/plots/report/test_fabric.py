from plots.report import fabric
from topos.fattree import FatTree
from topos.links import links_between


def test_of_a_cable_the_right_line_leads_up():
    tree = FatTree(4)
    _, lines = fabric.draw(tree)
    for cable in tree.links():
        up, down = (lines[i] for i in links_between(tree, cable.lower, cable.upper))
        assert up.x1 > down.x2
        assert up.x2 > down.x1
