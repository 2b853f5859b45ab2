"""The commands `hedera scheduler new` and `hedera scheduler check`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from classroom.template import MILESTONES, write_template
from hedera.options import in_words, json_option
from results.output import progress_bar

if TYPE_CHECKING:
    from classroom.code import Code
    from classroom.submission import Submission
    from classroom.verdict import Check

_milestone = click.option("--milestone", type=click.Choice(list(MILESTONES)), help="A milestone on the way to Hedera.")


@click.group()
def scheduler() -> None:
    """Write a scheduler of your own: a template to start from, and checks that explain mistakes.

    Example: hedera scheduler new my_scheduler.py && hedera scheduler check my_scheduler.py:MyScheduler
    """


@scheduler.command()
@click.argument("file", type=click.Path(path_type=Path))
@_milestone
@in_words
def new(file: Path, milestone: str | None) -> None:
    """Write a commented template. It already runs, as a scheduler that leaves every flow on its hashed path."""
    name = write_template(file, milestone)
    step = f" --milestone {milestone}" if milestone else ""
    click.echo(f"written: {file}\nnext: hedera scheduler check {name}{step}")


@scheduler.command()
@click.argument("name", metavar="FILE.py:CLASS")
@_milestone
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Fixes every draw.")
@click.option("--quick", is_flag=True, help="The contract, and quality at k = 4 alone.")
@click.option(
    "--out",
    default=Path("results/scheduler"),
    type=click.Path(path_type=Path, file_okay=False),
    show_default=True,
    help="Folder for the picture.",
)
@json_option
@in_words
def check(name: str, milestone: str | None, seed: int, quick: bool, out: Path, as_json: bool) -> None:
    """Check in under a minute whether a scheduler keeps its contract, and how good it is in the simulator.

    Shows the smallest input that breaks the contract; the exit status is then 1. Needs no root. With --milestone:
    check whether a step towards Hedera does what its section of the paper says.
    """
    from classroom.code import find_code
    from classroom.histories import leave_nothing
    from classroom.lent import asked_for

    code = find_code(name)
    leave_nothing()
    if missing := asked_for(code.source):
        click.echo(f"note: `hedera grade` does not have {', '.join(sorted(missing))}", err=True)
    if milestone:
        checks = _milestone_checks(code, milestone, seed)
        rows: list[dict[str, Any]] = []
    else:
        checks, rows = _all_of_it(code, seed, quick, out, as_json)
    if as_json:
        told = [{**asdict(one), "passed": one.passed} for one in checks]
        click.echo(json.dumps({"checks": told, "rows": rows}, allow_nan=False))
    if not all(one.passed or one.weakness for one in checks):
        raise SystemExit(1)
    if milestone and not as_json:
        click.echo(f"{MILESTONES[milestone].title} (section {MILESTONES[milestone].section}): all checks passed")


def _milestone_checks(code: Code, milestone: str, seed: int) -> list[Check]:
    from classroom.milestones import check_milestone
    from classroom.sandbox import own
    from classroom.submission import Submission

    with Submission(own(), code, call_s=20.0) as submission:
        _require_there(submission)
        checks = check_milestone(milestone, submission, seed)
    tell_checks(checks)
    return checks


def _require_there(submission: Submission) -> None:
    """Raise ValueError if the file lacks the named class or function. The checks report any other mistake."""
    from classroom.process import Misbehaved

    try:
        submission.load()
    except Misbehaved as error:
        if error.kind == "absent":
            raise ValueError(str(error)) from None


def _all_of_it(
    code: Code, seed: int, quick: bool, out: Path, as_json: bool
) -> tuple[list[Check], list[dict[str, Any]]]:
    from classroom import quality
    from classroom.contract import ANSWER, INPUTS, RAISES, check_contract, check_times
    from classroom.sandbox import own
    from classroom.submission import Submission
    from results.output import wide_console

    with Submission(own(), code, call_s=20.0) as submission:
        _require_there(submission)
        checks = check_contract(submission, lambda: Submission(own(1), code), seed)
        tell_checks(checks)
        if not all(one.passed for one in checks if one.name in (RAISES, ANSWER, INPUTS)):
            click.echo("its quality will be measured once these are fixed", err=True)
            return checks, []
        if not quick:
            late, times = check_times(submission, seed)
            checks.append(late)
            spent = (
                f"k = {one.k}: " + ("given up" if one.processor_s is None else f"{one.processor_s:.2f} s")
                for one in times
            )
            tell_checks([late], "; ".join(spent))
        runs = list(quality.configs((4,) if quick else (4, 8, 16), seed))
        scores = []
        with progress_bar("simulating", len(runs) * (len(quality.BESIDE) + 1)) as done:
            for config in runs:
                for scheme in quality.BESIDE:
                    scores.append(quality.simulated(config, scheme))
                    done(len(scores))
                scores.append(quality.submitted(config, submission))
                done(len(scores))
    rows = [{**asdict(score), "share": score.share} for score in scores]
    if not as_json:
        wide_console().print(quality.table(scores), highlight=False)
        for score in scores:
            if score.words:
                click.echo(f"k = {score.k}, {score.traffic}: {score.words}")
    picture = quality.draw(scores, out / f"{code.attribute}.png")
    click.echo(f"written: {picture}", err=as_json)
    return checks, rows


def tell_checks(checks: Sequence[Check], more: str = "") -> None:
    """Print the findings on standard error, at once."""
    for one in checks:
        mark = "ok  " if one.passed else ("weak" if one.weakness else "NO  ")
        click.echo(f"{mark} {one.name} ({one.section})" + (f": {more}" if more else ""), err=True)
        if not one.passed:
            click.echo(f"       {one.words}", err=True)
        for line in one.example.splitlines():
            click.echo(f"         {line}", err=True)
