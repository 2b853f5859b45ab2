"""What the user sees while a sweep runs, and at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from harness.errors import RunFailed
from harness.invoker import as_invoker, hand_over
from harness.network.lock import sole_use, tell
from harness.run.emulation import Say
from harness.sweep.plan import Job, carry_out, seconds_left
from plots.style import short


def duration(seconds: float) -> str:
    """``1 h 05 min``, ``12 min``, ``40 s``."""
    if seconds >= 3600:
        return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:02.0f} min"
    return f"{seconds / 60:.0f} min" if seconds >= 100 else f"{seconds:.0f} s"


def carry_out_with_progress(jobs: Sequence[Job], folder: Path) -> None:
    """Run the jobs with a live line, then print the table and write the figures.

    Raises RunFailed at the end when some runs are invalid, after everything else is done.
    """
    console = Console(stderr=True)
    left = [job for job in jobs if job.next_folder() is not None]
    console.print(
        f"{len(jobs)} runs, {len(jobs) - len(left)} already done; about {duration(seconds_left(jobs))} to go. "
        f"Results: {folder}"
    )
    if left:

        def waiting(sentence: str) -> None:
            console.print(sentence, highlight=False, soft_wrap=True)

        with sole_use(f"a sweep into {folder}", waiting):
            _run(left, console)
    try:
        with as_invoker(folder):
            _conclude(jobs, folder)
    finally:
        hand_over(folder)


def _run(left: Sequence[Job], console: Console) -> None:
    columns = [BarColumn(24), MofNCompleteColumn(), TextColumn("{task.fields[remaining]} left"),
               TimeElapsedColumn(), TextColumn("{task.description}")]  # fmt: skip
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(left), remaining=duration(seconds_left(left)))

        def say(job: Job) -> Say:
            def stage(word: str) -> None:
                description = f"{short(job.spec.traffic)} {job.spec.scheme} trial {job.spec.trial}: {word}"
                progress.update(task, description=description)
                tell(f"{description}; {progress.tasks[0].fields['remaining']} left")

            return stage

        unfinished = list(left)

        def done(job: Job, result: dict[str, Any]) -> None:
            # Finished jobs are dropped, so that their results are not read again after every run.
            unfinished[:] = [each for each in unfinished if each.next_folder() is not None]
            progress.update(
                task,
                completed=len(left) - len(unfinished),
                remaining=duration(seconds_left(unfinished)),
            )
            # In a log, where there is no live line, every line tells its time.
            clock = "" if console.is_terminal else time.strftime("%H:%M:%S ")
            progress.console.print(clock + _line(job, result), highlight=False, soft_wrap=True)

        def warn(sentence: str) -> None:
            progress.console.print(f"[yellow]{escape(sentence)}[/]", highlight=False, soft_wrap=True)

        carry_out(left, done, say, warn)


def _line(job: Job, result: dict[str, Any]) -> str:
    rate = result["bisection_mbps"]
    text = f"{escape(short(job.spec.traffic)):28} {job.spec.scheme:14} trial {job.spec.trial}  "
    text += "      no result" if rate is None else f"{rate:7.1f} Mb/s {rate / result['capacity_mbps']:4.0%}"
    if result["verdict"] != "ok":
        again = job.next_folder() is not None
        text += f"  [red]invalid[/]{', trying once more' if again else ''}: {escape(result['reasons'][0])}"
    return text


def _conclude(jobs: Sequence[Job], folder: Path) -> None:
    """The table on standard output, where the pictures and the page are, and what did not work."""
    from plots.figures import write_all
    from plots.load import load_sweep
    from plots.report import write_report
    from plots.table import show

    print(show(load_sweep(folder).runs), flush=True)
    if pictures := write_all(folder):
        print(f"pictures and tables: {pictures[0].parent}/")
    print(f"the page: {write_report(folder)}")
    bad = [(job, run) for job in jobs if (run := job.outcome()) is not None and not run.valid]
    for job, run in bad:
        print(f"invalid: {short(job.spec.traffic)} {job.spec.scheme} trial {job.spec.trial}: {run.reasons[0]}",
              file=sys.stderr)  # fmt: skip
    if bad:
        raise RunFailed(
            f"{len(bad)} of {len(jobs)} runs are invalid, and shown as such; "
            "a lower --bw is what a slow machine needs"
        )
