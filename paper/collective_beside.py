"""Emulated collectives beside the simulator, flow by flow: real TCP against max-min fair rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from commands.output import plain_table
from hedera.schemes import scheme as scheme_of
from paper import emulated
from paper.style import clean, heading, new_figure, saved
from plots.style import colour, house_style
from results.record import Run, read
from simulator.config import Config
from topos.wire import payload_share

if TYPE_CHECKING:
    from rich.table import Table

TICK_S = 1e-4


@dataclass(frozen=True)
class Row:
    """A flow of a run: seconds since the collective began. ``core``: by which it went when it started."""

    traffic: str
    scheme: str
    seed: int
    flow: int
    src: int
    dst: int
    size_bytes: int
    core: int | None
    simulated_core: int
    start_s: float
    end_s: float
    simulated_start_s: float
    simulated_end_s: float


@dataclass(frozen=True)
class Summary:
    """A run: when its collective was done by both, seconds, and emulated over simulated: of that, and of the flows'
    times the median, the 5th and the 95th percentile. ``same_path``: the share of flows that began on the same path
    in both."""

    traffic: str
    scheme: str
    seed: int
    flows: int
    emulated_s: float
    simulated_s: float
    ratio: float
    median_flow: float
    low_flow: float
    high_flow: float
    same_path: float


def run_of(folder: Path) -> Run:
    """The run of a folder. Raises ValueError, one sentence, unless it is of a collective, and counts."""
    path = folder / "run.json"
    try:
        run = read(path)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if run.collective is None:
        raise ValueError(f"{path} is a run of {run.traffic!r}, which is no collective")
    if not run.valid or run.collective.completion_s is None:
        raise ValueError(f"{path} does not count: it is {run.verdict}, or its collective did not end")
    return run


def config_of(run: Run) -> Config:
    """The same experiment in the simulator. Its links carry what packets leave to payload."""
    asked = emulated.config_of(run, TICK_S, "maxmin")
    return replace(asked, link_mbps=run.spec.link_mbps * payload_share(run.spec.mtu))


def beside(run: Run) -> list[Row]:
    """The flows of an emulated collective, and what the simulator makes of each."""
    from simulator.driver import simulate

    found = simulate(config_of(run))
    assert found.graph is not None
    nodes = np.flatnonzero(~found.graph.computes)
    rows = []
    for number, (node, flow) in enumerate(zip(nodes.tolist(), run.flows, strict=True)):
        if (flow.src, flow.dst) != (found.graph.src[node], found.graph.dst[node]):
            raise ValueError(f"flow {number} of the run is not what its seed and traffic {run.traffic!r} give")
        before = [change.core for change in flow.paths if change.t <= flow.start]
        rows.append(
            Row(
                run.traffic,
                run.scheme,
                run.seed,
                number,
                flow.src,
                flow.dst,
                flow.size_bytes or 0,
                before[-1] if before else None,
                int(found.core[node]),
                flow.start,
                flow.start + (flow.completion_s or 0.0),
                float(found.start_s[node]),
                float(found.end_s[node]),
            )
        )
    return rows


def summary(rows: Sequence[Row]) -> Summary:
    """Of one run's flows."""
    one = rows[0]
    took = [
        (row.end_s - row.start_s) / (row.simulated_end_s - row.simulated_start_s)
        for row in rows
        if row.simulated_end_s > row.simulated_start_s
    ]
    low, middle, high = np.percentile(took, (5, 50, 95)).tolist()
    same = [row.core is None or row.core == row.simulated_core for row in rows]
    done, simulated = max(row.end_s for row in rows), max(row.simulated_end_s for row in rows)
    return Summary(
        one.traffic, one.scheme, one.seed, len(rows), done, simulated, done / simulated,
        middle, low, high, float(np.mean(same)),
    )  # fmt: skip


def told(found: Sequence[Summary]) -> Table:
    """A line for each run."""
    table = plain_table(
        "Emulated over simulated: completion, and the times of flows (median, 5th to 95th percentile)",
        "collective", "scheme", "seed", "flows", "emulated [s]", "simulated [s]", "ratio",
        "median", "5th to 95th", "same path [%]", left=2,
    )  # fmt: skip
    for one in found:
        table.add_row(
            one.traffic, one.scheme, str(one.seed), str(one.flows), f"{one.emulated_s:.3f}",
            f"{one.simulated_s:.3f}", f"{one.ratio:.3f}", f"{one.median_flow:.3f}",
            f"{one.low_flow:.3f} to {one.high_flow:.3f}", f"{100 * one.same_path:.0f}",
        )  # fmt: skip
    return table


def draw(runs: Sequence[Sequence[Row]], path: Path) -> Path:
    """When each flow ended, emulated over simulated: a row of panels for each traffic, a column for each scheme."""
    traffics = list(dict.fromkeys(rows[0].traffic for rows in runs))
    schemes = list(dict.fromkeys(rows[0].scheme for rows in runs))
    with house_style():
        figure = new_figure(max(4.6, 2.3 * len(schemes)), 0.6 + 2.6 * len(traffics))
        grid = figure.subplots(len(traffics), len(schemes), squeeze=False, sharex="row", sharey="row")
        for line, traffic in zip(grid, traffics, strict=True):
            here = [row for rows in runs if rows[0].traffic == traffic for row in rows]
            most = max(max(row.end_s, row.simulated_end_s) for row in here)
            for axes, scheme in zip(line, schemes, strict=True):
                shown = [row for row in here if row.scheme == scheme]
                axes.plot([0, most], [0, most], color="0.6", linewidth=0.8)
                axes.plot(
                    [row.simulated_end_s for row in shown], [row.end_s for row in shown], ".", markersize=2,
                    color=colour(scheme),
                )  # fmt: skip
                clean(axes)
            line[0].set_ylabel(f"{traffic}\nemulated [s]")
        for axes, scheme in zip(grid[0], schemes, strict=True):
            axes.set_title(scheme_of(scheme).label)
        for axes in grid[-1]:
            axes.set_xlabel("simulated [s]")
        heading(figure, "When each flow of a collective ended: real TCP in virtual time, and the simulator")
        return saved(figure, path)
