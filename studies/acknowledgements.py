"""What acknowledgements on a flow's links take of it, from the runs of sweeps (docs/acknowledgements.md).

    python -m studies.acknowledgements FOLDER [FOLDER ...] > flows.csv
    python -m studies.acknowledgements --queues FOLDER [FOLDER ...] > queues.csv

Flows are those that share none of their links with another flow's data, grouped by the most streams of
acknowledgements that one of their links between switches carries. Of each group, in the last third of valid runs, when
paths have settled:

* what the flows received of what the control's flows did in the same seconds, in %;
* how full their fullest link between switches was in the run's steady window (`FullLinks`), in % of its rate;
* which share of them crosses a link between switches that dropped packets, in %.

Runs without lasting flows or without `ack_paths` are left out.

With --queues, of runs that were traced (``--trace``) and whose raw files are there: of the same flows and seconds, how
many cross a link between switches whose queue was full, that is within a packet of its room, in %.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hedera.schemes import CONTROL
from plots import load_sweep
from record.output import format_csv
from record.run import QUEUES, FlowRecord, Run
from studies.study import estimate_over_seeds, read_traced_rows
from topos.arrays import Int32
from topos.fattree import FatTree
from topos.links import NO_LINK, list_sending_ports, num_links, path_links

MOST = 3
"""Flows with at least so many streams of acknowledgements on a link are counted together."""


class LoneFlow(NamedTuple):
    """A flow between pods that shares no link with another's data: the most streams of acknowledgements on one of its
    links between switches; its rate in the last third of the run, Mb/s; the rate of the fullest of these links in the
    steady window, Mb/s (NaN where none was measured); whether one of them dropped packets; and the sending ports of
    these links."""

    streams: int
    mbps: float
    fullest_mbps: float
    is_lossy: bool
    ports: frozenset[str]


def make_share_rows(folder: Path) -> Iterator[dict[str, object]]:
    """A row for each scheme and number of streams; intervals of 95 % over seeds, each the mean of its flows."""
    runs = [run for run in load_sweep(folder).runs if run.valid]
    control_mbps = {(run.pattern, run.trial): measure_rates(run).mean() for run in runs if run.scheme == CONTROL}
    shares: dict[tuple[str, str, int], dict[int, list[tuple[float, float, float]]]]
    shares = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if run.scheme != CONTROL and (run.pattern, run.trial) in control_mbps:
            for flow in find_lone_flows(run):
                of_control = flow.mbps / control_mbps[run.pattern, run.trial]
                of_link = flow.fullest_mbps / run.spec.link_mbps
                group = run.scheme, run.spec.ack_paths, min(flow.streams, MOST)
                shares[group][run.trial].append((100 * of_control, 100 * of_link, 100 * flow.is_lossy))
    for (scheme, ack_paths, streams), by_seed in sorted(shares.items()):
        received, fullest, _ = (
            estimate_over_seeds(map(float, each)) for each in zip(*_average_flows(by_seed), strict=True)
        )
        yield {
            "folder": folder.resolve().name, "mbps": f"{runs[0].spec.link_mbps:g}",
            "queue": runs[0].spec.queue, "scheme": scheme,
            "ack_paths": ack_paths, "streams": streams, "flows": sum(map(len, by_seed.values())),
            "seeds": len(by_seed), "mean": f"{received.mean:.3f}", "low": _format_number(received.low),
            "high": _format_number(received.high), "fullest": f"{fullest.mean:.3f}",
            "fullest_low": _format_number(fullest.low), "fullest_high": _format_number(fullest.high),
            "lossy": f"{np.mean([flow[-1] for flows in by_seed.values() for flow in flows]):.1f}",
        }  # fmt: skip


def _average_flows(by_seed: Mapping[int, Sequence[tuple[float, ...]]]) -> list[list[float]]:
    """The mean over the flows of each seed, of each quantity, over those of which it was measured; NaN if over none."""
    means = []
    for flows in by_seed.values():
        measured = [[value for value in values if not np.isnan(value)] for values in zip(*flows, strict=True)]
        means.append([float(np.mean(values)) if values else float("nan") for values in measured])
    return means


def _format_number(value: float | None) -> str:
    return "" if value is None or np.isnan(value) else f"{value:.3f}"


def find_lone_flows(run: Run) -> list[LoneFlow]:
    """The flows between pods that share no link with data of another."""
    tree = FatTree(run.spec.k)
    ports = list_sending_ports(tree)
    data, acks = _find_links(run.flows, tree, back=False), _find_links(run.flows, tree, back=True)
    loads = [np.bincount(links[links != NO_LINK], minlength=num_links(tree)) for links in (data, acks)]
    link_mbps = run.full_links.mbps if run.full_links else {}
    rates, lone = measure_rates(run), []
    for number, links in enumerate(data):
        on = links[links != NO_LINK]
        # All six links are there only between pods. A flow that shares a link with another's data would lose to that,
        # and what acknowledgements take could not be told apart.
        if len(on) == links.size and (loads[0][on] == 1).all():
            between = on[1:-1]
            carried = [mbps for link in between if (mbps := link_mbps.get(ports[link])) is not None]
            dropped = any(run.queue_drops.get(ports[link], 0) for link in between)
            fullest = max(carried, default=float("nan"))
            names = frozenset(ports[link] for link in between)
            lone.append(LoneFlow(int(loads[1][between].max()), float(rates[number]), fullest, dropped, names))
    return lone


def _find_links(flows: Sequence[FlowRecord], tree: FatTree, *, back: bool) -> Int32:
    """The directed links of the last paths of flows, or of their acknowledgements: int32 (flows, 6)."""
    paths = [(flow.ack_paths if back else flow.paths)[-1].core for flow in flows]
    ends = [(flow.dst, flow.src) if back else (flow.src, flow.dst) for flow in flows]
    src, dst = np.array(ends).T
    return path_links(tree, src, dst, np.array(paths))


def measure_rates(run: Run) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Each flow's payload in the last third of the run, without its last second, Mb/s."""
    # By the last third most flows have been moved, and TCP has found its rates; the last second may not be a whole one.
    begin, end = int(run.spec.seconds * 2 / 3), int(run.spec.seconds) - 1
    return np.array([np.mean(flow.per_second_mbps[begin:end] or (0.0,)) for flow in run.flows])


def make_queue_rows(folder: Path) -> Iterator[dict[str, object]]:
    """A row for each scheme and number of streams, of traced runs below a folder."""
    full: dict[tuple[str, int], list[bool]] = defaultdict(list)
    sweep = load_sweep(folder)
    for run, file in zip(sweep.runs, sweep.files, strict=True):
        if run.valid:
            overfull = find_full_ports(run, file.parent / QUEUES)
            for flow in find_lone_flows(run):
                full[run.scheme, min(flow.streams, MOST)].append(bool(flow.ports & overfull))
    for (scheme, streams), flows in sorted(full.items()):
        percent = f"{100 * np.mean(flows):.1f}"
        yield {"scheme": scheme, "streams": streams, "flows": len(flows), "full": percent}


def find_full_ports(run: Run, queues: Path) -> set[str]:
    """The ports whose queue had no room for one more packet at a moment of the last third of a run."""
    room = (run.spec.queue - 1) * run.spec.mtu
    return {
        row["port"]
        for row in read_traced_rows(queues)
        if float(row["t"]) >= run.spec.seconds * 2 / 3 and int(row["bytes"]) > room
    }


def main(folders: Sequence[str]) -> None:
    make_rows = make_queue_rows if folders[0] == "--queues" else make_share_rows
    every = [row for folder in folders if folder != "--queues" for row in make_rows(Path(folder))]
    sys.stdout.write(format_csv(every))


if __name__ == "__main__":
    main(sys.argv[1:])
