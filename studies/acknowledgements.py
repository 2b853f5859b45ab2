"""What acknowledgements on a flow's links take of it, from the runs of sweeps (docs/acknowledgements.md).

    python -m studies.acknowledgements FOLDER [FOLDER ...] > flows.csv

Of each valid run's last third, when paths have settled: the flows that share none of their links with another flow's
data, by the most streams of acknowledgements that one of their links between switches carries; and what they received
of what the control's flows did in the same seconds, in %. Only runs say it whose flows last and that have `ack_paths`.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from hedera.schemes import CONTROL
from plots.stored_sweep import load_sweep
from record.run import FlowRecord, Run
from studies.study import interval
from topos.arrays import Int32
from topos.fattree import FatTree
from topos.links import NO_LINK, num_links, path_links

MOST = 3
"""From so many streams on they are told together."""


def rows(folder: Path) -> Iterator[dict[str, object]]:
    """A row for each scheme and number of streams; intervals of 95 % over seeds, each the mean of its flows."""
    runs = [run for run in load_sweep(folder).runs if run.valid]
    alone = {(run.pattern, run.trial): _rates(run).mean() for run in runs if run.scheme == CONTROL}
    found: dict[tuple[str, str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if run.scheme != CONTROL and (run.pattern, run.trial) in alone:
            for streams, rate in by_streams(run):
                share = 100 * rate / alone[run.pattern, run.trial]
                found[run.scheme, run.spec.ack_paths, min(streams, MOST)][run.trial].append(share)
    for (scheme, how, streams), by_seed in sorted(found.items()):
        over = interval(float(np.mean(each)) for each in by_seed.values())
        yield {
            "folder": folder.resolve().name, "mbps": f"{runs[0].spec.link_mbps:g}", "scheme": scheme, "ack_paths": how,
            "streams": streams, "flows": sum(map(len, by_seed.values())), "seeds": len(by_seed),
            "mean": f"{over.mean:.3f}", "low": _text(over.low), "high": _text(over.high),
        }  # fmt: skip


def _text(value: float | None) -> str:
    return "" if value is None or np.isnan(value) else f"{value:.3f}"


def by_streams(run: Run) -> list[tuple[int, float]]:
    """For each flow between pods that shares no link with data of another: the most streams of acknowledgements on one
    of its links between switches, and its rate in the last third of the run, Mb/s."""
    tree = FatTree(run.spec.k)
    data, acks = _links(run.flows, tree, back=False), _links(run.flows, tree, back=True)
    loads = [np.bincount(links[links != NO_LINK], minlength=num_links(tree)) for links in (data, acks)]
    rates, found = _rates(run), []
    for number, links in enumerate(data):
        on = links[links != NO_LINK]
        if len(on) == links.size and (loads[0][on] == 1).all():
            found.append((int(loads[1][on[1:-1]].max()), float(rates[number])))
    return found


def _links(flows: Sequence[FlowRecord], tree: FatTree, *, back: bool) -> Int32:
    """The directed links of the last paths of flows, or of their acknowledgements: int32 (flows, 6)."""
    paths = [(flow.ack_paths if back else flow.paths)[-1].core for flow in flows]
    ends = [(flow.dst, flow.src) if back else (flow.src, flow.dst) for flow in flows]
    src, dst = np.array(ends).T
    return path_links(tree, src, dst, np.array(paths))


def _rates(run: Run) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Each flow's payload in the last third of the run, without its last second, Mb/s."""
    begin, end = int(run.spec.seconds * 2 / 3), int(run.spec.seconds) - 1
    return np.array([np.mean(flow.per_second_mbps[begin:end] or (0.0,)) for flow in run.flows])


def main(folders: Sequence[str]) -> None:
    every = [row for folder in folders for row in rows(Path(folder))]
    writer = csv.DictWriter(sys.stdout, every[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(every)


if __name__ == "__main__":
    main(sys.argv[1:])
