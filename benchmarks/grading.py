"""A class of sixty, graded: how long it takes, and how well that was foretold.

    sudo .venv/bin/python -m benchmarks.grading [--submissions 60] [--jobs 2]      some ten minutes
    sudo .venv/bin/python -m benchmarks.grading --parts                            what each file takes

The submissions are made: a quarter untouched templates, one that computes without end, and of the rest half right and
half with the nearest mistakes, all five files each. On the clock, as it is who grades that waits: other work counts.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

import click

from classroom.estimate import COST, unit_s
from classroom.grading import PARTS, Class, grade
from classroom.histories import leave_nothing
from classroom.sandbox import prepared
from classroom.template import MILESTONES, write_template
from results.output import plain_table, wide_console, write_csv
from results.temporary import temporary_folder
from tests.classroom.mistakes import MISTAKES, SOLUTIONS, seeded

ROOT = Path(__file__).parents[1]
OWN = ROOT / "docs" / "examples" / "least_loaded.py"
TARGET_MIN = 10.0
ENDLESS = "def estimate_demands(src, dst, num_hosts):\n    while True:\n        pass\n"
REPEATS = 3


@dataclass(frozen=True)
class Row:
    """A line of the table: ours over the target is its ratio."""

    case: str
    unit: str
    target: float | None
    ours: float

    @property
    def ratio(self) -> float | None:
        """Below 1 is better than the target."""
        return None if self.target is None else self.ours / self.target


def submit(folder: Path, kind: str, number: int = 0) -> None:
    """One made submission; ``number``: which mistakes it has."""
    folder.mkdir(parents=True)
    if kind == "untouched":
        for milestone, task in MILESTONES.items():
            write_template(folder / task.file, milestone)
        write_template(folder / "scheduler.py")
        return
    for milestone, task in MILESTONES.items():
        mistakes = [mistake for mistake in MISTAKES if mistake.milestone == milestone]
        wrong = seeded(mistakes[number % len(mistakes)])
        right = (SOLUTIONS / task.file).read_text(encoding="utf-8")
        (folder / task.file).write_text(wrong if kind == "mistaken" else right, encoding="utf-8")
    own = OWN.read_text(encoding="utf-8").replace("LeastLoaded", "Scheduler")
    (folder / "scheduler.py").write_text(own, encoding="utf-8")
    if kind == "endless":
        (folder / "demand.py").write_text(ENDLESS, encoding="utf-8")


def kinds(count: int) -> list[str]:
    """What each of so many submissions is."""
    untouched = count // 4
    worked = count - untouched - 1
    return ["untouched"] * untouched + ["right"] * (worked - worked // 2) + ["mistaken"] * (worked // 2) + ["endless"]


def measured(folder: Path, count: int, jobs: int) -> list[Row]:
    """Make submissions, grade them all, and say what that took. RuntimeError where grading failed."""
    made = kinds(count)
    for number, kind in enumerate(made):
        submit(folder / "all" / f"{kind}{number:02}", kind, number)
    words = ["grade", folder / "all", "--seed", "7", "--jobs", jobs, "--json", "--out", folder / "out"]
    hedera = [sys.executable, "-c", "from harness.cli import main; main()"]
    clock = time.monotonic()
    done = subprocess.run([*hedera, *map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False)
    took_min = (time.monotonic() - clock) / 60
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    rows = json.loads(done.stdout)["rows"]
    by_kind = {kind: [row for row in rows if row["submission"].startswith(kind)] for kind in dict.fromkeys(made)}
    told = re.search(r"some (\d+) min", done.stderr)
    if told is None:
        raise RuntimeError("no estimate was told")
    found = [
        Row(f"{count} submissions, {jobs} at once", "min", TARGET_MIN * count / 60, took_min),
        Row("the estimate beforehand, beside what it took", "min", took_min, float(told.group(1))),
    ]
    load = Row("load of the machine meanwhile", "programs", None, os.getloadavg()[2])  # the mean of 15 minutes
    found.append(load)
    for kind, graded in by_kind.items():
        found.append(Row(f"{kind}: one of {len(graded)}", "s", None, median(row["seconds"] for row in graded)))
        found.append(Row(f"{kind}: points, mean", "of 100", None, mean(row["points"] for row in graded)))
    return found


def parts(folder: Path) -> list[Row]:
    """What each file of a right submission takes, in units of an untouched loop.py, beside what is reckoned with."""
    leave_nothing()
    submit(folder / "right", "right")
    found = []
    with prepared() as place:
        course = Class(7, 120.0, place)
        _ = course.ecmp, course.baseline
        for part, (file, _, _) in PARTS.items():
            ratios = []
            for number in range(REPEATS):
                alone = folder / f"{part}{number}"
                alone.mkdir()
                (alone / file).write_bytes((folder / "right" / file).read_bytes())
                before = unit_s(course)
                clock = time.monotonic()
                grade(alone, course)
                took = time.monotonic() - clock
                ratios.append(2 * took / (before + unit_s(course)))
            found.append(Row(file, "untouched loop.py", COST[part], median(ratios)))
    return found


def table(rows: Sequence[Row]) -> None:
    """On the terminal."""
    made = plain_table(
        f"Grading a class (load {os.getloadavg()[0]:.1f}, {len(os.sched_getaffinity(0))} processors)",
        "case", "unit", "target", "ours", "ratio", left=2,
    )  # fmt: skip
    for row in rows:
        target, ratio = (("" if x is None else f"{x:.2f}") for x in (row.target, row.ratio))
        made.add_row(row.case, row.unit, target, f"{row.ours:.2f}", ratio)
    wide_console().print(made)


@click.command(help=__doc__)
@click.option("--submissions", default=60, show_default=True, type=click.IntRange(4))
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1))
@click.option("--parts", "by_part", is_flag=True, help="What each file takes instead.")
@click.option(
    "--out",
    default=Path("results/classroom"),
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the CSV.",
)
def main(submissions: int, jobs: int, by_part: bool, out: Path) -> None:
    """Measure, print the table, and write it."""
    with temporary_folder("benchmark") as folder:
        rows = parts(folder) if by_part else measured(folder, submissions, jobs)
    table(rows)
    name = "parts" if by_part else "sixty" if submissions == 60 else f"class_of_{submissions}"
    click.echo(f"written: {write_csv(out / f'{name}.csv', rows)}")


if __name__ == "__main__":
    main()
