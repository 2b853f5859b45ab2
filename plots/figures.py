"""Everything that can be drawn from the folder of a sweep, in one call."""

from __future__ import annotations

import contextlib
import re
import stat
from pathlib import Path

from files.writer import write_whole
from hedera.schemes import CONTROL
from plots.load import Sweep, load_sweep
from plots.table import csv_text, markdown
from results.archive import ARCHIVE
from results.record import Run

FOLDER = "figures"


def write_all(folder: str | Path) -> list[Path]:
    """Write the figures and tables of a sweep into ``folder/figures`` and return them, the main ones first.

    `figure9.png` and `.svg` (Mb/s of payload), `figure9-normalised` (share of the control), both with the published
    numbers where a pattern has them; `summary.csv` and `summary.md`; `differences.csv`, paired tests between schemes;
    `rates/PATTERN-trial-N.png` for each trial, drawn again only when a run in it is newer; `completion.csv` and
    `.png` for flows that arrive and end. Without runs there are no files. Raises ValueError when there is no such
    folder.
    """
    sweep = load_sweep(folder)
    if not sweep.runs:
        return []
    from plots import completion, figure9, trials

    out = sweep.folder / FOLDER
    files = [
        *figure9.draw(sweep.runs, out / "figure9"),
        *figure9.draw(sweep.runs, out / "figure9-normalised", normalised=True),
    ]
    for name, text in (
        ("summary.csv", csv_text(sweep.runs, sweep.tries)),
        ("summary.md", markdown(sweep.runs, sweep.tries)),
        ("differences.csv", trials.csv_text(sweep.runs, sweep.tries)),
    ):
        write_whole(out / name, text)
        files.append(out / name)
    if any(run.valid and run.completion for run in sweep.runs):
        write_whole(out / "completion.csv", completion.csv_text(sweep.runs, sweep.tries))
        files += [out / "completion.csv", *completion.draw(sweep.runs, out / "completion.png")]
    return files + _rate_sheets(sweep, out / "rates")


def _rate_sheets(sweep: Sweep, out: Path) -> list[Path]:
    from plots import rates

    sheets: dict[tuple[str, int], dict[Path, Run]] = {}
    for path, run in zip(sweep.files, sweep.runs, strict=True):
        sheets.setdefault((run.pattern, run.trial), {})[path] = run
    files = []
    for (pattern, trial), members in sorted(sheets.items()):
        file = out / f"{_file_name(pattern)}-trial-{trial}.png"
        newest = max(_changed_ns(path, sweep.folder) for path in members)
        if _drawn_ns(file) < newest:
            runs = list(members.values())
            rates.draw(runs, file, next((run for run in runs if run.scheme == CONTROL), None))
        files.append(file)
    return files


def _changed_ns(run: Path, folder: Path) -> int:
    """When a run, or the archive it comes from, was stored."""
    return (run if run.exists() else folder / ARCHIVE).stat().st_mtime_ns


def _drawn_ns(file: Path) -> int:
    """When a picture was drawn; 0 if it does not exist or is not ours."""
    with contextlib.suppress(OSError):
        about = file.lstat()
        return about.st_mtime_ns if stat.S_ISREG(about.st_mode) else 0
    return 0


def _file_name(pattern: str) -> str:
    return re.sub(r"[^A-Za-z0-9.,_-]+", "_", pattern).strip("_.")[:200] or "pattern"
