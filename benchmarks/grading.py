"""A class of sixty, graded: how long it takes, and how well that was foretold.

    .venv/bin/python -m benchmarks.grading [--submissions 60] [--jobs 2]      some ten minutes

The submissions are made: a quarter untouched templates, one that computes without end, and of the rest half right and
half with the nearest mistakes, all five files each. On the clock, as it is who grades that waits: other work counts.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

import click

from classroom.template import MILESTONES, write_template
from results.output import plain_table, wide_console, write_csv
from tests.classroom.mistakes import MISTAKES, SOLUTIONS, seeded

ROOT = Path(__file__).parents[1]
OWN = ROOT / "docs" / "examples" / "least_loaded.py"
TARGET_MIN = 10.0
ENDLESS = "def estimate_demands(src, dst, num_hosts):\n    while True:\n        pass\n"


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    case: str
    unit: str
    target: float | None
    ours: float


def submit(folder: Path, kind: str, number: int) -> None:
    """One made submission; ``number``: which mistakes it has."""
    folder.mkdir(parents=True)
    for milestone, task in MILESTONES.items():
        mistakes = [mistake for mistake in MISTAKES if mistake.milestone == milestone]
        if kind == "untouched":
            write_template(folder / task.file, milestone)
        elif kind == "mistaken":
            (folder / task.file).write_text(seeded(mistakes[number % len(mistakes)]))
        else:
            (folder / task.file).write_text((SOLUTIONS / task.file).read_text())
    if kind == "untouched":
        write_template(folder / "scheduler.py")
    else:
        (folder / "scheduler.py").write_text(OWN.read_text().replace("LeastLoaded", "Scheduler"))
    if kind == "endless":
        (folder / "demand.py").write_text(ENDLESS)


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
    told = re.search(r"typically about (\d+) min", done.stderr)
    if done.returncode or told is None:
        raise RuntimeError(done.stderr[-2000:])
    rows = json.loads(done.stdout)["rows"]
    found = [
        Row(f"{count} submissions, {jobs} at once", "min", TARGET_MIN * count / 60, took_min),
        Row("the estimate beforehand, beside what it took", "min", took_min, float(told[1])),
        Row("load of the machine meanwhile", "programs", None, os.getloadavg()[2]),  # the mean of 15 minutes
    ]
    for kind in dict.fromkeys(made):
        graded = [row for row in rows if row["submission"].startswith(kind)]
        found.append(Row(f"{kind}: one of {len(graded)}", "s", None, median(row["seconds"] for row in graded)))
        found.append(Row(f"{kind}: points, mean", "of 100", None, mean(row["points"] for row in graded)))
    return found


@click.command(help=__doc__)
@click.option("--submissions", default=60, show_default=True, type=click.IntRange(4))
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1))
@click.option("--out", default=Path("results/classroom"), show_default=True, type=click.Path(path_type=Path))
def main(submissions: int, jobs: int, out: Path) -> None:
    """Measure, print the table, and write it."""
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(Path(folder), submissions, jobs)
    made = plain_table(
        f"Grading a class ({len(os.sched_getaffinity(0))} processors)", "case", "unit", "target", "ours", left=2
    )
    for row in rows:
        made.add_row(row.case, row.unit, "" if row.target is None else f"{row.target:.2f}", f"{row.ours:.2f}")
    wide_console().print(made)
    name = "sixty" if submissions == 60 else f"class_of_{submissions}"
    click.echo(f"written: {write_csv(out / f'{name}.csv', rows)}")


if __name__ == "__main__":
    main()
