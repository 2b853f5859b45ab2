"""`hedera demo`, which ./test.sh --demo runs: one pattern under three schemes, in about a minute."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import results_option, tell_user, timed
from harness.cli.sweep import sweep
from harness.run.spec import RunSpec
from hedera.options import field_options, quiet_option
from plots.figures import FOLDER

PATTERN = "published:stride4"
"""Every flow crosses the core, and the paper has bars for it, which are marked beside ours."""
SCHEMES = "nonblocking,ecmp,hedera-sa"
SECONDS = 15.0
"""Long enough for seven rounds of scheduling; the first one is before the measured part."""


@click.command()
@field_options(RunSpec, "time seed")
@results_option
@quiet_option
@click.pass_context
def demo(context: click.Context, time: str, seed: int, results: Path) -> None:
    """One pattern (stride(4)) under the control, ECMP and Hedera, 15 s of traffic each: about a minute.

    The same as a sweep of three runs, for a first look; then the table, and the picture beside the published bars.
    """
    kind = timed(RunSpec("ecmp", PATTERN, time=time)).time
    tell_user("three runs of the same 16 flows: on one big switch (the control), by ECMP's hash, and moved by Hedera")
    # A folder for each: unlike runs are not mixed.
    name = f"demo-{kind}" + (f"-seed{seed}" if seed != 1 else "")
    context.invoke(
        sweep, trials=1, seconds=SECONDS, patterns=PATTERN, schemes=SCHEMES, name=name,
        results=results, time=kind, seed=seed,
    )  # fmt: skip
    click.echo(f"the picture: {results / name / FOLDER / 'figure9.png'}")
