"""The runs one by one, as plain data for the page's script: rates, rounds, paths and link loads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hedera.schemes import CONTROL
from plots.load import Sweep
from plots.report import fabric
from plots.report.tallies import required
from plots.style import short
from record.parts import FlowRecord, Round
from record.run import Run
from topos.fattree import FatTree
from topos.links import NO_LINK, link_ends, num_links, path_links, sending_ports
from topos.wire import payload_share

MAX_FLOWS = 600
"""If a run has more flows, they are counted, not listed: all-to-all on 128 hosts would make a page of 100 MB."""


class Stage(NamedTuple):
    """The state between two scheduling rounds, in seconds since traffic start: the core of each flow (None: it had no
    path yet) and the mean rate of each flow, Mb/s of payload."""

    begin: float
    end: float
    cores: tuple[int | None, ...]
    mbps: tuple[float, ...]


def tree_of(runs: Sequence[Run]) -> FatTree | None:
    """The fat-tree of these runs (they have one k); None when it is too large to draw."""
    return FatTree(runs[0].spec.k) if runs and runs[0].spec.k <= fabric.MAX_K else None


def rounds_shown(run: Run) -> tuple[Round, ...]:
    return tuple(each for each in run.rounds if 0 < each.t < run.spec.seconds)


def stages(run: Run) -> tuple[Stage, ...]:
    """The run cut at its rounds: before the first, after the first, and so on. One stage without rounds.

    A change of path belongs to the round that made it: it is logged when its rules are installed, at the end of that
    round.
    """
    rounds = rounds_shown(run)
    times = [0.0, *(each.t for each in rounds), run.spec.seconds]
    # After this time only the next round changes paths; a flow may also get its first path this late.
    settled = [*(each.began for each in rounds), float("inf")]
    cut = []
    for (begin, end), moment in zip(pairwise(times), settled, strict=True):
        rates = tuple(mean_mbps(flow, begin, end) for flow in run.flows)
        cut.append(Stage(begin, end, tuple(_core(flow, moment) for flow in run.flows), rates))
    return tuple(cut)


def mean_mbps(flow: FlowRecord, begin: float, end: float) -> float:
    """The mean rate of a flow between two times, from its rates per second.

    A second that a round cuts in two is left out if whole seconds remain, because half of it used another path.
    Seconds without a rate count as zero.
    """
    first, last = math.ceil(begin - flow.start), math.floor(end - flow.start)
    if first < last:
        begin, end = flow.start + first, flow.start + last
    if end <= begin:
        return 0.0
    megabits = 0.0
    seconds = range(max(0, math.floor(begin - flow.start)), min(len(flow.per_second_mbps), math.ceil(end - flow.start)))
    for second in seconds:
        start = flow.start + second
        megabits += flow.per_second_mbps[second] * max(0.0, min(start + 1, end) - max(start, begin))
    return megabits / (end - begin)


def _core(flow: FlowRecord, moment: float) -> int | None:
    return next((path.core for path in reversed(flow.paths) if path.t < moment), None)


def explorer(sweep: Sweep) -> dict[str, Any]:
    """Everything that the page's script needs, as data for JSON. ``links`` has the two ends of each directed link, by
    its id; a run's ``links`` has its measured rates in that order (null: not stored)."""
    runs = sweep.runs
    tree = tree_of(runs)
    ports = sending_ports(tree) if tree else ()
    controls = {(run.pattern, run.trial): i for i, run in enumerate(runs) if run.scheme == CONTROL}
    return {
        "bw": runs[0].spec.link_mbps if runs else None,
        "payload_bw": runs[0].spec.link_mbps * payload_share(runs[0].spec.mtu) if runs else None,
        "capacity": runs[0].capacity_mbps if runs else None,
        "links": [list(link_ends(tree, link)) for link in range(num_links(tree))] if tree else [],
        "hosts": list(tree.hosts) if tree else [],
        "cores": [tree.core_name(core) for core in range(tree.num_cores)] if tree else [],
        "names": {run.pattern: short(run.pattern) for run in runs},
        "runs": [
            {"file": str(file.relative_to(sweep.folder)), "control": controls.get((run.pattern, run.trial))}
            | _run(run, tree, ports)
            for run, file in zip(runs, sweep.files, strict=True)
        ],
    }


def _run(run: Run, tree: FatTree | None, ports: Sequence[str]) -> dict[str, Any]:
    cut = stages(run) if len(run.flows) <= MAX_FLOWS else ()
    measured = [_round(run.links.get(port)) for port in ports] if run.scheme != CONTROL else []
    return {
        "pattern": run.pattern,
        "scheme": run.scheme,
        "trial": run.trial,
        "worker": run.environment.get("worker"),
        "valid": run.valid,
        "verdict": run.verdict,
        "reasons": list(run.reasons),
        "remarks": list(run.remarks),
        "rules": required(run),
        "mbps": _round(run.bisection_mbps),
        "payload": _round(run.payload_mbps),
        "maxmin": _round(run.maxmin_mbps),
        "window": [round(t, 3) for t in run.window_s],
        "end": run.spec.seconds,
        "t": [round(t, 2) for t in run.rates.t],
        "total": [round(rate, 2) for rate in run.rates.total_mbps],
        "idle": [[round(t, 1), round(idle, 1)] for t, idle in zip(run.cpu.t, run.cpu.idle_percent, strict=True)],
        "rounds": [
            [round(each.t, 3), each.large, each.changed, each.polled_ms, each.compute_ms, each.install_ms]
            for each in rounds_shown(run)
        ],
        "links": measured if any(rate is not None for rate in measured) else [],
        "flows": len(run.flows),
        "stages": [[round(s.begin, 3), round(s.end, 3), [round(rate, 2) for rate in s.mbps]] for s in cut],
        "paths": _paths(run, cut, tree),
    }


def _paths(run: Run, cut: Sequence[Stage], tree: FatTree | None) -> list[list[Any]]:
    """For each flow: source, destination, and (stage from which it holds, core, directed links) for each path."""
    if run.scheme == CONTROL:
        return [[flow.src, flow.dst, []] for flow in run.flows[:MAX_FLOWS]]
    found: list[list[Any]] = []
    for i, flow in enumerate(run.flows if cut else ()):
        changes: list[list[Any]] = []
        for number, stage in enumerate(cut):
            core = stage.cores[i]
            if core is not None and (not changes or changes[-1][1] != core):
                changes.append([number, core, []])
        found.append([flow.src, flow.dst, changes])
    if tree is not None:
        every = [(src, dst, change) for src, dst, changes in found for change in changes]
        known = [one for one in every if max(one[:2]) < tree.num_hosts and one[2][1] < tree.num_cores]
        ends = np.array([(src, dst, change[1]) for src, dst, change in known], np.int64).reshape(-1, 3)
        for (_, _, change), links in zip(known, path_links(tree, *ends.T).tolist(), strict=True):
            change[2] = [link for link in links if link != NO_LINK]
    return found


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
