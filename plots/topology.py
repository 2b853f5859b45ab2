"""The fat-tree as a picture of its own: the names of its switches and hosts, and its links' loads in a run."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from hedera.schemes import CONTROL
from plots.report import fabric
from plots.report.svg import number, tag, text
from plots.style import INK, MUTED, label
from results.files import write_whole
from results.record import Run
from topos.fattree import FatTree

_LOADS = ("#dcd6c9", "#b9cddd", "#83add0", "#4486b9", "#1d5c96", "#c33d12")
"""From idle to full, as on the page of a sweep."""
_WIDTHS = (1.2, 1.8, 2.2, 2.7, 3.2, 3.8)
_WORDS = ("idle", "to 25 %", "to 50 %", "to 75 %", "to 90 %", "above")
_HEAD, _FOOT, _LINE = 44.0, 62.0, 17.0  # pixels above and below the drawing, and of a line of text
_STYLE = "".join(
    (
        f"text{{font:11px sans-serif;fill:{INK}}}.title{{font-weight:bold;font-size:14px}}.note{{fill:{MUTED}}}"
        f".cable{{fill:none;stroke:#8a857b;stroke-width:1.2;stroke-linecap:round}}rect{{fill:#f5f2ea;stroke:{MUTED}}}"
        ".host,.paper{fill:#fff}.paper{stroke:none}.pod{fill:#faf8f2;stroke:#ddd8cd}",
        *(
            f".u{i}{{stroke:{colour};stroke-width:{width}}}"
            for i, (colour, width) in enumerate(zip(_LOADS, _WIDTHS, strict=True))
        ),
    )
)


def write(path: Path, tree: FatTree, run: Run | None = None) -> Path:
    """Write the picture as SVG: of the tree alone, or with its links' loads in a run.

    Raises ValueError when the tree is too large to be drawn, or the run has no loads of its links.
    """
    write_whole(path, f'<?xml version="1.0" encoding="UTF-8"?>\n{draw(tree, run)}\n')
    return path


def draw(tree: FatTree, run: Run | None = None) -> Markup:
    """The picture; raises ValueError as `write` does."""
    drawing = fabric.draw(tree)
    shares = None if run is None else loads(run, drawing)
    width, height = fabric.WIDTH, fabric.HEIGHT + _HEAD + _FOOT
    head = f"The fat-tree of k = {tree.k}: {tree.num_hosts} hosts, {tree.num_switches} switches"
    if run is not None:
        rate = f"links of {run.spec.link_mbps:g} Mb/s"
        head = f"Load of every link, {rate}: {run.scheme} on {label(run.pattern)}, trial {run.trial}"
    foot = [text(8, _HEAD + fabric.HEIGHT + _LINE * (row + 1), words, "note") for row, words in enumerate(names(tree))]
    return tag(
        "svg",
        tag("style", Markup(_STYLE)),
        tag("rect", width="100%", height="100%", class_="paper"),
        text(8, 22, head, "title"),
        *(() if shares is None else _key(width)),
        tag("g", *_pods(tree, drawing), *fabric.shapes(drawing, shares), transform=f"translate(0 {number(_HEAD)})"),
        *foot,
        xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {number(width)} {number(height)}", width=width,
        height=height, role="img", aria_label=head,
    )  # fmt: skip


def names(tree: FatTree) -> tuple[str, ...]:
    """The picture's lines that explain the names by examples."""
    host, core = tree.host_name(0), tree.core_name(0)
    aggregations = f"{tree.aggregation_name(0, 0)} to {tree.aggregation_name(0, tree.half - 1)}"
    return (
        f"Host P_E_H is in pod P below edge switch E, its address is 10.P.E.H: {host} is {tree.host_ip(0)}, "
        f"host number 0, below switch {tree.edge_of(0)}.",
        f"Aggregation switches of pod 0: {aggregations}. Core switch {tree.k}_A_J, as {core}, is the J-th of those "
        "that the A-th aggregation switch of every pod leads to.",
        "Every cable is two lines, one for each direction: the right one leads up, the left one down.",
    )


def loads(run: Run, drawing: fabric.Drawing) -> dict[str, float]:
    """Each link's load in the measured window of a run, as a share of its rate, by the sending port.

    Raises ValueError, one sentence, when the run does not have it.
    """
    if run.scheme == CONTROL:
        raise ValueError("this is a run of the control, with all hosts on one switch: there is no fat-tree")
    ports = {line.port for line in drawing.lines}
    found = {port: rate for port, rate in run.links.items() if port in ports and rate is not None}
    if not found:
        raise ValueError("this run has no rates of the links of its fat-tree (links, in run.json)")
    return {port: rate / run.spec.link_mbps for port, rate in found.items()}


def _pods(tree: FatTree, drawing: fabric.Drawing) -> list[Markup]:
    """A frame around each pod, with its name."""
    made = []
    for pod in range(tree.k):
        inside = {tree.aggregation_name(pod, a) for a in range(tree.half)}
        inside |= {tree.host_name(h) for h in range(tree.num_hosts) if tree.place(h).pod == pod}
        nodes = [node for node in drawing.nodes if node.name in inside]
        left, right = min(n.x - n.width / 2 for n in nodes) - 5, max(n.x + n.width / 2 for n in nodes) + 5
        top, bottom = min(n.y - n.height / 2 for n in nodes) - 8, max(n.y + n.height / 2 for n in nodes) + 22
        made.append(tag("rect", x=left, y=top, width=right - left, height=bottom - top, rx=8, class_="pod"))
        made.append(text((left + right) / 2, bottom - 6, f"pod {pod}", "note", "middle"))
    return made


def _key(width: float) -> list[Markup]:
    """The legend of the lines, at the top right."""
    made, x = [], width - 70.0 * len(_WORDS)
    for level, words in enumerate(_WORDS):
        made.append(tag("path", d=f"M{number(x)} 18h14", class_=f"cable u{level}"))
        made.append(text(x + 18, 22, words, "note"))
        x += 70
    return made
