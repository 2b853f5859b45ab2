"""`hedera grade`."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import tell_user
from harness.errors import UnfitMachine, UserMistake
from hedera.options import in_words, json_option
from hedera.text import one_line
from results.files import write_whole
from results.output import progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from classroom.grading import Checks, Grade

SEED = "HEDERA_GRADE_SEED"


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
    type=click.Choice(("csv", "gradescope", "prairielearn", "classroom50")),
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
    """Grade submissions: folders with demand.py, first_fit.py, annealing.py, loop.py and scheduler.py, or some of
    them; or one folder that holds such folders.

    Each submission runs in its own process (if root grades: as an unprivileged user of its own). It can reach nothing
    of the machine but Python, and no network; time, memory and files are limited. None can affect another's grade.

    After an interruption grades.csv has those that were graded.

    Example: hedera grade submissions/ --seed 20261121
    """
    from classroom.cases import KNOWN, PUBLIC
    from classroom.formats import FORMATS
    from classroom.grading import Class, left_out, submissions
    from classroom.pool import graded
    from classroom.process import Unfit
    from classroom.sandbox import NOT_PROTECTED, prepared, require_closed
    from results.output import wide_console, write_csv

    if seed == PUBLIC:
        raise UserMistake(KNOWN)
    os.environ.pop(SEED, None)  # without isolation, submissions see the environment
    found = submissions(folders)
    if others := left_out(folders, found):
        tell_user(f"not graded, because they are not folders: {one_line(', '.join(others))}")
    if len({folder.resolve().name for folder in found}) < len(found):
        raise UserMistake("two submissions have the same name: grade their folders separately, each with its own --out")
    out.mkdir(parents=True, exist_ok=True)
    made: dict[Path, tuple[Grade, Checks]] = {}
    jobs = min(jobs or len(os.sched_getaffinity(0)), len(found))
    path = out / "grades.csv"

    with ExitStack() as stack:
        try:
            place = None
            if unprotected:
                for sentence in NOT_PROTECTED:
                    tell_user("unprotected: " + sentence.format(who="nobody" if os.geteuid() == 0 else "you"))
            else:
                place = stack.enter_context(prepared([*{folder.parent for folder in found}, out]))
                require_closed(place)
            tell_user(f"{len(found)} submissions to grade, {jobs} at once")
            done = stack.enter_context(progress_bar("grading", len(found)))
            grades = graded(Class(seed, seconds, place), jobs, found)
            for folder, one in stack.enter_context(closing(grades)):
                made[folder] = one
                # After each, so that nothing is lost.
                write_csv(path, [made[folder][0] for folder in found if folder in made])
                done(len(made))
        except Unfit as error:
            raise UnfitMachine(f"{error}; or use --unprotected, for submissions that you trust") from None
    for folder in found if form != "csv" else ():
        told = json.dumps(FORMATS[form](*made[folder]), indent=1, allow_nan=False)
        write_whole(out / form / f"{_short(folder.resolve().name)}.json", told + "\n")
    if as_json:
        rows = []
        for folder in found:
            summary, checks = made[folder]
            parts = {part: [asdict(c) | {"passed": c.passed} for c in each] for part, each in checks.items()}
            rows.append({**asdict(summary), "checks": parts})
        click.echo(json.dumps({"seed": seed, "rows": rows}, allow_nan=False))
    else:
        wide_console().print(_table([made[folder][0] for folder in found]), highlight=False)
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

    parts = ("demand", "first_fit", "annealing", "loop", "contract", "quality")
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
