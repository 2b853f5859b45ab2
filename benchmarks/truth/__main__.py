"""Makes the data of docs/virtual-time-truth.md again, and its pictures, in results/virtual.

    python -m benchmarks.truth [PART ...]                   all parts: an hour of one processor; needs no root
    sudo .venv/bin/python -m benchmarks.truth real          some scenes in real time, four minutes
    python -m benchmarks.truth sweeps --real DIR --virtual DIR

Parts: theory, repeats, ns3, second-kernel, larger, and sweeps, which keeps the summaries of two sweeps of Figure 9.
What was played or run is kept in --kept, and not made again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks.flow_by_flow import compare
from benchmarks.truth import ns3, runs, theory
from files.rights import make_folder
from files.writer import write_whole
from harness.scenes.stage import played, played_here
from harness.sweep import guests
from hedera.options import in_words
from plots import conditions, truth
from results.output import write_csv
from topos.fattree import FatTree

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from harness.sweep.guests import Ground

SWEEP_FILES = ("summary.csv", "sweep.json")
SIDES = ("real-10mbps", "virtual-10mbps")


def _csv(path: Path, rows: Sequence[DataclassInstance]) -> list[Path]:
    """Written where there is something to write."""
    return [write_csv(path, rows)] if rows else []


def make_theory(ground: Ground | None, kept: Path, out: Path) -> list[Path]:
    """Links alone."""
    lasting, incasts = [], []
    for scenes in theory.scenes():
        for seen in played(scenes, ground, kept):
            kind = seen.scene.name.partition("-")[0]
            if kind == "incast":
                incasts += theory.incasts(seen)
            else:
                lasting.append(theory.lasting(kind, seen))
    return _csv(out / "lasting.csv", lasting) + _csv(out / "incast.csv", incasts)


def make_repeats(ground: Ground | None, kept: Path, out: Path) -> list[Path]:
    """Seeds twice, and against each other."""
    made = {one.name: runs.done(one, ground, kept) for one in runs.repeats()}
    found = {name: run for name, run in made.items() if run is not None}
    pairs = []
    for scheme in dict.fromkeys(run.scheme for run in found.values()):
        names = [f"repeat-{scheme}-{seed}" for seed in runs.PAIRS]
        both = [name for name in names if f"{name}a" in found and f"{name}b" in found]
        pairs += [runs.pair("same seed", found[f"{name}a"], found[f"{name}b"]) for name in both]
        pairs += [runs.pair("other seed", found[f"{a}a"], found[f"{b}a"]) for a, b in combinations(both, 2)]
    rows = [runs.row(name, run) for name, run in found.items()]
    return _csv(out / "repeats.csv", rows) + _csv(out / "pairs.csv", pairs)


def make_ns3(ground: Ground | None, kept: Path, out: Path) -> list[Path]:
    """One workload, flow by flow."""
    rows, flows = [], []
    for work in ns3.WORKLOADS:
        run = ns3.in_guest(work, ground, kept)
        if run is None:
            continue
        times, sizes = ns3.times(run, FatTree(run.spec.k))
        told = compare(times, sizes)
        rows += [ns3.Row(work.mbps, work.congestion_control, **vars(row)) for row in told]
        flows += [
            ns3.Flow(work.mbps, work.congestion_control, *key, size, *(one.get(key) for one in times.values()))
            for key, size in sizes.items()
        ]
    return _csv(out / "ns3.csv", rows) + _csv(out / "ns3_flows.csv", flows)


def make_second_kernel(ground: Ground | None, kept: Path, out: Path) -> list[Path]:
    """DCTCP on a fat-tree."""
    return _rows(runs.second_kernel(), ground, kept, out / "second_kernel.csv")


def make_larger(ground: Ground | None, kept: Path, out: Path) -> list[Path]:
    """Larger trees."""
    return _rows(runs.larger(), ground, kept, out / "larger.csv")


def _rows(ones: Iterable[runs.Once], ground: Ground | None, kept: Path, path: Path) -> list[Path]:
    made = [(one.name, runs.done(one, ground, kept)) for one in ones]
    return _csv(path, [runs.row(name, run) for name, run in made if run is not None])


PARTS = {
    "theory": make_theory,
    "repeats": make_repeats,
    "ns3": make_ns3,
    "larger": make_larger,
    "second-kernel": make_second_kernel,
}


def make_real(kept: Path, out: Path, only_kept: bool) -> list[Path]:
    """Some scenes in real time."""
    rows = [
        theory.lasting(scene.name.partition("-")[0], seen)
        for scene in theory.in_real_time()
        if (seen := played_here(scene, kept, make=not only_kept)) is not None
    ]
    return _csv(out / "real.csv", rows)


def keep_sweeps(folders: Iterable[Path], out: Path) -> list[Path]:
    """Copy the summaries of sweeps, and draw one against the other."""
    files = []
    for folder, name in zip(folders, SIDES, strict=True):
        make_folder(out / name)
        for file in SWEEP_FILES:
            drawn = folder / "figures" / file  # where a sweep, or `hedera report`, puts its summary
            source = drawn if drawn.exists() else folder / file
            write_whole(out / name / file, source.read_bytes())
            files.append(out / name / file)
    return files + truth.draw_sweeps(conditions.compare([out / name for name in SIDES]), out / "sweeps.png")


@click.command(help=__doc__)
@click.argument("parts", nargs=-1, type=click.Choice([*PARTS, "real", "sweeps"]), metavar="[PART ...]")
@click.option("--real", type=click.Path(path_type=Path), help="A sweep of Figure 9 in real time.")
@click.option("--virtual", type=click.Path(path_type=Path), help="The same in virtual time.")
@click.option("--kept", type=click.Path(path_type=Path), default=Path("results/runs/truth"), show_default=True)
@click.option("--only-kept", is_flag=True, help="Make no guest: write what is kept.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/virtual"), show_default=True)
@in_words
def main(
    parts: tuple[str, ...], real: Path | None, virtual: Path | None, kept: Path, only_kept: bool, out: Path
) -> None:
    """Make, and say what was written."""
    files = []
    if asked := [part for part in PARTS if part in parts or not parts]:
        ground = None if only_kept else guests.prepare(lambda sentence: print(sentence, file=sys.stderr))
        for part in asked:
            files += PARTS[part](ground, kept, out)
        files += truth.draw(out)
    if "real" in parts:
        files += make_real(kept, out, only_kept)
    if "sweeps" in parts:
        if real is None or virtual is None:
            raise click.UsageError("sweeps takes --real and --virtual, folders of sweeps with a summary.csv")
        files += keep_sweeps((real, virtual), out)
    for file in files:
        click.echo(file)


if __name__ == "__main__":
    main()
