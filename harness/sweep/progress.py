"""What the user sees while a sweep runs, and at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from files.rights import as_owner
from harness.errors import RunFailed
from harness.network.lock import sole_use, tell
from harness.network.machine import processors
from harness.run.observation import Say
from harness.sweep import guests
from harness.sweep.guest_costs import costs, told
from harness.sweep.guests import Ground, clocks
from harness.sweep.plan import Job, carry_out, forecast_s, seconds_left
from plots.style import short
from results.output import duration, quiet
from results.record import NOT_JUDGED, Run
from virtual.guest import Progress


@dataclass(frozen=True)
class InGuests:
    """Where a sweep in virtual time runs: what its guests stand on, and how many there are at once."""

    ground: Ground
    at_once: int

    @property
    def busy(self) -> int:
        """How many processors they keep busy: more guests than those take turns."""
        return min(self.at_once, processors())

    @property
    def forecast_by(self) -> str:
        """What a forecast rests on, in a sentence."""
        found = costs()
        source = (
            "as measured here"
            if found.measured
            else "as elsewhere; hedera doctor --time virtual --calibrate measures it here"
        )
        return f"virtual time: a simulated second of 16 hosts takes {told(found)} of a processor ({source})"


def carry_out_with_progress(jobs: Sequence[Job], folder: Path, where: InGuests | None = None) -> None:
    """Run the jobs with a live line, here, on a fleet or in guests; then print the table and write the figures.

    Raises RunFailed at the end when some runs do not count, after everything else is done.
    """
    console = Console(stderr=True, quiet=quiet())
    left = [job for job in jobs if job.next_folder() is not None]
    at_once = where.busy if where else 1
    console.print(
        f"{len(jobs)} runs, {len(jobs) - len(left)} already done; "
        f"about {duration(seconds_left(jobs) / max(at_once, 1))} to go. Results: {folder}",
        highlight=False,
        soft_wrap=True,
    )
    if left and isinstance(where, InGuests):
        console.print(where.forecast_by, highlight=False, soft_wrap=True)
    if left:
        shown = Shown(console, jobs, left)
        with shown:
            if where:
                _in_guests(shown, folder, where)
            else:
                _here(shown, folder)
    with as_owner(folder):
        _conclude(jobs, folder)


class Shown:
    """The live line, and a line for every run that is done."""

    def __init__(self, console: Console, jobs: Sequence[Job], left: Sequence[Job]) -> None:
        counts = (BarColumn(24), MofNCompleteColumn(), TextColumn("{task.fields[remaining]} left"))
        columns = (*counts, TimeElapsedColumn(), TextColumn("{task.description}"))
        self._bar = Bar(*columns, console=console, transient=True)
        self._console = console
        self.jobs = list(jobs)
        self.left = list(left)
        self._unfinished = list(left)
        self.seconds_left = seconds_left(left)
        self._took_s = self._foreseen_s = 0.0
        self._task: TaskID = self._bar.add_task("", total=len(left), remaining=duration(self.seconds_left))

    def __enter__(self) -> Shown:
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    @property
    def remaining(self) -> str:
        """The forecast, in words."""
        return duration(self.seconds_left)

    @property
    def pace(self) -> float:
        """How many times as long as foreseen the runs took."""
        return self._took_s / self._foreseen_s if self._foreseen_s else 1.0

    def doing(self, description: str, at_once: int = 1, spent_s: float = 0.0) -> None:
        """What is being done now, by how many machines, and what of it is behind them."""
        left_s = max(seconds_left(self._unfinished) * self.pace - spent_s, 0.0)
        self.seconds_left = left_s / max(at_once, 1)
        self._bar.update(self._task, description=escape(description), remaining=self.remaining)

    def done(self, job: Job, run: Run) -> None:
        """A run is done: its line."""
        # Finished jobs are dropped, so that their results are not read again after every run.
        self._unfinished = [each for each in self._unfinished if each.next_folder() is not None]
        self._bar.update(self._task, completed=len(self.left) - len(self._unfinished))
        text = f"{escape(short(job.spec.traffic)):28} {escape(job.spec.scheme):14} trial {job.spec.trial}  "
        rate = run.bisection_mbps
        text += "      no result" if rate is None else f"{rate:7.1f} Mb/s {rate / run.capacity_mbps:4.0%}"
        if worker := run.environment.get("worker"):
            text += f"  on {escape(str(worker))}"
        if not run.valid:
            again = job.next_folder() is not None
            text += f"  [red]{run.verdict}[/]{', trying once more' if again else ''}: {escape(run.reasons[0])}"
        # In a log, where there is no live line, every line tells its time.
        clock = "" if self._console.is_terminal else time.strftime("%H:%M:%S ")
        self._console.print(clock + text, highlight=False, soft_wrap=True)

    def took(self, job: Job, seconds: float) -> None:
        """A run took so long on a processor of its own: other work beside it, and the forecast is as much longer."""
        self._took_s += seconds
        self._foreseen_s += forecast_s(job.spec)

    def warn(self, sentence: str) -> None:
        """Something the user has to know, be it with --quiet."""
        console = Console(stderr=True) if self._console.quiet else self._console
        console.print(f"[yellow]{escape(sentence)}[/]", highlight=False, soft_wrap=True)


def _here(shown: Shown, folder: Path) -> None:
    """On this machine, which is ours alone meanwhile."""
    with sole_use(f"a sweep into {folder}", shown.warn):

        def say(job: Job) -> Say:
            def stage(word: str) -> None:
                description = f"{short(job.spec.traffic)} {job.spec.scheme} trial {job.spec.trial}: {word}"
                shown.doing(description)
                tell(f"{description}; {shown.remaining} left")

            return stage

        carry_out(shown.left, shown.done, say, shown.warn)


class _GuestsShown(guests.Watcher):
    """What guests do, for the terminal and for whoever watches."""

    def __init__(self, shown: Shown, folder: Path, where: InGuests) -> None:
        self._shown = shown
        self._folder = folder
        self._where = where

    def done(self, job: Job, run: Run) -> None:
        took = run.environment.get("guest_real_s")
        if isinstance(took, float):
            self._shown.took(job, took * self._where.busy / self._where.at_once)
        self._shown.done(job, run)

    def look(self, doing: Sequence[tuple[Job, str, Progress]]) -> None:
        at = [(job, f"{stage}, {clocks(progress)}") for job, stage, progress in doing]
        words = [f"{short(job.spec.traffic)} {job.spec.scheme} trial {job.spec.trial}: {stage}" for job, stage in at]
        pace = self._shown.pace
        spent = (min(progress.real_s, forecast_s(job.spec) * pace) for job, _, progress in doing)
        self._shown.doing("; ".join(words), self._where.busy, sum(spent))


def _in_guests(shown: Shown, folder: Path, where: InGuests) -> None:
    guests.carry_out(shown.left, where.ground, where.at_once, _GuestsShown(shown, folder, where))


def _conclude(jobs: Sequence[Job], folder: Path) -> None:
    """The table on standard output, where the pictures and the page are, and what did not work."""
    from plots.figures import write_all
    from plots.load import load_sweep
    from plots.report import write_report
    from plots.table import show

    sweep = load_sweep(folder)
    print(show(sweep.runs, sweep.tries), flush=True)
    if pictures := write_all(folder):
        print(f"pictures and tables: {pictures[0].parent}/")
    print(f"the page: {write_report(folder)}")
    bad = [(job, found) for job in jobs if (found := job.outcome()) is not None and not found.valid]
    for job, found in bad:
        which = f"{short(job.spec.traffic)} {job.spec.scheme} trial {job.spec.trial}"
        print(f"{found.verdict}: {which}: {found.reasons[0]}", file=sys.stderr)
    if bad:
        unjudged = sum(found.verdict == NOT_JUDGED for _, found in bad)
        counts = [(len(bad) - unjudged, "invalid"), (unjudged, NOT_JUDGED)]
        said = " and ".join(f"{n} {'is' if n == 1 else 'are'} {verdict}" for n, verdict in counts if n)
        virtual = all(job.spec.time == "virtual" for job in jobs)  # where no machine is too slow
        slower = "use a lower --bw, or --time virtual, where no machine is too slow"
        advice = "the reasons are above" if virtual else slower
        if unjudged:
            advice = "longer runs can be judged" + (f"; {advice}" if unjudged < len(bad) else "")
        raise RunFailed(f"of {len(jobs)} runs {said}, and shown as such; {advice}")
