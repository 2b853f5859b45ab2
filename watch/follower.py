"""The content of a sweep's live page: finished runs, read once each, and runs in progress, read every time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from commands.output import duration
from files.reader import find_files
from hedera.schemes import CONTROL
from plots.load import Sweep, load_sweep
from plots.report import bars, fabric
from plots.report.machines import SLOWER, compare_machines
from plots.report.page import templates
from plots.report.svg import classes
from plots.shares import Shares, published_share
from plots.style import colour, scheme_order, short
from plots.summary import summarise
from results.live import Live, Now, read_live
from results.record import Run, read
from topos.fattree import FatTree
from topos.links import sending_ports

TEMPLATES = Path(__file__).with_name("templates")
STALE_S = 15.0
"""A live file that has not been written for so long was left by a sweep that has ended."""


class Follower:
    """Follows the sweep in ``folder``. Not thread-safe."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[Path, tuple[tuple[int, int], Run]] = {}
        self._seen: frozenset[tuple[Path, int]] = frozenset()
        self._revision = 0
        self._finished = ""
        self._sweep = Sweep(folder, (), (), ())

    def page(self) -> str:
        """The page, with the present state."""
        live = self._live()
        self.finished()
        k = self._k(live)
        drawn = k is not None and k <= fabric.MAX_K
        tree = FatTree(k) if drawn and k is not None else None
        schemes = scheme_order(
            {run.scheme for run in self._sweep.runs} | {run.scheme for run in (live.runs if live else ())}
        )
        css = classes(schemes)
        return (
            templates(TEMPLATES)
            .get_template("watch.html")
            .render(
                name=self.folder.resolve().name,
                palette=[(css(scheme), scheme, colour(scheme)) for scheme in schemes],
                fabric=fabric.picture(fabric.draw(tree)) if tree else "",
                hosts=list(tree.hosts) if tree else [],
                k=k,
                finished=self._finished,
                now=self.now(),
            )
        )

    def finished(self) -> str:
        """The part of the page about finished runs, rendered again when there are new ones."""
        if self._look():
            self._finished = self._render()
        return self._finished

    def now(self) -> dict[str, Any]:
        """The data that change every second; ``revision`` changes when the finished part does."""
        self.finished()
        live = self._live()
        report = (self.folder / "report.html").exists()
        if live is None:
            return {"revision": self._revision, "at_work": False, "report": report, "runs": [], "workers": []}
        return {
            "revision": self._revision,
            "at_work": True,
            "report": report,
            "jobs": live.jobs,
            "done": live.done,
            "left": duration(max(0.0, live.seconds_left - (time.time() - live.written))),
            "runs": [self._now(run) for run in live.runs],
            "workers": [[one.name, one.doing, one.machine, one.used] for one in live.workers],
        }

    def _live(self) -> Live | None:
        live = read_live(self.folder)
        return live if live is not None and time.time() - live.written < STALE_S else None

    def _k(self, live: Live | None) -> int | None:
        if live and live.runs:
            return live.runs[0].k
        return self._sweep.runs[0].spec.k if self._sweep.runs else None

    def _now(self, run: Now) -> dict[str, Any]:
        drawn = run.scheme != CONTROL and run.k <= fabric.MAX_K
        tree = FatTree(run.k)
        return {
            "name": f"{short(run.pattern)}, {run.scheme}, trial {run.trial}",
            "scheme": run.scheme,
            "worker": run.worker,
            "stage": run.stage,
            "k": run.k,
            "end": run.seconds,
            "capacity": run.capacity_mbps,
            "rate": run.link_mbps,
            "t": run.t,
            "total": run.total_mbps,
            "hosts": [run.hosts.get(host) for host in tree.hosts] if run.k <= fabric.MAX_K else [],
            "links": [run.links.get(port) for port in sending_ports(tree)] if drawn else [],
            "rounds": run.rounds,
        }

    def _look(self) -> bool:
        """Read newly finished runs; returns whether there were any, or nothing is rendered yet."""
        seen = frozenset(_stamped(find_files(self.folder, "run.json")))
        if seen == self._seen and self._finished:
            return False
        self._sweep = load_sweep(self.folder, self._once)
        self._read = {path: self._read[path] for path, _ in seen if path in self._read}
        self._seen = seen
        self._revision += 1
        return True

    def _once(self, path: Path) -> Run:
        """The parts of a run that bars need, from memory unless its file has changed."""
        found = path.lstat()
        stamp = (found.st_mtime_ns, found.st_size)
        known = self._read.get(path)
        if known is None or known[0] != stamp:
            run = read(path)
            self._read[path] = known = (stamp, _light(run))
        return known[1]

    def _render(self) -> str:
        runs = self._sweep.runs
        bad = [run for run in runs if not run.valid]
        shared = {
            "runs": runs,
            "valid": len(runs) - len(bad),
            "CONTROL": CONTROL,
            "slower": SLOWER,
            "uncounted": bad,
            "machines": compare_machines(runs),
        }
        if not runs:
            return templates(TEMPLATES).get_template("finished.html").render(shared, summary=None)
        summary = summarise(runs)
        css = classes(summary.schemes)
        of_control = any(bar.ratio for bar in summary.bars.values())
        return (
            templates(TEMPLATES)
            .get_template("finished.html")
            .render(
                shared,
                summary=summary,
                css=css,
                palette=[(css(scheme), scheme, colour(scheme)) for scheme in summary.schemes],
                of_control=of_control,
                panels=bars.panels(Shares(summary, of_control=of_control), css),
                has_published=any(published_share(p, "ecmp") is not None for p in summary.patterns),
            )
        )


def _stamped(paths: Iterable[Path]) -> Iterator[tuple[Path, int]]:
    """Each existing path with the time of its last change."""
    for path in paths:
        with contextlib.suppress(OSError):
            yield path, path.stat().st_mtime_ns


def _light(run: Run) -> Run:
    """The run without everything that bars do not need, which is most of it."""
    empty = ("matrix", "flows", "rounds", "failures", "phases", "controller_restarts")
    none = ("links", "disagreements", "queue_drops", "lost_packets", "throttled_s", "completion")
    rates, cpu = type(run.rates)(), type(run.cpu)()
    return replace(run, rates=rates, cpu=cpu, **{name: () for name in empty}, **{name: {} for name in none})
