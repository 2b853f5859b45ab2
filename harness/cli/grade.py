"""`hedera grade`."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from files.rights import make_folder
from files.writer import write_whole
from harness.cli.options import tell_user
from harness.errors import UnfitMachine, UserMistake
from hedera.options import in_words, json_option
from hedera.text import one_line
from results.output import progress_bar

if TYPE_CHECKING:
    from harness.sweep.milestone import Emulated

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
@click.option(
    "--time",
    type=click.Choice(("real", "virtual")),
    default="real",
    show_default=True,
    help="Only real: grading makes no networks, and limits how long submissions compute.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    help="Submissions at once.  [default: one for each processor]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("csv", "gradescope", "prairielearn", "classroom50")),
    default="csv",
    show_default=True,
    help="Besides grades.csv, write a file for each submission in this service's format.",
)
@click.option("--again", is_flag=True, help="Grade all of them again, even those already graded.")
@click.option(
    "--emulate",
    is_flag=True,
    help="Also grade the emulated milestone: scheduler.py on real TCP in virtual time (emulated.csv); a minute each.",
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
    time: str,
    jobs: int | None,
    form: str,
    again: bool,
    emulate: bool,
    unprotected: bool,
    out: Path,
    as_json: bool,
) -> None:
    """Grade submissions: folders with demand.py, first_fit.py, annealing.py, loop.py and scheduler.py, or some of
    them; or one folder that holds such folders.

    Each submission runs in its own process (if root grades: as an unprivileged user of its own). It can reach nothing
    of the machine but Python, and no network; time, memory and files are limited. None can affect another's grade.

    After an interruption the same command continues where it stopped. A submission that changed is graded again.

    Example: sudo hedera grade submissions/ --seed 20261121
    """
    if time == "virtual":
        raise UserMistake(
            "grading needs real time: in virtual time computing takes none, so no time limit would end an endless "
            "loop, and the kernel there has no system call filter to isolate submissions with"
        )
    from classroom import grading, public
    from classroom.crew import graded
    from classroom.estimate import estimate_s
    from classroom.formats import FORMATS
    from classroom.histories import leave_nothing
    from classroom.probe import require_closed
    from classroom.sandbox import Unfit, closed, prepared, unclosed
    from classroom.store import Kept, Store
    from results.output import wide_console, write_csv

    if seed == public.SEED:
        raise UserMistake(public.KNOWN)
    os.environ.pop(SEED, None)  # without isolation, submissions see the environment
    found = grading.submissions(folders)
    if others := grading.left_out(folders, found):
        tell_user(f"not graded, because they are not folders: {one_line(', '.join(others))}")
    if len({folder.resolve().name for folder in found}) < len(found):
        raise UserMistake("two submissions have the same name: grade their folders separately, each with its own --out")
    make_folder(out)
    make_folder(out / "kept")
    leave_nothing()
    store = Store(out / "kept", f"{seed} {seconds} {unprotected}")
    kept: dict[Path, Kept | None] = {folder: None if again else store.find(folder) for folder in found}
    left = [folder for folder, one in kept.items() if one is None]
    made = {folder: (one.grade, one.checks) for folder, one in kept.items() if one is not None}
    jobs = min(jobs or len(os.sched_getaffinity(0)), len(left) or 1)
    path = out / "grades.csv"
    rows_emulated: list[Emulated] = []

    def write() -> None:
        if made:
            write_csv(path, [made[folder][0] for folder in found if folder in made])

    with ExitStack() as stack:
        stack.callback(write)  # however it ends
        try:
            place = None if unprotected else stack.enter_context(prepared())
            hidden = tuple({folder.parent for folder in found} | {out})
            if place is not None:
                require_closed(closed(place, 1, hidden=hidden))
            else:
                for sentence in unclosed(1).unprotected:
                    tell_user(f"unprotected: {sentence}")
            course = grading.Class(seed, seconds, place, hidden)
            tell_user(_plan(len(left), len(made), jobs, estimate_s(left, course, jobs)))
            done = stack.enter_context(progress_bar("grading", len(found)))
            done(len(made))
            for folder, one, checks in stack.enter_context(closing(graded(left, course, jobs))):
                store.keep(folder, one, checks)  # first: Ctrl-C may come between the two
                made[folder] = one, checks
                write()  # after each, so that nothing is lost
                done(len(made))
            if emulate:
                from harness.sweep.milestone import emulated

                done = stack.enter_context(progress_bar("emulating", len(found)))
                for row in emulated(found, course, tell_user):
                    rows_emulated.append(row)
                    write_csv(out / "emulated.csv", rows_emulated)
                    done(len(rows_emulated))
        except Unfit as error:
            raise UnfitMachine(f"{error}; or use --unprotected, for submissions that you trust") from None
    if form != "csv":
        make_folder(out / form)
        for folder, (one, checks) in made.items():
            told = json.dumps(FORMATS[form](one, checks), indent=1, allow_nan=False)
            write_whole(out / form / f"{folder.resolve().name}.json", told + "\n")
    if as_json:
        rows: list[dict[str, Any]] = []
        for folder in found:
            one, checks = made[folder]
            parts = {part: [asdict(c) | {"passed": c.passed} for c in each] for part, each in checks.items()}
            rows.append({**asdict(one), "checks": parts})
        both = {"seed": seed, "rows": rows, "emulated": [asdict(row) for row in rows_emulated]}
        click.echo(json.dumps(both, allow_nan=False))
    else:
        wide_console().print(grading.table([made[folder][0] for folder in found]), highlight=False)
    for row in () if as_json else rows_emulated:
        share = "" if row.percent_of_control is None else f", {row.percent_of_control:.1f} % of the control"
        given = [] if row.points is None else [f"{row.points} points{share}"]
        click.echo(f"emulated: {row.submission}: {'; '.join([*given, *filter(None, [row.remarks])])}")
    click.echo(f"written: {path}" + (f" and {out / form}" if form != "csv" else ""), err=as_json)


def _plan(left: int, made: int, jobs: int, seconds: float) -> str:
    """How many submissions there are, and about how long grading them will take."""
    told = f"{left} submissions to grade, {jobs} at once: typically about {max(1, round(seconds / 60))} min"
    return told + (f"; {made} already graded" if made else "")
