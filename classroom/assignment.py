"""`hedera assignment pack`."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

from classroom import public
from classroom.packing import SERVICES, pack_grader, pack_handout
from hedera.options import in_words


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
    if seed == public.SEED:
        raise ValueError(public.KNOWN)
    if folder.exists():
        raise ValueError(f"{folder} already exists, and is not overwritten")
    pack_handout(folder / "handout")
    click.echo(f"written: {folder / 'handout'}")
    if service:
        # Checks show inputs that are drawn from the seed: a short seed could be found by trying all.
        drawn = secrets.randbelow(10**18) if seed is None else seed
        made = pack_grader(folder / "grader", service, drawn)
        click.echo(f"written: {made}, which grades with --seed {drawn}; keep it from students")
