"""The commands `hedera scheduler new`, `hedera scheduler check`, `hedera assignment pack` and `hedera grade`."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from classroom.template import MILESTONES, SCHEDULER, write_template
from hedera.options import in_words, json_option
from hedera.text import one_line
from results.files import write_whole
from results.output import progress_bar

if TYPE_CHECKING:
    from rich.table import Table

    from classroom.grading import Checks, Grade
    from classroom.submission import Submission

SERVICES = ("gradescope", "prairielearn", "classroom50")
SEED = "HEDERA_GRADE_SEED"
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
    from classroom.cases import cases
    from classroom.checks import ANSWER, INPUTS, RAISES, run_checks
    from classroom.process import Misbehaved, own
    from classroom.submission import Submission, read_code

    where, _, attribute = name.rpartition(":")
    if not where.endswith(".py") or not attribute.isidentifier():
        raise ValueError(f"give FILE.py:CLASS, not {name!r}")
    code = read_code(Path(where), attribute)
    if missing := asked_for(code.source):
        click.echo(f"note: `hedera grade` does not have {', '.join(sorted(missing))}", err=True)
    rows: list[dict[str, Any]] = []
    with Submission(own, code) as submission:
        try:
            submission.load()
        except Misbehaved as error:
            if error.kind == "absent":  # the checks report any other mistake
                raise ValueError(str(error)) from None
        checks = run_checks(submission, cases(seed)[MILESTONES[milestone].file if milestone else SCHEDULER])
        for one in checks:
            click.echo(one, err=True)
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
            for scheme in (*quality.BESIDE, submission):
                scores.append(quality.score(config, scheme))
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


class UnfitForGrading(click.ClickException):
    """This machine cannot isolate submissions."""

    exit_code = 3


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--seed",
    required=True,
    type=click.IntRange(0),
    envvar=SEED,
    help="Fixes patterns and random draws; keep it secret. The environment may have it as HEDERA_GRADE_SEED.",
)
@click.option(
    "--seconds",
    default=120.0,
    show_default=True,
    type=click.FloatRange(1, 3600),
    help="Limit of processor time for each file of a submission; of real time it gets ten times as much.",
)
@click.option("--jobs", type=click.IntRange(1, 64), help="Submissions at once.  [default: one for each processor]")
@click.option(
    "--format",
    "form",
    type=click.Choice(("csv", *SERVICES)),
    default="csv",
    show_default=True,
    help="Besides grades.csv, write a file for each submission in this service's format.",
)
@click.option(
    "--unprotected",
    is_flag=True,
    help="Grade without isolation: limits apply, but submissions can reach files and the network.",
)
@click.option(
    "--out",
    default=Path("results/grades"),
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for grades.csv.",
)
@json_option
@in_words
def grade(
    folders: tuple[Path, ...],
    seed: int,
    seconds: float,
    jobs: int | None,
    form: str,
    unprotected: bool,
    out: Path,
    as_json: bool,
) -> None:
    """Grade submissions: folders with demand.py, first_fit.py, annealing.py and scheduler.py, or some of
    them; or one folder that holds such folders.

    Each submission runs in its own process (if root grades: as an unprivileged user of its own). It can reach nothing
    of the machine but Python, and no network; time, memory and files are limited. None can affect another's grade.

    After an interruption grades.csv has those that were graded.

    Example: hedera grade submissions/ --seed 20261121
    """
    from classroom.cases import KNOWN, PUBLIC
    from classroom.formats import FORMATS
    from classroom.grading import Class, graded, left_out, submissions
    from classroom.process import Unfit
    from classroom.sandbox import NOT_PROTECTED, prepared, require_closed
    from results.output import wide_console, write_csv

    if seed == PUBLIC:
        raise ValueError(KNOWN)
    os.environ.pop(SEED, None)  # without isolation, submissions see the environment
    found = submissions(folders)
    if others := left_out(folders, found):
        click.echo(f"not graded, because they are not folders: {one_line(', '.join(others))}", err=True)
    if len({folder.resolve().name for folder in found}) < len(found):
        raise ValueError("two submissions have the same name: grade their folders separately, each with its own --out")
    out.mkdir(parents=True, exist_ok=True)
    made: dict[int, tuple[Grade, Checks]] = {}
    jobs = min(jobs or len(os.sched_getaffinity(0)), len(found))
    path = out / "grades.csv"

    with ExitStack() as stack:
        try:
            place = None
            if unprotected:
                for sentence in NOT_PROTECTED:
                    click.echo(
                        "unprotected: " + sentence.format(who="nobody" if os.geteuid() == 0 else "you"), err=True
                    )
            else:
                place = stack.enter_context(prepared([*{folder.parent for folder in found}, out]))
                require_closed(place)
            click.echo(f"{len(found)} submissions to grade, {jobs} at once", err=True)
            done = stack.enter_context(progress_bar("grading", len(found)))
            grades = graded(Class(seed, seconds, place), jobs, found)
            for n, one in stack.enter_context(closing(grades)):
                made[n] = one
                write_csv(path, [asdict(made[n][0]) for n in sorted(made)])  # after each, so that nothing is lost
                done(len(made))
        except Unfit as error:
            raise UnfitForGrading(f"{error}; or use --unprotected, for submissions that you trust") from None
    for n, folder in enumerate(found if form != "csv" else ()):
        told = json.dumps(FORMATS[form](*made[n]), indent=1, allow_nan=False)
        write_whole(out / form / f"{_short(folder.resolve().name)}.json", told + "\n")
    if as_json:
        rows = []
        for summary, checks in (made[n] for n in sorted(made)):
            parts = {part: [asdict(c) | {"passed": c.passed} for c in each] for part, each in checks.items()}
            rows.append({**asdict(summary), "checks": parts})
        click.echo(json.dumps({"seed": seed, "rows": rows}, allow_nan=False))
    else:
        wide_console().print(_table([made[n][0] for n in sorted(made)]), highlight=False)
    click.echo(f"written: {path}" + (f" and {out / form}" if form != "csv" else ""), err=as_json)


def _short(name: str) -> str:
    """A name of a file that may have an ending; the folder's, or where that is too long what no other has."""
    if len(os.fsencode(name)) <= 200:
        return name
    return f"{name[:40]}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"


def _table(grades: Sequence[Grade]) -> Table:
    """A line for each submission; parts in percent."""
    from rich.markup import escape

    from results.output import plain_table

    parts = ("demand", "first_fit", "annealing", "contract", "quality")
    headings = ("submission", "points", *(part.replace("_", " ") for part in parts), "% of bound")
    made = plain_table("Grades: points of 100, parts in %", *headings)
    for column in made.columns:
        column.min_width, column.no_wrap = len(str(column.header)), True
    made.add_column("remarks", overflow="ellipsis", no_wrap=True, max_width=60)
    for one in grades:
        cells = ["-" if (part := getattr(one, name)) is None else f"{100 * part:.0f}" for name in parts]
        bound = "-" if one.percent_of_bound is None else f"{one.percent_of_bound:.1f}"
        made.add_row(escape(one.submission), f"{one.points:.1f}", *cells, bound, escape(one.remarks))
    return made
