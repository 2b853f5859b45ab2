"""The fat-tree as a drawing: the places of its nodes, and one line for each direction of each cable.

Coordinates are in a box WIDTH wide and HEIGHT high, y downwards. The lines are in the order of `topos.links`,
so that a path of link numbers is a set of lines here. The template fabric.html makes an SVG of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from topos.fattree import FatTree
from topos.links import link_ends, num_links

WIDTH, HEIGHT = 1000.0, 430.0
MAX_K = 8
"""In a larger fat-tree the hosts would be too small to tap, and the cables would be a black surface."""
_Y = {"core": 34.0, "aggregation": 150.0, "edge": 278.0, "host": 386.0}
_APART = 5.0  # half the distance between the two directions of a cable, at most


class Node(NamedTuple):
    """A host or switch: its centre, and its size in the drawing."""

    name: str
    layer: str
    x: float
    y: float
    width: float
    height: float


class Line(NamedTuple):
    """One direction of a cable, as drawn."""

    source: str
    target: str
    x1: float
    y1: float
    x2: float
    y2: float


def draw(tree: FatTree) -> tuple[list[Node], list[Line]]:
    """The nodes of a fat-tree, and its lines by directed link id (`topos.links`)."""
    nodes = _nodes(tree)
    placed = {node.name: node for node in nodes}
    apart = min(_APART, 0.16 * WIDTH / tree.num_hosts)
    return nodes, [_line(placed, *link_ends(tree, link), apart) for link in range(num_links(tree))]


def _nodes(tree: FatTree) -> list[Node]:
    column = WIDTH / tree.num_hosts
    x: dict[str, float] = {}
    for host, name in enumerate(tree.hosts):
        pod = tree.place(host).pod
        squeeze = 0.93  # pods stand apart
        middle = (pod + 0.5) * WIDTH / tree.k
        x[name] = middle + ((host + 0.5) * column - middle) * squeeze
    for pod in range(tree.k):
        for i in range(tree.half):
            below = [x[tree.host_name(tree.host_index(pod, i, j))] for j in range(tree.half)]
            x[tree.edge_name(pod, i)] = x[tree.aggregation_name(pod, i)] = sum(below) / len(below)
    for core in range(tree.num_cores):
        x[tree.core_name(core)] = (core + 0.5) / tree.num_cores * WIDTH
    nodes = []
    for name, middle in x.items():
        layer = tree.layer(name)
        width = min(50.0, 0.8 * column) if layer == "host" else min(76.0, 0.8 * column * tree.half)
        nodes.append(Node(name, layer, middle, _Y[layer], width, 26.0))
    return nodes


def _line(nodes: Mapping[str, Node], source: str, target: str, apart: float) -> Line:
    """A line between the edges of two boxes, shifted to the right of its own direction."""
    a, b = nodes[source], nodes[target]
    upward = b.y < a.y
    lower, upper = (a, b) if upward else (b, a)
    x1, y1, x2, y2 = lower.x, lower.y - lower.height / 2, upper.x, upper.y + upper.height / 2
    # Cables leave a box side by side, spread by where they go.
    x1 += _spread(lower, upper.x - lower.x)
    x2 += _spread(upper, lower.x - upper.x)
    length = math.hypot(x2 - x1, y2 - y1)
    dx, dy = (y2 - y1) / length * apart / 2, -(x2 - x1) / length * apart / 2
    side = -1 if upward else 1
    x1, y1, x2, y2 = x1 + side * dx, y1 + side * dy, x2 + side * dx, y2 + side * dy
    if not upward:
        x1, y1, x2, y2 = x2, y2, x1, y1
    return Line(source, target, *(round(value, 1) for value in (x1, y1, x2, y2)))


def _spread(node: Node, towards: float) -> float:
    """How far from a box's middle a cable leaves it; ``towards``: how far sideways the cable goes."""
    return max(-0.34, min(0.34, towards / WIDTH * 1.3)) * node.width
