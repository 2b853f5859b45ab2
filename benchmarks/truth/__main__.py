"""Makes the data of docs/virtual-time-truth.md again, in results/virtual.

    python -m benchmarks.truth [theory] [ns3]           half an hour of one processor; needs no root

What was played or run is kept in --kept, and not made again.
"""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.truth import ns3, theory
from hedera.options import in_words
from record.output import write_csv
from studies.hifi.scene import played


def make_theory(kept: Path, out: Path) -> list[Path]:
    seen = [one for scenes in theory.scenes() for one in played(scenes, kept)]
    incasts = [row for one in seen if theory.kind(one) == "incast" for row in theory.incasts(one)]
    lasting = [theory.lasting(one) for one in seen if theory.kind(one) != "incast"]
    return [write_csv(out / "lasting.csv", lasting), write_csv(out / "incast.csv", incasts)]


def make_ns3(kept: Path, out: Path) -> list[Path]:
    rows, flows = [], []
    for work in ns3.WORKLOADS:
        run = ns3.in_guest(*work, kept)
        times, sizes = ns3.times(run)
        rows += ns3.compare(run, times, sizes)
        flows += ns3.flows(run, times, sizes)
    return [write_csv(out / "ns3.csv", rows), write_csv(out / "ns3_flows.csv", flows)]


PARTS = {"theory": make_theory, "ns3": make_ns3}


@click.command(help=__doc__)
@click.argument("parts", nargs=-1, type=click.Choice([*PARTS]), metavar="[PART ...]")
@click.option("--kept", type=click.Path(path_type=Path), default=Path("results/runs/truth"), show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/runs/truth"), show_default=True)
@in_words
def main(parts: tuple[str, ...], kept: Path, out: Path) -> None:
    for part in parts or PARTS:
        for file in PARTS[part](kept, out):
            click.echo(file)


if __name__ == "__main__":
    main()
