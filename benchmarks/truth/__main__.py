"""Makes the data of docs/virtual-time-truth.md again, in results/virtual.

    python -m benchmarks.truth [theory] [ns3]           half an hour of one processor; needs no root

What was played or run is kept in --kept, and not made again.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks.truth import ns3, theory
from harness.jobs import guests
from hedera.options import in_words
from hifi.stage import played
from results.output import write_csv
from topos.fattree import FatTree

if TYPE_CHECKING:
    from harness.jobs.guests import Ground


def make_theory(ground: Ground | None, kept: Path, out: Path) -> list[Path]:
    seen = [one for scenes in theory.scenes() for one in played(scenes, ground, kept)]
    incasts = [row for one in seen if theory.kind(one) == "incast" for row in theory.incasts(one)]
    lasting = [theory.lasting(one) for one in seen if theory.kind(one) != "incast"]
    return [write_csv(out / name, rows) for name, rows in (("lasting.csv", lasting), ("incast.csv", incasts)) if rows]


def make_ns3(ground: Ground | None, kept: Path, out: Path) -> list[Path]:
    rows, flows = [], []
    for work in ns3.WORKLOADS:
        if (run := ns3.in_guest(work, ground, kept)) is not None:
            times, sizes = ns3.times(run, FatTree(run.spec.k))
            rows += ns3.compare(work, times, sizes)
            flows += [
                ns3.Flow(work.mbps, work.congestion_control, *key, size, *(one.get(key) for one in times.values()))
                for key, size in sizes.items()
            ]
    return [write_csv(out / "ns3.csv", rows), write_csv(out / "ns3_flows.csv", flows)] if rows else []


PARTS = {"theory": make_theory, "ns3": make_ns3}


@click.command(help=__doc__)
@click.argument("parts", nargs=-1, type=click.Choice([*PARTS]), metavar="[PART ...]")
@click.option("--kept", type=click.Path(path_type=Path), default=Path("results/runs/truth"), show_default=True)
@click.option("--only-kept", is_flag=True, help="Make no guest: write what is kept.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/virtual"), show_default=True)
@in_words
def main(parts: tuple[str, ...], kept: Path, only_kept: bool, out: Path) -> None:
    ground = None if only_kept else guests.prepare(lambda sentence: print(sentence, file=sys.stderr))
    files = [file for part in parts or PARTS for file in PARTS[part](ground, kept, out)]
    for file in files:
        click.echo(file)


if __name__ == "__main__":
    main()
