"""Everything that can be drawn from the folder of a sweep, in one call."""

from __future__ import annotations

import re
from pathlib import Path

from hedera.schemes import CONTROL
from plots.load import Sweep, load_sweep
from plots.table import csv_text
from record.archive import ARCHIVE
from record.files import write_whole
from record.run import Run

FOLDER = "figures"


def write_all(folder: str | Path) -> list[Path]:
    """Write the figures and tables of a sweep into ``folder/figures`` and return them, the main ones first.

    `figure9.png` and `.svg`, with the published numbers where a pattern has them, and `figure9-patterns` where that is
    by families (`plots.figure9_families`); `summary.csv`;
    `differences.csv`, paired tests between schemes; `completion.csv` and `.png` for flows that arrive and end;
    `rates/PATTERN-trial-N.svg` for each trial. Without runs there are no files. Raises ValueError when there is no
    such folder.
    """
    sweep = load_sweep(folder)
    if not sweep.runs:
        return []
    from plots import completion, trials

    out = sweep.folder / FOLDER
    files = bars(sweep, out / "figure9")
    for name, text in (
        ("summary.csv", csv_text(sweep.runs, sweep.tries)),
        ("differences.csv", trials.csv_text(sweep.runs, sweep.tries)),
    ):
        write_whole(out / name, text)
        files.append(out / name)
    if any(run.valid and run.completion for run in sweep.runs):
        write_whole(out / "completion.csv", completion.csv_text(sweep.runs, sweep.tries))
        files += [out / "completion.csv", *completion.draw(sweep.runs, out / "completion.png")]
    return [*files, *rate_sheets(sweep).values()]


def bars(sweep: Sweep, path: Path) -> list[Path]:
    """Draw every bar; published patterns of several families by family first, and then one by one."""
    from plots import figure9, figure9_families
    from plots.summary import summarise

    summary = summarise(sweep.runs, sweep.tries)
    if not figure9_families.applies(summary):
        return figure9.draw(sweep.runs, path)
    files = figure9_families.draw(sweep.runs, summary, path)
    return files + figure9.draw(sweep.runs, path.with_name(f"{path.name}-patterns"))


def rate_sheets(sweep: Sweep) -> dict[tuple[str, int], Path]:
    """The pictures of rates over time by (pattern, trial); each is drawn again only if a run of it is newer."""
    from plots import rates

    sheets: dict[tuple[str, int], dict[Path, Run]] = {}
    for path, run in zip(sweep.files, sweep.runs, strict=True):
        sheets.setdefault((run.pattern, run.trial), {})[path] = run
    files = {}
    for (pattern, trial), members in sorted(sheets.items()):
        name = re.sub(r"[^A-Za-z0-9.,_-]+", "_", pattern).strip("_.")[:200] or "pattern"
        file = sweep.folder / FOLDER / "rates" / f"{name}-trial-{trial}.svg"
        stored = [path if path.exists() else sweep.folder / ARCHIVE for path in members]
        if not file.is_file() or file.stat().st_mtime_ns < max(path.stat().st_mtime_ns for path in stored):
            runs = list(members.values())
            rates.draw(runs, file, next((run for run in runs if run.scheme == CONTROL), None))
        files[pattern, trial] = file
    return files
