"""Stored runs, read back: every ``run.json`` below the folder of a sweep, or in its archive.

A bad file never stops a figure from being drawn. Files that cannot be used are listed with the reason.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from record.archive import ARCHIVE, unpacked
from record.files import find_files
from record.run import ASIDE, Run, decode, read

VARYING = ("flows_per_host", "keep", "scale_sizes", "new_flows", "large_flows")
"""Settings that may differ between the runs of one figure, because they belong to the pattern or follow from it. Runs
that differ in anything else are not drawn together."""


@dataclass(frozen=True)
class Skipped:
    """A file that no figure uses, and why."""

    path: Path
    reason: str
    unreadable: bool = False


@dataclass(frozen=True)
class Sweep:
    """The runs of a folder, one per pattern, scheme and trial; the file of each (in an archive: its former path); and
    what was left out. ``tries``: all runs, including those replaced by another try of the same trial."""

    folder: Path
    runs: tuple[Run, ...]
    files: tuple[Path, ...]
    skipped: tuple[Skipped, ...]
    tries: tuple[Run, ...] = ()

    @property
    def mixture(self) -> str:
        """A sentence that names the emulators of runs that more than one of them has made; empty where it is one."""
        return mixture(self.runs)


def mixture(runs: Iterable[Run]) -> str:
    """As `Sweep.mixture`."""
    made = Counter(run.emulated_by for run in runs)
    counts = "; ".join(f"{count} by {name}" for name, count in sorted(made.items()))
    return f"These runs are not of one emulator, so small differences between them say nothing: {counts}." * (
        len(made) > 1
    )


def load_sweep(folder: str | Path) -> Sweep:
    """All runs below ``folder``, sorted by path, or else those of the folder's archive.

    If a trial has several tries, the last valid one counts, or else the last one, in the order of their paths (file
    times are not reliable). Runs whose link rate, length or other settings differ from those of the majority are left
    out. Raises ValueError when there is no such folder.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"there is no results folder {folder}")
    found: dict[Path, Run] = {}
    skipped = []
    files = find_files(folder, "run.json")  # not hidden ones, which are being written
    for path in files:
        if ASIDE.fullmatch(path.parent.name):
            skipped.append(Skipped(path, "is of other files or of another emulator than the run in its place"))
            continue
        try:
            found[path] = read(path)
        except (OSError, ValueError) as error:  # the file may be gone by now
            skipped.append(Skipped(path, str(error), unreadable=True))
    archive = folder / ARCHIVE
    if not files and os.path.lexists(archive):
        try:
            for name, content in unpacked(archive):
                try:
                    found[folder / name] = decode(content)
                except ValueError as error:
                    skipped.append(Skipped(folder / name, str(error), unreadable=True))
        except ValueError as error:
            skipped.append(Skipped(archive, str(error), unreadable=True))
        found = dict(sorted(found.items()))
    unlike = _unlike(found)
    for one in unlike:
        del found[one.path]
    tries = tuple(found.values())
    older = _older(found)
    for one in older:
        del found[one.path]
    skipped = sorted([*skipped, *unlike, *older], key=lambda one: one.path)
    return Sweep(folder, tuple(found.values()), tuple(found), tuple(skipped), tries)


def _unlike(found: Mapping[Path, Run]) -> list[Skipped]:
    settings = {path: frozenset(_settings(run)) for path, run in found.items()}
    usual = max(Counter(settings.values()).items(), key=lambda pair: pair[1], default=(frozenset(), 0))[0]
    return [
        Skipped(
            path, "has other settings than most runs here: " + ", ".join(f"{a} {b}" for a, b in sorted(own - usual))
        )
        for path, own in settings.items()
        if own != usual
    ]


def _settings(run: Run) -> Iterator[tuple[str, str]]:
    return ((name, str(value)) for name, value in msgspec.structs.asdict(run.spec).items() if name not in VARYING)


def _older(found: Mapping[Path, Run]) -> list[Skipped]:
    """All tries of a trial except the one that counts; ``found`` has the first try first."""
    chosen: dict[tuple[str, str, int], Path] = {}
    older = []
    for path, run in found.items():
        trial = (run.pattern, run.scheme, run.trial)
        before = chosen.get(trial)
        if before is not None and found[before].valid and not run.valid:
            older.append(Skipped(path, "another try of this trial is valid"))
            continue
        if before is not None:
            older.append(Skipped(before, "the trial was run again"))
        chosen[trial] = path
    return older
