"""The commands `hedera scheduler new`, `hedera scheduler check` and `hedera assignment pack`."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from classroom.template import MILESTONES, write_template
from hedera.options import in_words, json_option
from results.output import progress_bar

if TYPE_CHECKING:
    from classroom.submission import Submission

SERVICES = ("gradescope", "prairielearn", "classroom50")
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
@json_option
@in_words
def check(name: str, milestone: str | None, seed: int, quick: bool, as_json: bool) -> None:
    """Check in under a minute whether a scheduler keeps its contract, and how good it is in the simulator.

    Shows a small input that breaks the contract; the exit status is then 1. Needs no root. With --milestone: check
    whether a step towards Hedera does what its section of the paper says.
    """
    from classroom.allowed import asked_for
    from classroom.cases import SCHEDULER, cases
    from classroom.checks import run_checks
    from classroom.contract import ANSWER, INPUTS, RAISES, check_contract
    from classroom.process import Misbehaved, own
    from classroom.submission import Submission, find_code

    code = find_code(name)
    if missing := asked_for(code.source):
        click.echo(f"note: `hedera grade` does not have {', '.join(sorted(missing))}", err=True)
    rows: list[dict[str, Any]] = []
    with Submission(own, code) as submission:
        try:
            submission.load()
        except Misbehaved as error:
            if error.kind == "absent":  # the checks report any other mistake
                raise ValueError(str(error)) from None
        asked = cases(seed)[MILESTONES[milestone].file if milestone else SCHEDULER]
        checks = run_checks(submission, asked) if milestone else check_contract(submission, asked)
        for one in checks:
            click.echo("\n".join(one.lines()), err=True)
        if not milestone and not all(one.passed for one in checks if one.name in (RAISES, ANSWER, INPUTS)):
            click.echo("its quality will be measured once these are fixed", err=True)
        elif not milestone:
            rows = _quality(submission, (4,) if quick else (4, 8, 16), seed, as_json)
    if as_json:
        told = [{**asdict(one), "passed": one.passed} for one in checks]
        click.echo(json.dumps({"checks": told, "rows": rows}, allow_nan=False))
    if not all(one.passed or one.weakness for one in checks):
        raise SystemExit(1)
    if milestone and not as_json:
        click.echo(f"{MILESTONES[milestone].title} (section {MILESTONES[milestone].section}): all checks passed")


def _quality(submission: Submission, sizes: tuple[int, ...], seed: int, quiet: bool) -> list[dict[str, Any]]:
    """Simulate it beside the project's own schemes, and print what came of it."""
    from classroom import quality
    from results.output import wide_console

    runs, scores = list(quality.configs(sizes, seed)), []
    with progress_bar("simulating", len(runs) * (len(quality.BESIDE) + 1)) as done:
        for config in runs:
            for scheme in (*quality.BESIDE, None):
                one = quality.simulated(config, scheme) if scheme else quality.submitted(config, submission)
                scores.append(one)
                done(len(scores))
    if not quiet:
        wide_console().print(quality.table(scores), highlight=False)
        for score in scores:
            if score.words:
                click.echo(f"k = {score.k}, {score.traffic}: {score.words}")
    return [{**asdict(score), "share": score.share} for score in scores]


@click.group()
def assignment() -> None:
    """Make the files of a class: the handout, and the grader.

    Example: hedera assignment pack course --for gradescope
    """


@assignment.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--for", "service", type=click.Choice(SERVICES), help="Also make this service's grader package.")
@click.option("--seed", type=click.IntRange(0), help="Seed of grading.  [default: random]")
@in_words
def pack(folder: Path, service: str | None, seed: int | None) -> None:
    """Make FOLDER/handout for students (templates, checks, documents; no solutions), and FOLDER/grader.

    The grader contains the solutions and the seed: keep it from students.
    """
    from classroom.cases import KNOWN, PUBLIC
    from classroom.packing import pack_grader, pack_handout

    if seed == PUBLIC:
        raise ValueError(KNOWN)
    if folder.exists():
        raise ValueError(f"{folder} already exists, and is not overwritten")
    pack_handout(folder / "handout")
    click.echo(f"written: {folder / 'handout'}")
    if service:
        # Checks show inputs that are drawn from the seed: a short seed could be found by trying all.
        drawn = secrets.randbelow(10**18) if seed is None else seed
        made = pack_grader(folder / "grader", service, drawn)
        click.echo(f"written: {made}, which grades with --seed {drawn}; keep it from students")
