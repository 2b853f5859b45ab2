"""`hedera grade`."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commands.options import in_words, json_option
from commands.output import progress_bar
from files.rights import make_folder
from harness.cli.options import tell_user
from harness.errors import UnfitMachine, UserMistake
from hedera.text import one_line

if TYPE_CHECKING:
    from classroom.grading import Grade


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--seed", required=True, type=click.IntRange(0), help="Fixes patterns and draws; keep it to yourself."
)
@click.option(
    "--seconds",
    default=120.0,
    show_default=True,
    type=click.FloatRange(1, 3600),
    help="Processor time for each file of a submission; it is waited for ten times as long.",
)
@click.option(
    "--time",
    type=click.Choice(("real", "virtual")),
    default="real",
    show_default=True,
    help="Real: grading makes no networks, and limits the time that submissions compute.",
)
@click.option(
    "--unprotected",
    is_flag=True,
    help="Grade without closing submissions off: with limits, but files and network within reach.",
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
    unprotected: bool,
    out: Path,
    as_json: bool,
) -> None:
    """Grade submissions: folders with demand.py, first_fit.py, annealing.py, loop.py and scheduler.py, or some of
    them; or one folder that holds such folders.

    Each runs in a process of its own, as a user who is nobody else where root grades, with nothing of the machine in
    reach but Python, no network, and limits on time, memory and files. What one does costs no other anything.

    Example: sudo hedera grade submissions/ --seed 20261121
    """
    if time == "virtual":
        raise UserMistake(
            "grading takes real time: in virtual time computing takes none, so that no limit would end a submission "
            "that computes without end, and the kernel there has no filter of system calls to close it off with"
        )
    from classroom import grading
    from classroom.histories import leave_nothing
    from classroom.probe import require_closed
    from classroom.sandbox import Unfit, closed, prepared, unclosed
    from commands.output import wide_console, write_csv

    found = grading.submissions(folders)
    if others := grading.left_out(folders, found):
        tell_user(f"not graded, for they are no folders: {one_line(', '.join(others))}")
    make_folder(out)
    leave_nothing()
    grades: list[Grade] = []
    details: list[dict[str, Any]] = []
    with ExitStack() as stack:
        try:
            place = None if unprotected else stack.enter_context(prepared())
            hidden = tuple({folder.parent for folder in found} | {out})
            if place is not None:
                require_closed(closed(place, 1, hidden=hidden))
            else:
                for sentence in unclosed(1).unprotected:
                    tell_user(f"unprotected: {sentence}")
            course = grading.Class(seed, seconds, place, hidden)
            done = stack.enter_context(progress_bar("grading", len(found)))
            for folder in found:
                one, checks = grading.grade(folder, course)
                grades.append(one)
                parts = {
                    part: [asdict(c) | {"passed": c.passed} for c in each] for part, each in checks.items()
                }
                details.append({**asdict(one), "checks": parts})
                path = write_csv(out / "grades.csv", grades)  # after each, so that nothing is lost
                done(len(grades))
        except Unfit as error:
            raise UnfitMachine(f"{error}; or --unprotected, for submissions that you trust") from None
    if as_json:
        click.echo(json.dumps({"seed": seed, "rows": details}, allow_nan=False))
    else:
        wide_console().print(grading.table(grades), highlight=False)
    click.echo(f"written: {path}", err=as_json)
