"""What the user sees while a sweep runs, and at its end."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from harness.errors import RunFailed
from harness.jobs.publish import Carrier, Doing, Planned, alone_in, carry_out, remove_partial, stage_words
from plots.style import short
from record.output import quiet
from record.run import LOST, Run

PAGE_EVERY_S = 10.0
"""A page of many runs takes seconds: while a sweep is unfinished it is written no more often."""


def carry_out_with_progress(jobs: Sequence[Planned], folder: Path, where: Carrier) -> None:
    """Run the jobs with a live line; then print the table and write the figures.

    Raises UserMistake at once when another sweep is at work in ``folder``, and RunFailed at the end when some runs do
    not count, after everything else is done.
    """
    with alone_in(folder):
        remove_partial(folder)
        _carry_out(jobs, folder, where)
        _conclude(jobs, folder)


def _set_aside(jobs: Sequence[Planned], console: Console) -> None:
    """Older runs, of which the files have been edited since or which another emulator made, make room, and are told."""
    for why, count in Counter(filter(None, (job.set_aside() for job in jobs))).items():
        runs = "a run that is here" if count == 1 else f"{count} runs that are here"
        console.print(escape(f"{why}: {runs} moved aside, to be made again"), highlight=False, soft_wrap=True)


def _carry_out(jobs: Sequence[Planned], folder: Path, where: Carrier) -> None:
    console = Console(stderr=True, quiet=quiet())
    _set_aside(jobs, console)
    left = [job for job in jobs if not job.done]
    done = len(jobs) - len(left)
    console.print(f"{len(jobs)} runs, {done} already done. Results: {folder}", highlight=False, soft_wrap=True)
    if left:
        with Shown(console, left, folder) as shown:
            carry_out(left, where, shown.done, shown.look)


class Shown:
    """The live line, which says how long the rest takes at the speed so far; a line for every run that is done; and the
    page, which follows the sweep."""

    def __init__(self, console: Console, left: Sequence[Planned], folder: Path) -> None:
        counts = (BarColumn(24), MofNCompleteColumn(), TimeRemainingColumn())
        columns = (*counts, TimeElapsedColumn(), TextColumn("{task.description}"))
        self._bar = Bar(*columns, console=console, transient=True, speed_estimate_period=float("inf"))
        self._console = console
        self._folder = folder
        self._unfinished = list(left)
        self._page_s = float("-inf")
        self._task: TaskID = self._bar.add_task("", total=len(left))

    def __enter__(self) -> Shown:
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    def look(self, doing: Doing) -> None:
        words = [
            f"{short(job.spec.traffic)} {job.spec.scheme} trial {job.spec.trial}: {stage_words(*stage)}"
            for job, stage in doing.items()
        ]
        self._bar.update(self._task, description=escape("; ".join(words)))

    def done(self, planned: Planned, run: Run) -> None:
        again = not run.lost and not planned.done
        if not again:
            self._unfinished.remove(planned)
            self._bar.advance(self._task)
        spec = planned.spec
        text = f"{escape(short(spec.traffic)):28} {escape(spec.scheme):14} trial {spec.trial}  "
        rate = run.payload_mbps  # as in the table and the picture
        most = run.payload_capacity_mbps
        if run.lost:
            text += "           lost"
        else:
            text += "      no result" if rate is None else f"{rate:7.1f} Mb/s {rate / most:4.0%} of all links"
        if not run.valid:
            text += f"  [red]{run.verdict}[/]{', trying once more' if again else ''}: {escape(run.reasons[0])}"
        # In a log, where there is no live line, every line tells its time.
        clock = "" if self._console.is_terminal else time.strftime("%H:%M:%S ")
        self._console.print(clock + text, highlight=False, soft_wrap=True)
        if self._unfinished and time.monotonic() - self._page_s >= PAGE_EVERY_S:
            _write_page(self._folder)
            self._page_s = time.monotonic()


def _write_page(folder: Path) -> None:
    """The page as it is by now; where that cannot be, nothing is seen, and the sweep goes on."""
    from plots.report import write_report

    try:
        write_report(folder, unfinished=True)
    except (OSError, ValueError):
        return


def _conclude(jobs: Sequence[Planned], folder: Path) -> None:
    """The table on standard output, where the pictures and the page are, and what did not work."""
    from plots.figures import write_all
    from plots.load import load_sweep
    from plots.report import write_report
    from plots.table import show

    sweep = load_sweep(folder)
    print(show(sweep.runs, sweep.tries), flush=True)
    if sweep.mixture:
        print(sweep.mixture)
    if pictures := write_all(folder):
        print(f"pictures and tables: {pictures[0].parent}/")
    print(f"the page: {write_report(folder)}")
    bad = [(job, found) for job in jobs if (found := job.outcome()) is not None and not found.valid]
    for job, found in bad:
        which = f"{short(job.spec.traffic)} {job.spec.scheme} trial {job.spec.trial}"
        print(f"{found.verdict}: {which}: {found.reasons[0]}", file=sys.stderr)
    if bad:
        counts = Counter[str](found.verdict for _, found in bad)
        said = " and ".join(f"{n} {'is' if n == 1 else 'are'} {verdict}" for verdict, n in counts.items())
        again = "; this machine lost runs, which the same command makes again" if counts[LOST] else ""
        raise RunFailed(f"of {len(jobs)} runs {said}, and shown as such; the reasons are above{again}")
