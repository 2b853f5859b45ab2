"""A sweep as tables for any program: a row per run, a row per flow; and its published form. Neither names a place of
the machine that made it (`plots.local_paths`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from plots import paired_tests, summary
from plots.local_paths import make_local_path_remover
from plots.published import find_published_share
from plots.rates import find_traced
from plots.stored_sweep import Sweep, load_sweep
from plots.summary import as_csv, find_published_k
from record.files import find_files, write_whole
from record.run import ARCHIVE, CONNECTIONS, MAX_RUN_BYTES, QUEUES, FlowRecord, Run, decode, pack
from traffic.user_files import read_regular

SETTINGS = "sweep.json"
RUN_COLUMNS = ("run", "pattern", "scheme", "trial", "seed", "verdict")
"""Columns of both tables; ``run`` is the run's folder, which joins them."""
FLOW_COLUMNS = (
    "flow", "src", "dst", "src_port", "start_s", "seconds", "mbps", "window_mbps", "size_bytes", "completion_s",
    "fluid_s", "late_s", "connect_s", "how", "retransmissions", "rtt_ms", "first_core", "last_core", "moves",
)  # fmt: skip


def export(folder: Path, to: Path) -> list[Path]:
    """Write the tables of the sweep in ``folder`` into ``to``, which is created, and return them. If a trial was run
    twice, they have the try that counts; and those of traces where runs have any. Raises ValueError, one sentence,
    when there is no run."""
    sweep = load_sweep(folder)
    if not sweep.runs:
        why = f": {sweep.skipped[0].path} {sweep.skipped[0].reason}" if sweep.skipped else ""
        raise ValueError(f"{folder} has no run (run.json) to export{why}")
    flows = _format_csv(make_flow_rows(sweep), (*RUN_COLUMNS, *FLOW_COLUMNS))
    tables = {"runs.csv": _format_csv(run_rows(sweep)), "flows.csv": flows}
    folders = [place for place, _ in find_traced(sweep)]
    for name in (QUEUES, CONNECTIONS) if folders else ():
        from pandas import concat, read_csv

        tables[name] = as_csv(
            concat(
                read_csv(run_folder / name).assign(run=str(run_folder.relative_to(folder))) for run_folder in folders
            )
        )
    clean = make_local_path_remover(sweep.tries)
    return _write(to, {name: clean(text) for name, text in tables.items()})


def keep(folder: Path, to: Path) -> list[Path]:
    """Write the published form of the sweep in ``folder`` into ``to``, which is created, and return the files: its
    bars, paired tests, settings, and the measurements of every run, repeated tries included, in one archive. Raises
    ValueError, one sentence, when there is no run or something cannot be read."""
    sweep = load_sweep(folder)
    files = find_files(folder, "run.json")
    if not sweep.runs or not files:
        raise ValueError(f"{folder} has no run (run.json) to keep")
    try:
        settings = read_regular(folder / SETTINGS, MAX_RUN_BYTES)
    except ValueError as reason:
        raise ValueError(f"{folder / SETTINGS} {reason}") from None
    # The runs are kept as they are in their files, unreadable ones and repeated tries included: whoever doubts a bar
    # finds all that was measured.
    contents = {str(path.relative_to(folder)): read_regular(path, MAX_RUN_BYTES) for path in files}
    clean = make_local_path_remover(_decode_runs(contents.values()))
    documents = {clean(name): clean(content.decode()).encode() for name, content in contents.items()}
    tables = {
        "summary.csv": summary.format_csv,
        "differences.csv": paired_tests.format_csv,
        "seeds.csv": paired_tests.format_seeds_csv,
    }
    texts = {name: clean(csv_text(sweep)) for name, csv_text in tables.items()}
    return _write(to, {ARCHIVE: pack(documents), SETTINGS: clean(settings.decode()), **texts})


def _decode_runs(contents: Iterable[bytes]) -> Iterator[Run]:
    """The runs that can be read. The archive takes the others, too."""
    for content in contents:
        with suppress(ValueError):
            yield decode(content)


def _write(to: Path, files: Mapping[str, str | bytes]) -> list[Path]:
    for name, content in files.items():
        write_whole(to / name, content)
    return [to / name for name in files]


def run_rows(sweep: Sweep) -> Iterator[dict[str, Any]]:
    """A row per run. ``share_of_control``: of the control of the same pattern and trial, if both are valid;
    ``published_share``: the paper's number for such a bar, if it has one."""
    rows = summary.make_frame(sweep)
    shares = rows[rows.counts].ratio
    for file, run, share in zip(sweep.files, sweep.runs, shares, strict=True):
        yield {
            **_run_columns(sweep, file, run),
            "bisection_mbps": run.bisection_mbps,
            "share_of_control": share,
            "published_share": find_published_share(run.pattern, run.scheme, find_published_k(run)),
            "payload_mbps": run.payload_mbps,
            "maxmin_mbps": run.maxmin_mbps,
            "capacity_mbps": run.capacity_mbps,
            "window_from_s": run.window_s[0],
            "window_to_s": run.window_s[1],
            "flows": len(run.flows),
            "moves": sum(map(count_moves, run.flows)),
            "dropped_packets": sum(run.queue_drops.values()),
            "started": run.started.isoformat() if run.started else None,
            "reasons": "; ".join(run.reasons),
            **run.settings,
        }


def make_flow_rows(sweep: Sweep) -> Iterator[dict[str, Any]]:
    """A row per flow of every run. ``moves``: how often it went to another core; cores are counted from 0."""
    for file, run in zip(sweep.files, sweep.runs, strict=True):
        run_columns = _run_columns(sweep, file, run)
        for number, flow in enumerate(run.flows):
            first, last = (flow.paths[0].core, flow.paths[-1].core) if flow.paths else (None, None)
            paths = {"first_core": first, "last_core": last, "moves": count_moves(flow)}
            measured = {name: getattr(flow, name) for name in FLOW_COLUMNS if hasattr(flow, name)}
            yield {**run_columns, "flow": number, "start_s": flow.start, **measured, **paths}


def _run_columns(sweep: Sweep, file: Path, run: Run) -> dict[str, Any]:
    folder = str(file.parent.relative_to(sweep.folder))
    return dict(zip(RUN_COLUMNS, (folder, run.pattern, run.scheme, run.trial, run.seed, run.verdict), strict=True))


def count_moves(flow: FlowRecord) -> int:
    """How often a flow went to another core."""
    return sum(former.core != later.core for former, later in pairwise(flow.paths))


def _format_csv(rows: Iterable[Mapping[str, Any]], columns: tuple[str, ...] | None = None) -> str:
    """The rows as CSV, of these ``columns`` alone if they are named. Missing values are empty cells; several values in
    a cell have blanks between them."""
    from pandas import DataFrame

    # Frames would make 1.0 of a whole number in a column with gaps; as objects, cells stay what they are.
    cells = ({k: " ".join(map(str, v)) if isinstance(v, tuple) else v for k, v in row.items()} for row in rows)
    return as_csv(DataFrame(cells, columns=columns, dtype=object))
