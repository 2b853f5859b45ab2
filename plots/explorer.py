"""What the page's script shows of single runs, as plain data: rates, rounds, paths and link loads; and the fat-tree as
a drawing.

Coordinates of the drawing are in a box WIDTH wide and HEIGHT high, y downwards. Its lines are in the order of
`topos.links`, one for each direction of each cable, so that a path of link numbers is a set of lines. The template
fabric.html makes an SVG of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hedera.schemes import CONTROL, find_hash
from plots.stored_sweep import Sweep
from plots.style import shorten_name
from record.run import FlowRecord, Round, Rule, Run
from topos.arrays import Float64
from topos.fattree import FatTree
from topos.links import NO_LINK, link_ends, list_sending_ports, num_links, path_links
from topos.wire import compute_payload_share

MAX_FLOWS = 600
"""If a run has more flows, they are counted, not listed: all-to-all on 128 hosts would make a page of 100 MB."""
MAX_K = 8
"""In a larger fat-tree the hosts would be too small to tap, and the cables would be a black surface."""
WIDTH, HEIGHT = 1000.0, 430.0
_Y = {"core": 34.0, "aggregation": 150.0, "edge": 278.0, "host": 386.0}
_APART = 5.0  # half the distance between the two directions of a cable, at most


class Stage(NamedTuple):
    """The state between two scheduling rounds, in seconds since traffic start: the core of each flow (None: it had no
    path yet) and the mean rate of each flow, Mb/s of payload."""

    begin: float
    end: float
    cores: tuple[int | None, ...]
    mbps: tuple[float, ...]


def find_tree(runs: Sequence[Run]) -> FatTree | None:
    """The fat-tree of these runs, which have one network. None when they have another network, or one too large to
    draw."""
    spec = runs[0].spec
    return FatTree(spec.k) if spec.topology is None and spec.k <= MAX_K else None


def select_rounds(run: Run) -> tuple[Round, ...]:
    return tuple(r for r in run.rounds if 0 < r.t < run.spec.seconds)


def split_into_stages(run: Run) -> tuple[Stage, ...]:
    """The run cut at its rounds: before the first, after the first, and so on. One stage without rounds.

    A change of path belongs to the round that made it: it is logged when its rules are installed, at the end of that
    round.
    """
    rounds = select_rounds(run)
    times = [0.0, *(r.t for r in rounds), run.spec.seconds]
    # After this time only the next round changes paths; a flow may also get its first path this late.
    settled = [*(r.began for r in rounds), math.inf]
    rates = average_rates(run.flows, times)
    return tuple(
        Stage(begin, end, tuple(_find_core(flow, moment) for flow in run.flows), tuple(mbps))
        for (begin, end), moment, mbps in zip(pairwise(times), settled, rates.tolist(), strict=True)
    )


def average_rates(flows: Sequence[FlowRecord], times: Sequence[float]) -> Float64:
    """The mean rate of each flow between each two times, from its rates per second: float64 (times - 1, flows).

    A second that one of the times cuts in two is left out if whole seconds remain, because half of it used another
    path. Seconds without a rate count as zero.
    """
    rates = np.zeros((len(times) - 1, len(flows)))
    for of_flow, flow in zip(rates.T, flows, strict=True):
        megabits = np.cumsum([0.0, *flow.per_second_mbps])  # received up to the end of each second
        # Rates are stored by whole seconds since the flow's own start, and rounds come at any time. The cumulated sum
        # lets a mean be taken between any two moments.
        since = np.array(times) - flow.start
        first, last = np.ceil(since[:-1]), np.floor(since[1:])
        begin, end = np.where(first < last, (first, last), (since[:-1], since[1:]))
        received_before, received_after = np.interp((begin, end), np.arange(megabits.size), megabits)
        of_flow[:] = (received_after - received_before) / np.where(end > begin, end - begin, np.inf)
    return rates


def _find_core(flow: FlowRecord, moment: float) -> int | None:
    return next((path.core for path in reversed(flow.paths) if path.t < moment), None)


def collect_explorer_data(sweep: Sweep) -> dict[str, Any]:
    """Everything that the page's script needs of a sweep with runs, as data for JSON. ``links`` has the two ends of
    each directed link, by its id; a run's ``links`` has its measured rates in that order (null: not stored)."""
    runs, spec = sweep.runs, sweep.runs[0].spec
    tree = find_tree(runs)
    ports = list_sending_ports(tree) if tree else ()
    controls = {(run.pattern, run.trial): i for i, run in enumerate(runs) if run.scheme == CONTROL}
    return {
        "bw": spec.link_mbps,
        "payload_bw": spec.link_mbps * compute_payload_share(spec.mtu),
        "capacity": runs[0].capacity_mbps,
        "links": [list(link_ends(tree, link)) for link in range(num_links(tree))] if tree else [],
        "hosts": list(tree.hosts) if tree else [],
        "cores": [tree.core_name(core) for core in range(tree.num_cores)] if tree else [],
        "names": {run.pattern: shorten_name(run.pattern) for run in runs},
        "runs": [
            {"file": str(file.relative_to(sweep.folder)), "control": controls.get((run.pattern, run.trial))}
            | _run(run, tree, ports)
            for run, file in zip(runs, sweep.files, strict=True)
        ],
    }


def _run(run: Run, tree: FatTree | None, ports: Sequence[str]) -> dict[str, Any]:
    # A page carries every run of a sweep, so whatever can be left out or rounded is.
    cut = split_into_stages(run) if len(run.flows) <= MAX_FLOWS else ()
    measured = [_round(run.links.get(port)) for port in ports] if run.scheme != CONTROL else []
    streams = [run.ack_streams.get(port, 0.0) for port in ports] if run.scheme != CONTROL and run.ack_streams else []
    return {
        "pattern": run.pattern,
        "scheme": run.scheme,
        "trial": run.trial,
        "worker": run.environment.get("worker"),
        "valid": run.valid,
        "verdict": run.verdict,
        "reasons": list(run.reasons),
        "remarks": list(run.remarks),
        "ways": describe_paths(run),
        "rules": [
            [rule.rule, rule.passed, rule.measured, _describe_limit(rule), rule.why_not or ""] for rule in run.rules
        ],
        "mbps": _round(run.bisection_mbps),
        "payload": _round(run.payload_mbps),
        "maxmin": _round(run.maxmin_mbps),
        "window": [round(t, 3) for t in run.window_s],
        "end": run.spec.seconds,
        "t": [round(t, 2) for t in run.rates.t],
        "total": [round(rate, 2) for rate in run.rates.total_mbps],
        "idle": [[round(t, 1), round(idle, 1)] for t, idle in zip(run.cpu.t, run.cpu.idle_percent, strict=True)],
        "rounds": [
            [round(r.t, 3), r.large, r.changed, r.polled_ms, r.compute_ms, r.install_ms] for r in select_rounds(run)
        ],
        "links": measured if any(rate is not None for rate in measured) else [],
        "acks": [round(stream, 2) for stream in streams],
        "flows": len(run.flows),
        "stages": [[round(s.begin, 3), round(s.end, 3), [round(rate, 2) for rate in s.mbps]] for s in cut],
        "paths": _list_paths(run, cut, tree),
    }


def _describe_first_paths(run: Run) -> str:
    """By which hash flows got their first paths, and how many of a fat-tree's cores they used, in words; empty where
    nothing is known of either. Flows within a pod meet no core."""
    hash = find_hash(run.scheme)
    words = []
    if hash is not None and run.spec.new_flows == "switch":
        words.append(f"first paths by the switches, which hash the {hash.fields} as Open vSwitch does")
    elif hash is not None:
        words.append(f"first paths by {hash}")
    tree = find_tree([run])
    paths = [
        [change.core for change in flow.paths]
        for flow in run.flows
        if tree and flow.paths and run.scheme != CONTROL and flow.src // tree.num_cores != flow.dst // tree.num_cores
    ]
    if tree and paths:
        first_cores, all_cores = (
            {core for path in paths for core in path[:number_of_paths]} for number_of_paths in (1, None)
        )
        later = f" at first, later {len(all_cores)}" if len(all_cores) > len(first_cores) else ""
        words.append(f"flows used {len(first_cores)} of {tree.num_cores} cores{later}")
    return "; ".join(words)


def describe_paths(run: Run) -> str:
    """What is known of a run's paths, there and back, in words."""
    return "; ".join(filter(None, [_describe_first_paths(run), _describe_acknowledgements(run)]))


def _describe_acknowledgements(run: Run) -> str:
    """How acknowledgements went back, and how many flows' a link between switches carried at most, in words; empty
    where no path of theirs is known."""
    tree = find_tree([run])
    if tree is None or run.scheme == CONTROL or not run.ack_streams:
        return ""
    by_port = zip(list_sending_ports(tree), (link_ends(tree, link) for link in range(num_links(tree))), strict=True)
    max_flows = max(run.ack_streams.get(port, 0.0) for port, ends in by_port if not {*ends} & {*tree.hosts})
    route = "over their data's cables" if run.spec.ack_paths == "with-data" else "by hashes of their own"
    return f"acknowledgements went back {route}, those of {max_flows:.3g} flows on one link between switches at most"


def _describe_limit(rule: Rule) -> str:
    at_most = "" if rule.maximum is None else f"at most {rule.maximum:g}"
    return at_most if rule.minimum is None else f"at least {rule.minimum:g}"


def _list_paths(run: Run, cut: Sequence[Stage], tree: FatTree | None) -> list[list[Any]]:
    """For each flow: source, destination, and (stage from which it holds, core, directed links) for each path."""
    if run.scheme == CONTROL:
        return [[flow.src, flow.dst, []] for flow in run.flows[:MAX_FLOWS]]
    flows: list[list[Any]] = []
    for i, flow in enumerate(run.flows if cut else ()):
        cores = pairwise([None, *(stage.cores[i] for stage in cut)])
        changes: list[Any] = [
            [number, core, []] for number, (former_core, core) in enumerate(cores) if core != former_core
        ]
        flows.append([flow.src, flow.dst, changes])
    if tree is not None:
        all_paths = [(src, dst, change) for src, dst, changes in flows for change in changes]
        # A file may have been edited by hand. What this fat-tree does not have is not drawn, and the rest is.
        drawable = [path for path in all_paths if max(path[:2]) < tree.num_hosts and path[2][1] < tree.num_cores]
        ends = np.array([(src, dst, change[1]) for src, dst, change in drawable], np.int64).reshape(-1, 3)
        for (_, _, change), links in zip(drawable, path_links(tree, *ends.T).tolist(), strict=True):
            change[2] = [link for link in links if link != NO_LINK]
    return flows


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


# --- the drawing --------------------------------------------------------------------------------------------


class Node(NamedTuple):
    """A host or switch: its centre, and its size in the drawing."""

    name: str
    layer: str
    x: float
    y: float
    width: float
    height: float


Line = tuple[float, float, float, float]
"""One direction of a cable, as drawn: x and y of its beginning, and of its end."""


def draw_tree(tree: FatTree) -> tuple[list[Node], list[Line]]:
    """The nodes of a fat-tree, and its lines by directed link id (`topos.links`)."""
    nodes = _place_nodes(tree)
    by_name = {node.name: node for node in nodes}
    apart = min(_APART, 0.16 * WIDTH / tree.num_hosts)
    return nodes, [_place_line(by_name, *link_ends(tree, link), apart) for link in range(num_links(tree))]


def _place_nodes(tree: FatTree) -> list[Node]:
    column = WIDTH / tree.num_hosts
    x: dict[str, float] = {}
    for host, name in enumerate(tree.hosts):
        middle = (tree.place(host).pod + 0.5) * WIDTH / tree.k
        x[name] = middle + ((host + 0.5) * column - middle) * 0.93  # pods stand apart
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


def _place_line(nodes: Mapping[str, Node], source: str, target: str, apart: float) -> Line:
    """A line between the edges of two boxes, shifted to the right of its own direction."""
    a, b = nodes[source], nodes[target]
    down = math.copysign(0.5, b.y - a.y)
    # Cables leave a box side by side, spread by where they go.
    x1, y1 = a.x + _spread(a, b.x - a.x), a.y + down * a.height
    x2, y2 = b.x + _spread(b, a.x - b.x), b.y - down * b.height
    length = math.hypot(x2 - x1, y2 - y1)
    # The two directions of a cable run beside each other, as cars do: each keeps to its own right.
    dx, dy = -(y2 - y1) / length * apart / 2, (x2 - x1) / length * apart / 2
    return round(x1 + dx, 1), round(y1 + dy, 1), round(x2 + dx, 1), round(y2 + dy, 1)


def _spread(node: Node, towards: float) -> float:
    """How far from a box's middle a cable leaves it; ``towards``: how far sideways the cable goes."""
    return max(-0.34, min(0.34, towards / WIDTH * 1.3)) * node.width
