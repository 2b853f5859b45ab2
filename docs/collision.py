"""Draws docs/figures/collision.png, as the paper's Figure 2: `.venv/bin/python docs/collision.py`.

Four flows in a fat-tree of k = 4. Hashed, two meet on a way up and two on a way down; placed, none shares a link.
"""

from collections import Counter
from itertools import pairwise
from pathlib import Path

from plots.pictures import create_figure, save
from plots.printable_figure import PrintableFigure
from plots.style import INK, INVALID, MUTED, colour, house_style
from topos.fattree import FatTree

TREE = FatTree(4)
FLOWS = {"A": (0, 8), "B": (1, 12), "C": (5, 10), "D": (13, 11)}
"""Source and destination, host numbers."""
HASHED = {"A": 0, "B": 1, "C": 2, "D": 2}
PLACED = {"A": 0, "B": 3, "C": 2, "D": 1}
"""The core of each flow."""
HEIGHTS = {"edge": 0.9, "aggregation": 2.2, "core": 3.5}
COLOURS = dict(zip(FLOWS, map(colour, ("hedera-sa", "ecmp", "ecmp-dst", "random")), strict=True))


def places() -> dict[str, tuple[float, float]]:
    """Where each node is drawn."""
    at = {TREE.host_name(host): (float(host), 0.0) for host in range(TREE.num_hosts)}
    for layer, height in HEIGHTS.items():
        names = [name for name in TREE.switches if TREE.layer(name) == layer]
        first, step = (3.0, 3) if layer == "core" else (0.5, 2)
        at |= {name: (first + step * i, height) for i, name in enumerate(names)}
    return at


def draw() -> PrintableFigure:
    at = places()
    figure = create_figure(11, 3.2)
    for axes, cores, title in zip(
        figure.subplots(1, 2),
        (HASHED, PLACED),
        ("ECMP: A meets B, and C meets D; each has half a link", "Hedera: no link is shared; each has a whole link"),
        strict=True,
    ):
        paths = {flow: TREE.path(*ends, cores[flow]) for flow, ends in FLOWS.items()}
        shared = Counter(hop for path in paths.values() for hop in pairwise(path))
        for link in TREE.links():
            axes.plot(*zip(at[link.lower], at[link.upper], strict=True), color="#dddddd", linewidth=0.8, zorder=1)
        for i, (flow, path) in enumerate(paths.items()):
            xs, ys = zip(*(at[node] for node in path), strict=True)
            axes.plot([x + 0.06 * (i - 1.5) for x in xs], ys, color=COLOURS[flow], linewidth=2, zorder=2)
            for x, word in ((xs[0], flow), (xs[-1], f"{flow}'")):
                axes.text(x, -0.45, word, ha="center", color=INK)
        for (core, other), flows in shared.items():
            if flows > 1:
                (a, b), (c, d) = at[core], at[other]
                axes.plot((a + c) / 2, (b + d) / 2, "o", markersize=17, markerfacecolor="none", color=INVALID, zorder=4)
        for x, y in at.values():
            axes.plot(x, y, "s" if y else "o", color=MUTED if y else INK, markersize=8 if y else 3, zorder=3)
        for layer, height in HEIGHTS.items():
            axes.text(-0.7, height, layer, ha="right", va="center", color=MUTED)
        axes.set(title=title, ylim=(-0.7, 3.8))
        axes.axis("off")
    return figure


if __name__ == "__main__":
    with house_style():
        save(draw(), Path(__file__).parent / "figures" / "collision")
