"""A sweep's published form: its bars, paired tests, settings, and the measurements of every run."""

from __future__ import annotations

from pathlib import Path

from files.reader import find_files, read_bytes
from files.rights import make_folder
from files.writer import write_whole
from plots.load import load_sweep
from plots.table import csv_text
from plots.trials import csv_text as tests_text
from results.archive import ARCHIVE, pack
from results.record import MAX_BYTES

SETTINGS = "sweep.json"


def keep(folder: Path, to: Path) -> list[Path]:
    """Write the published form of the sweep in ``folder`` into ``to``, which is created, and return the files. The
    archive includes repeated tries. Raises ValueError, one sentence, when there is no run or something cannot be
    read."""
    sweep = load_sweep(folder)
    files = find_files(folder, "run.json")
    if not sweep.runs or not files:
        raise ValueError(f"{folder} has no run (run.json) to keep")
    kept: dict[str, str | bytes] = {
        ARCHIVE: pack({str(path.relative_to(folder)): read_bytes(path, MAX_BYTES) for path in files}),
        SETTINGS: read_bytes(folder / SETTINGS, MAX_BYTES),
        "summary.csv": csv_text(sweep.runs, sweep.tries),
        "differences.csv": tests_text(sweep.runs, sweep.tries),
    }
    make_folder(to)
    for name, content in kept.items():
        write_whole(to / name, content)
    return [to / name for name in kept]
