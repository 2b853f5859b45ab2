"""Lasting flows that no round sees as large: those with less than the threshold's part of a link, late in a run.

    python -m studies.starved_flows FOLDER... > starved.csv

Section 3.1 has the controller look after flows that send at more than a tenth of their link, as measured. A flow that
others keep below it is never placed elsewhere, however free another path is. A row for each folder and scheme, but for
the control: valid runs, their flows, how many of these had less than the run's threshold in its last third (payload,
without the last second), in how many runs, and which: pattern, seed, hosts, share of the link in %, and how often
Hedera placed it on another core.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from hedera.schemes import CONTROL
from plots import load_sweep
from plots.export import count_moves
from record.output import format_csv
from record.run import Run
from studies.acknowledgements import measure_rates


def list_starved(run: Run) -> list[str]:
    """The run's starved flows as words; flows that end by themselves are none."""
    shares = measure_rates(run) / run.spec.link_mbps
    return [
        f"{run.pattern}/{run.seed} {flow.src}>{flow.dst} {100 * share:.1f} % placed {count_moves(flow)}"
        for flow, share in zip(run.flows, shares, strict=True)
        if flow.size_bytes is None and share < run.spec.threshold
    ]


def make_rows(folder: Path) -> Iterator[dict[str, object]]:
    runs = [run for run in load_sweep(folder).runs if run.valid and run.scheme != CONTROL]
    for scheme in dict.fromkeys(run.scheme for run in runs):
        of_scheme = [run for run in runs if run.scheme == scheme]
        starved_by_run = [list_starved(run) for run in of_scheme]
        starved = [flow for of_run in starved_by_run for flow in of_run]
        yield {
            "folder": folder.resolve().name, "scheme": scheme, "runs": len(of_scheme),
            "flows": sum(len(run.flows) for run in of_scheme), "starved": len(starved),
            "runs_with": sum(map(bool, starved_by_run)), "which": "; ".join(starved),
        }  # fmt: skip


def main(folders: Sequence[str]) -> None:
    rows = [row for folder in folders for row in make_rows(Path(folder))]
    sys.stdout.write(format_csv(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
