"""`hedera topology`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.run.spec import RunSpec
from hedera.options import field_options, in_words


@click.command()
@click.argument("run", required=False, type=click.Path(exists=True, path_type=Path))
@field_options(RunSpec, "k")
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("topology.svg"),
    show_default=True,
    metavar="FILE.svg",
    help="The file to write.",
)
@in_words
def topology(run: Path | None, k: int, picture: Path) -> None:
    """Draw the fat-tree with the names of its switches and hosts. With a RUN (its folder, or its run.json), also show
    how much every link carried.

    \b
    hedera topology
    hedera topology results/runs/demo-virtual/published_stride4/ecmp/trial-1 --picture ecmp.svg
    """
    from plots import topology as drawn
    from results.record import read
    from topos.fattree import FatTree

    if run is None:
        click.echo(drawn.write(picture, FatTree(k)))
        return
    file = run / "run.json" if run.is_dir() else run
    try:
        found = read(file)
    except ValueError as reason:
        raise ValueError(f"{file} {reason}; a run's folder is below results/runs/NAME") from None
    click.echo(drawn.write(picture, FatTree(found.spec.k), found))
