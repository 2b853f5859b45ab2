"""A stored sweep, read back: every ``run.json`` below its folder, or in its archive.

A bad file never stops a figure from being drawn. Files that cannot be used are listed with the reason.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from record.files import find_files
from record.run import ARCHIVE, ASIDE, Run, decode, read, unpacked

VARYING = ("flows_per_host", "keep", "scale_sizes", "new_flows", "large_flows")
"""Settings that may differ between the runs of one figure, because they belong to the pattern or follow from it. Runs
that differ in anything else are not drawn together."""


@dataclass(frozen=True)
class Skipped:
    """A file that no figure uses, and why."""

    path: Path
    reason: str
    unreadable: bool = False


@dataclass(frozen=True, eq=False)
class Sweep:
    """The runs of a folder, one per pattern, scheme and trial; the file of each (in an archive: its former path); what
    was left out; and all ``tries``: the runs, and those that were replaced by another try of the same trial."""

    folder: Path
    runs: tuple[Run, ...]
    files: tuple[Path, ...]
    skipped: tuple[Skipped, ...]
    tries: tuple[Run, ...]

    @property
    def mixture(self) -> str:
        """A sentence that names the emulators, if the runs were made by more than one; else empty."""
        return describe_mixture(self.runs)


def describe_mixture(runs: Iterable[Run]) -> str:
    """As `Sweep.mixture`."""
    emulators = Counter(run.emulated_by for run in runs)
    if len(emulators) < 2:
        return ""
    counts = "; ".join(f"{count} by {name}" for name, count in sorted(emulators.items()))
    return f"These runs are not of one emulator, so small differences between them say nothing: {counts}."


def load_sweep(folder: str | Path) -> Sweep:
    """All runs below ``folder``, sorted by path, or else those of the folder's archive.

    If a trial has several tries, the last valid one counts, or else the last one, in the order of their paths (file
    times are not reliable). Runs whose link rate, length or other settings differ from those of the majority are left
    out. Raises ValueError when there is no such folder.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"there is no results folder {folder}")
    runs: dict[Path, Run] = {}
    skipped = list[Skipped]()

    def take(path: Path, run: Callable[[], Run]) -> None:
        if ASIDE.fullmatch(path.parent.name):
            skipped.append(Skipped(path, "is of other files or of another emulator than the run in its place"))
            return
        try:
            runs[path] = run()
        except (OSError, ValueError) as error:  # the file may be gone by now
            skipped.append(Skipped(path, str(error), unreadable=True))

    files = find_files(folder, "run.json")  # not hidden ones, which are being written
    for path in files:
        take(path, partial(read, path))
    # A folder that was published has its runs in an archive. Where there are files, too, they are what somebody works
    # on.
    archive = folder / ARCHIVE
    if not files and os.path.lexists(archive):
        try:
            for name, content in unpacked(archive):
                take(folder / name, partial(decode, content))
        except ValueError as error:
            skipped.append(Skipped(archive, str(error), unreadable=True))
        runs = dict(sorted(runs.items()))
    for left_out in _with_other_settings(runs):
        skipped.append(left_out)
        del runs[left_out.path]
    # Tries are taken before the replaced ones go, since numbers over all of them tell whether leaving some out changed
    # the result.
    tries = tuple(runs.values())
    for left_out in _find_replaced(runs):
        skipped.append(left_out)
        del runs[left_out.path]
    skipped.sort(key=lambda file: file.path)
    return Sweep(folder, tuple(runs.values()), tuple(runs), tuple(skipped), tries)


def _with_other_settings(runs: Mapping[Path, Run]) -> list[Skipped]:
    settings = {
        path: frozenset((name, str(value)) for name, value in select_settings(run).items())
        for path, run in runs.items()
    }
    # Most runs decide: a folder into which one run of another rate was copied still draws its sweep, and names the one.
    usual = max(Counter(settings.values()).items(), key=lambda pair: pair[1], default=(frozenset(), 0))[0]
    reason = "has other settings than most runs here: "
    return [
        Skipped(path, reason + ", ".join(f"{name} {value}" for name, value in sorted(values - usual)))
        for path, values in settings.items()
        if values != usual
    ]


def select_settings(run: Run) -> dict[str, Any]:
    """The settings that all runs of a figure share."""
    return {name: value for name, value in run.settings.items() if name not in VARYING}


def _find_replaced(runs: Mapping[Path, Run]) -> list[Skipped]:
    """The tries that do not count, because another try of their trial does. In ``runs`` the first try comes first."""
    counts: dict[tuple[str, str, int], Path] = {}
    replaced = []
    for path, run in runs.items():
        trial = (run.pattern, run.scheme, run.trial)
        before = counts.get(trial)
        if before is not None and runs[before].valid and not run.valid:
            replaced.append(Skipped(path, "another try of this trial is valid"))
            continue
        if before is not None:
            replaced.append(Skipped(before, "the trial was run again"))
        counts[trial] = path
    return replaced
