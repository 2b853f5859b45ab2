"""What `hedera run --trace` wrote down: queues, round trips and congestion windows over time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from plots.style import house_style, save
from record.run import CONNECTIONS, QUEUES, Run

if TYPE_CHECKING:
    from pandas import DataFrame

    from plots.load import Sweep

FULLEST = 5
"""Ports whose queues are drawn: those with the most on average."""


def traced(sweep: Sweep) -> Iterator[tuple[Path, Run]]:
    """The runs of a sweep that have traces, with their folders."""
    for path, run in zip(sweep.files, sweep.runs, strict=True):
        if (path.parent / QUEUES).is_file():
            yield path.parent, run


def table(folder: Path, name: str) -> DataFrame:
    """`QUEUES` (t, port, bytes; no row where a queue was empty) or `CONNECTIONS` (t, src, dst, src_port,
    window_segments, rtt_ms) of a run."""
    import pandas as pd

    return pd.read_csv(folder / name)


def draw(folder: Path, run: Run) -> Path:
    """``trace.svg``: the fullest queues, and each flow's round trip and window; drawn again only if these are newer."""
    from matplotlib.figure import Figure

    file = folder / "trace.svg"
    if file.is_file() and file.stat().st_mtime_ns >= (folder / QUEUES).stat().st_mtime_ns:
        return file
    queues, connections = table(folder, QUEUES), table(folder, CONNECTIONS)
    with house_style():
        made = Figure(figsize=(7.5, 7), layout="constrained")
        waiting, round_trip, window = made.subplots(3, sharex=True)
        times = connections.t.drop_duplicates()
        packets = queues.pivot(index="t", columns="port", values="bytes").reindex(times).fillna(0.0) / run.spec.mtu
        for port in packets.mean().nlargest(FULLEST).index:
            waiting.plot(packets.index, packets[port], linewidth=1, label=port)
        if not packets.empty:
            waiting.legend(ncols=FULLEST, fontsize=7, loc="upper right")
        for _, rows in connections.groupby(["src", "dst", "src_port"]):
            round_trip.plot(rows.t, rows.rtt_ms, linewidth=0.8)
            window.plot(rows.t, rows.window_segments, linewidth=0.8)
        waiting.set(
            ylabel="queue (packets)",
            ylim=(0, 1.25 * max([1.0, *packets.max()])),
            title=f"{run.scheme} on {run.pattern}: the fullest queues, each flow",
        )
        round_trip.set(ylabel="round trip (ms)", ylim=(0, None))
        window.set(ylabel="window (segments)", ylim=(0, None), xlabel="seconds since the traffic started")
        return save(made, file, ("svg",))[0]
