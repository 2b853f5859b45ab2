"""The commands `hedera scheduler new`, `hedera scheduler check`, `hedera assignment pack` and `hedera grade`."""

from __future__ import annotations

import json
import os
import secrets
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from record.errors import to_one_line
from record.files import make_folder, write_whole
from record.options import in_words, json_option, to_write
from record.progress import progress_bar

if TYPE_CHECKING:
    from classroom.grading import Grade

SERVICES = ("gradescope", "prairielearn")
SEED = "HEDERA_GRADE_SEED"
UNPROTECTED = (
    "unprotected: submissions run as your user, or as nobody if you are root: they can read what that user can, other "
    "submissions and the project's own schedulers too, have the network, and may leave a process behind"
)


@click.group()
def scheduler() -> None:
    """Write a scheduler of your own: a template to start from, and checks that explain mistakes.

    Example: hedera scheduler new my_scheduler.py && hedera scheduler check my_scheduler.py:MyScheduler
    """


@scheduler.command()
@click.argument("file", type=click.Path(path_type=Path))
@in_words
def new(file: Path) -> None:
    """Write a commented template. It already runs, as a scheduler that leaves every flow on its hashed path."""
    from classroom.packing import write_template

    click.echo(f"written: {file}\nnext: hedera scheduler check {write_template(file)}")


@scheduler.command()
@click.argument("name", metavar="FILE.py:CLASS")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Fixes every draw.")
@click.option("--quick", is_flag=True, help="The contract alone.")
@json_option
@in_words
def check(name: str, seed: int, quick: bool, as_json: bool) -> None:
    """Check in under a minute whether a scheduler keeps its contract, and how much bandwidth it gives.

    Shows a small input that breaks the contract; the exit status is then 1. Needs no root.
    """
    from classroom.cases import make_cases, make_quality_cases
    from classroom.checks import is_measurable, list_findings, measure_quality, run_checks
    from classroom.submission import SCHEDULER, Misbehaved, Submission, read_code, start_own_process

    where, _, attribute = name.rpartition(":")
    if not where.endswith(".py") or not attribute.isidentifier():
        raise ValueError(f"give FILE.py:CLASS, not {name!r}")
    submission, percent = Submission(start_own_process, read_code(Path(where), attribute)), None
    try:
        submission.load()
    except Misbehaved as error:
        if error.kind == "absent":  # the checks report any other mistake
            raise ValueError(str(error)) from None
    checks = run_checks(submission, make_cases(seed)[SCHEDULER])
    click.echo(list_findings(checks), err=True)
    if not is_measurable(checks):
        click.echo("its bandwidth will be measured once these are fixed", err=True)
    elif not quick:
        _, percent, result = measure_quality(submission, make_quality_cases(seed))
        click.echo(result.words or result.measured, err=as_json)
    if as_json:
        each = [check.as_json() for check in checks]
        click.echo(json.dumps({"checks": each, "percent_of_bound": percent}, allow_nan=False))
    if not all(check.passed or check.weakness for check in checks):
        raise SystemExit(1)


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
    """Make FOLDER/handout for students (templates, checks, documents; no solutions), and with --for FOLDER/grader.

    The grader contains the solutions and the seed: keep it from students.
    """
    from classroom.cases import KNOWN, PUBLIC
    from classroom.packing import pack_grader, pack_handout

    if seed == PUBLIC:
        raise ValueError(KNOWN)
    if os.path.lexists(folder):
        raise ValueError(f"{folder} already exists, and is not overwritten")
    pack_handout(folder / "handout")
    click.echo(f"written: {folder / 'handout'}")
    if service:
        # Checks show inputs that are drawn from the seed: a short seed could be found by trying all.
        drawn = secrets.randbelow(10**18) if seed is None else seed
        made = pack_grader(folder / "grader", service, drawn)
        click.echo(f"written: {made}, which grades with --seed {drawn}; keep it from students")


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--seed",
    type=click.IntRange(0),
    envvar=SEED,
    help=f"Fixes all draws; keep it secret. Or {SEED}.  [default: that of the table in --out, or a random one]",
)
@click.option(
    "--seconds", default=120.0, show_default=True, type=click.FloatRange(1, 3600), help="Processor time for each file."
)
@click.option("--jobs", type=click.IntRange(1, 64), help="Submissions at once.  [default: one for each processor]")
@click.option("--format", "form", type=click.Choice(("csv", *SERVICES)), default="csv", help="Also a service's form.")
@click.option("--single", is_flag=True, help="Each folder is one submission, whatever is in it.")
@click.option("--unprotected", is_flag=True, help="Limits alone: submissions can reach files and the network.")
@click.option("--out", default="results/grades", show_default=True, type=click.Path(path_type=Path), help="A folder.")
@json_option
@in_words
def grade(
    folders: tuple[Path, ...], seed: int | None, seconds: float, jobs: int | None, form: str, single: bool,
    unprotected: bool, out: Path, as_json: bool,
) -> None:  # fmt: skip
    """Grade submissions: folders with demand.py, first_fit.py, annealing.py and scheduler.py, or some of
    them; or one folder that holds such folders, zips and tars, also as Moodle, Canvas and Gradescope name them.

    Each submission runs in its own process (if root grades: as an unprivileged user of its own). It can reach nothing
    of the machine but Python, and no network; time, memory and files are limited. None can affect another's grade.

    In --out: grades.csv, feedback/ with a file for each student (both also after an interruption, of those that were
    graded), and checks.csv, the checks that most students failed first. Lines of grades.csv whose students are not
    graded now stay, so that one student can be graded again (checks.csv then stays as it was).

    What you may not read is not graded, and the status is 1.

    Example: hedera grade submissions/ --out grades
    """
    from classroom.cases import KNOWN, PUBLIC
    from classroom.grading import FORMATS, Class, Table, count_failures, format_feedback, grade_all
    from classroom.intake import hand_ins
    from classroom.sandbox import prepared, require_closed, require_reachable
    from classroom.submission import Unfit
    from record.output import write_csv

    if seed == PUBLIC:
        raise ValueError(KNOWN)
    os.environ.pop(SEED, None)  # without isolation, submissions see the environment
    handed_in, others = hand_ins(folders, single)
    if others:
        click.echo(f"not graded, because they are no submissions: {to_one_line(', '.join(others))}", err=True)
    forbidden = [hand_in for hand_in in handed_in if hand_in.forbidden]
    for hand_in in forbidden:
        click.echo(f"not graded: {hand_in.name}: you may not read {hand_in.forbidden}", err=True)
    handed_in = [hand_in for hand_in in handed_in if not hand_in.forbidden]
    if not handed_in:
        raise ValueError("there is nothing to grade that you may read")
    make_folder(to_write(out))
    made: dict[int, Grade] = {}
    table = Table.read(out / "grades.csv", seed)
    seed = table.seed
    jobs = min(jobs or len(os.sched_getaffinity(0)), len(handed_in))
    # A file's name has 255 bytes at most, of which an ending takes some.
    names = [os.fsdecode(os.fsencode(hand_in.name)[:200]) for hand_in in handed_in]

    with ExitStack() as stack:
        try:
            place = None
            if unprotected:
                require_reachable()
                click.echo(UNPROTECTED, err=True)
            else:
                hidden = {near for folder in folders for near in (folder, folder.resolve().parent)}
                require_closed(place := stack.enter_context(prepared([*hidden, out])))
            click.echo(f"{len(handed_in)} submissions to grade, {jobs} at once", err=True)
            done = stack.enter_context(progress_bar("grading", len(handed_in)))
            for n, student_grade in stack.enter_context(
                closing(grade_all(Class(seed, seconds, place), jobs, handed_in))
            ):
                made[n] = student_grade
                # The table is written after each, so that an interruption loses no grade: a class takes hours.
                table.write([made[n] for n in sorted(made)])
                write_whole(out / "feedback" / f"{names[n]}.txt", format_feedback(student_grade))
                done(len(made))
        except Unfit as error:
            raise Unfit(f"{error}{'' if unprotected else '; or use --unprotected, if you trust them'}") from None
    failed, kept = count_failures(list(made.values())), table.kept(list(made.values()))
    if failed and not kept:
        write_csv(out / "checks.csv", failed)
    for n, student_grade in made.items() if form != "csv" else ():
        text = json.dumps(FORMATS[form](student_grade), indent=1, allow_nan=False)
        write_whole(out / form / f"{names[n]}.json", text + "\n")
    grades = [made[n] for n in sorted(made)]
    if as_json:
        click.echo(
            json.dumps({"seed": seed, "rows": [student_grade.as_json() for student_grade in grades]}, allow_nan=False)
        )
    else:
        for student_grade in grades:
            points = f"{student_grade.points:5.1f} of 100"
            click.echo(f"{points}  {student_grade.submission}  {to_one_line(student_grade.remarks, most=80)}")
        for line in failed[:3] if len(grades) > 1 else ():
            click.echo(f"failed by {line['failed']} of {line['handed_in']}: {line['check']}")
    if kept:
        click.echo(f"{len(kept)} more students stay in grades.csv as they were graded before", err=as_json)
    click.echo(f"seed: {seed}, which students must not know; grades.csv has it", err=as_json)
    written = ("grades.csv", *(() if kept else ("checks.csv",)), "feedback", *([form] if form != "csv" else []))
    click.echo("written: " + "  ".join(str(out / name) for name in written), err=as_json)
    if forbidden:
        raise SystemExit(1)
