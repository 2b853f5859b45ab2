"""Rate over time: each run beside the control of the same trial, with the measured window; and the traces of a run:
queues, round trips and congestion windows.

Scheduling rounds are marked on the time axis, to show which change of paths a change of rate follows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedera.schemes import CONTROL
from plots.pictures import create_figure, save
from plots.style import DASHES, INK, INVALID, MUTED, colour, house_style, label, order_schemes, shorten_name
from record.options import get_pictures
from record.progress import progress_bar
from record.run import ARCHIVE, CONNECTIONS, QUEUES, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from plots.printable_figure import PrintableFigure
    from plots.stored_sweep import Sweep

PanelMaker = Callable[[int], "tuple[PrintableFigure, list[Axes]]"]
"""A function that makes a figure with that number of panels."""
_COLUMNS = 3
_PANEL, _LONE_PANEL, _GAP = (3.55, 1.75), (6.2, 2.6), (0.25, 0.42)  # inches, as are the margins
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.65, 0.15, 0.86, 0.55
_WINDOW = "#e9f0f7"
_DOWN = "#fbe3cf"
FEW = 10
"""Up to so many pictures are drawn without a progress bar."""
FULLEST = 5
"""So many ports have their queues drawn: those that hold the most on average."""


def draw_sheets(sweep: Sweep, folder: Path) -> dict[tuple[str, int], Path]:
    """The pictures of a sweep by (pattern, trial), in ``folder``; each is drawn again only if a run of it is newer, or
    where a format or a width was asked for."""
    members: dict[tuple[str, int], dict[Path, Run]] = {}
    for path, run in zip(sweep.files, sweep.runs, strict=True):
        members.setdefault((run.pattern, run.trial), {})[path] = run
    files: dict[tuple[str, int], Path] = {}
    to_draw: dict[Path, list[Run]] = {}
    formats_asked = get_pictures().asked
    # A layout for so many panels is made once and filled again and again. A picture for print is laid out anew instead,
    # and would spoil it.
    laid_out = None if formats_asked else cache(_create_panels)
    for (pattern, trial), runs in sorted(members.items()):
        name = re.sub(r"[^A-Za-z0-9.,_-]+", "_", pattern).strip("_.")[:200] or "pattern"
        file = files[pattern, trial] = folder / f"{name}-trial-{trial}.svg"
        stored = [path if path.exists() else sweep.folder / ARCHIVE for path in runs]
        if (
            formats_asked
            or not file.is_file()
            or file.stat().st_mtime_ns < max(path.stat().st_mtime_ns for path in stored)
        ):
            to_draw[file] = list(runs.values())
    drawn_files: dict[Path, Path] = {}
    # A few take no time; hundreds, as of all of Figure 9, take minutes.
    many = len(to_draw) > FEW
    with progress_bar("pictures of rates", len(to_draw)) if many else nullcontext(lambda done: None) as bar:
        for file, runs_of_file in to_draw.items():
            with house_style():
                (drawn_files[file],) = save(draw_figure(runs_of_file, laid_out), file, ("svg",))[:1]
            bar(len(drawn_files))
    return {key: drawn_files.get(file, file) for key, file in files.items()}


def draw_figure(runs: Sequence[Run], laid_out: PanelMaker | None = None) -> PrintableFigure:
    """A panel for each run of a trial; all panels have the same axes. The control is drawn in grey in every panel; it
    has a panel of its own only when it is the only run, or invalid. ``laid_out`` may give a figure drawn before: making
    the panels takes longer than drawing them."""
    control = next((run for run in runs if run.scheme == CONTROL), None)
    order = order_schemes(run.scheme for run in runs)
    drawn_runs = [run for run in runs if run is not control or not run.valid] or list(runs)
    drawn_runs.sort(key=lambda run: (order.index(run.scheme), run.trial))
    # One scale for all panels, so that heights can be compared across them.
    ceiling = 1.08 * max(max((run.capacity_mbps, *run.rates.total_mbps)) for run in runs)
    end = max(max((run.window_s[1], *run.rates.t)) for run in runs)
    drawing, panels = (laid_out or _create_panels)(len(drawn_runs))
    for ax, run in zip(panels, drawn_runs, strict=True):
        ax.set_xlim(0, end)
        ax.set_ylim(0, ceiling)
        _draw_panel(ax, run, control)
    _draw_legend(drawing, drawn_runs, control)
    return drawing


def draw_simulated_rates(
    scheme: str, mbps: Sequence[float], capacity_mbps: float, window_s: tuple[float, float]
) -> PrintableFigure:
    """The rate of all hosts in each second of a simulation, and what the links of all hosts carry."""
    drawing = create_figure(*_LONE_PANEL)
    ax = drawing.subplots()
    ax.axvspan(*window_s, color=_WINDOW, linewidth=0, zorder=0)
    ax.axhline(capacity_mbps, color=INK, linewidth=0.9, linestyle=DASHES, label="capacity")
    ax.plot(range(1, len(mbps) + 1), mbps, color=colour(scheme), linewidth=2, label=shorten_name(scheme))
    ax.set(xlim=(0, len(mbps)), ylim=(0, 1.08 * max(capacity_mbps, *mbps)), xlabel="seconds", ylabel="received (Mb/s)")
    ax.set_title("shaded: measured", color=MUTED)
    ax.grid(axis="y")
    ax.legend(loc="lower right")
    return drawing


def _create_panels(count: int) -> tuple[PrintableFigure, list[Axes]]:
    """Panels in rows of three, placed by hand: a layout engine would take longer than the drawing."""
    from matplotlib.ticker import MaxNLocator

    columns = min(count, _COLUMNS)
    rows = math.ceil(count / columns)
    wide, high = _PANEL if columns > 1 else _LONE_PANEL
    width = _LEFT + columns * wide + (columns - 1) * _GAP[0] + _RIGHT
    height = _TOP + rows * high + (rows - 1) * _GAP[1] + _BOTTOM
    figure = create_figure(width, height, None)
    edges = {"left": _LEFT / width, "right": 1 - _RIGHT / width, "top": 1 - _TOP / height, "bottom": _BOTTOM / height}
    grid = figure.add_gridspec(rows, columns, wspace=_GAP[0] / wide, hspace=_GAP[1] / high, **edges)
    panels = [figure.add_subplot(grid[divmod(i, columns)]) for i in range(count)]
    for i, ax in enumerate(panels):
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_label_coords(0, 0)  # of no label; otherwise each drawing looks for its place
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True, prune="upper"))  # the next panel begins beside it
        ax.grid(axis="y")
        ax.tick_params(labelleft=i % columns == 0, labelbottom=i + columns >= count, labelsize=8.5)
    figure.supxlabel("seconds since the traffic started", fontsize=9, y=0.1 / height, va="bottom")
    middle = (_BOTTOM + (height - _TOP)) / 2 / height
    figure.supylabel("received, on the wire (Mb/s)", fontsize=9, x=0.06 / width, y=middle, ha="left")
    return figure, panels


def _draw_panel(ax: Axes, run: Run, control: Run | None) -> None:
    # The panel may have been filled before (`draw_sheets`).
    for before in (*ax.lines, *ax.patches, *ax.collections, *ax.texts):
        before.remove()
    ax.set_facecolor("white" if run.valid else "#fdf1f2")
    if run.valid:
        ax.axvspan(*run.window_s, color=_WINDOW, linewidth=0, zorder=0)
    if run.failures and run.phases:
        _draw_failures(ax, run)
    else:
        ax.axhline(run.capacity_mbps, color=INK, linewidth=0.9, linestyle=DASHES, zorder=1.5)
    for moved, height, width, color in ((True, 0.1, 1.5, INK), (False, 0.045, 0.7, MUTED)):
        if times := [r.t for r in run.rounds if (r.changed > 0) is moved]:
            ax.vlines(times, 0, height, color, linewidth=width, zorder=4, transform=ax.get_xaxis_transform())
    if control is not None and control is not run:
        _draw_line(ax, control, 1.3)
    _draw_line(ax, run, 2)
    ax.set_title(_write_heading(run, control), fontweight="bold")
    ax.set_title("" if run.valid else run.verdict.upper(), loc="right", color=INVALID, fontweight="bold")


def _draw_failures(ax: Axes, run: Run) -> None:
    """What failed and when, the highest possible rate then, and how soon flows were moved."""
    end = ax.get_xlim()[1]
    edges = [0.0, *(phase.from_s for phase in run.phases[1:]), end]
    for phase, a, b in zip(run.phases, edges[:-1], edges[1:], strict=True):
        if phase.down:
            ax.axvspan(a, b, color=_DOWN, linewidth=0, zorder=0.5)
    best = [run.capacity_mbps if phase.best_mbps is None else phase.best_mbps for phase in run.phases]
    ax.stairs(best, edges, baseline=None, color=INK, linewidth=0.9, linestyle=DASHES, zorder=1.5)
    for failure in run.failures:
        ax.axvline(failure.t, color=INVALID, linewidth=0.9, zorder=1.6)
        if failure.affected:
            times = {"moved in": failure.rerouted_s, "all moving by": failure.moving_s}
            lines = [f"{happening} {time:.2g} s" for happening, time in times.items() if time is not None]
            text = "\n".join([f"{failure.affected} flows hit", *lines])
            style: dict[str, Any] = {"va": "bottom", "fontsize": 7, "color": INVALID, "zorder": 8}
            ax.text(failure.t + 0.01 * end, 0.12 * ax.get_ylim()[1], text, **style)


def _draw_line(ax: Axes, run: Run, width: float) -> None:
    style = "-" if run.valid else (0, (2, 1.2))
    ax.plot(run.rates.t, run.rates.total_mbps, color=colour(run.scheme), linewidth=width, linestyle=style)


def _write_heading(run: Run, control: Run | None) -> str:
    if not run.valid or run.bisection_mbps is None:
        return shorten_name(run.scheme)
    text = f"{shorten_name(run.scheme)}   {run.bisection_mbps:.1f} Mb/s"
    if control is None or control is run or not control.valid or not control.bisection_mbps:
        return text
    return f"{text}, {run.bisection_mbps / control.bisection_mbps:.0%} of control"


def _draw_legend(figure: PrintableFigure, runs: Sequence[Run], control: Run | None) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    broken = any(run.failures for run in runs)
    moves = {r.changed > 0 for run in runs for r in run.rounds}
    handles: list[tuple[Any, str]] = []
    if control is not None:
        rate = f" {control.bisection_mbps:.1f} Mb/s" if control.valid and control.bisection_mbps else ""
        name = f"control{rate}" if control.valid else f"control ({control.verdict.upper()})"
        handles.append((Line2D([], [], color=colour(CONTROL), linewidth=1.6), name))
    capacity = "most possible" if broken else f"capacity {runs[0].capacity_mbps:g} Mb/s"
    handles.append((Line2D([], [], color=INK, linewidth=0.9, linestyle=DASHES), capacity))
    handles.append((Patch(facecolor="#dde8f2"), "measured"))
    if broken:
        handles.append((Patch(facecolor=_DOWN), "links down"))
    for moved, size, width, color, name in (
        (True, 9, 1.5, INK, "round that moved flows"),
        (False, 5, 0.8, MUTED, "round"),
    ):
        if moved in moves:
            style: dict[str, Any] = {"marker": "|", "linestyle": "", "markersize": size, "markeredgewidth": width}
            handles.append((Line2D([], [], color=color, **style), name))
    title = f"{label(runs[0].pattern)}, trial {runs[0].trial}"
    width, height = figure.get_size_inches()
    left_x = _LEFT / width
    figure.suptitle(title, x=left_x, y=1 - 0.12 / height, ha="left", va="top", fontsize=11.5, fontweight="bold")
    for legend in list(figure.legends):
        legend.remove()
    place = {"loc": "upper left", "bbox_to_anchor": (left_x, 1 - 0.36 / height), "borderpad": 0, "borderaxespad": 0}
    figure.legend(
        *zip(*handles, strict=True), ncols=len(handles), fontsize=8, handlelength=1.5, columnspacing=1.3, **place
    )


# --- traces ----------------------------------------------------------------------------------------------------


def find_traced(sweep: Sweep) -> Iterator[tuple[Path, Run]]:
    """The runs of a sweep that have traces, with their folders."""
    for path, run in zip(sweep.files, sweep.runs, strict=True):
        if (path.parent / QUEUES).is_file():
            yield path.parent, run


def draw_trace(folder: Path, run: Run, path: Path | None = None) -> Path:
    """``trace.svg`` beside the files of `hedera run --trace`, and drawn again only if these are newer: the fullest
    queues, and each flow's round trip and window. ``path``: where it is drawn in any case."""
    import pandas as pd

    file = path or folder / "trace.svg"
    if path is None and file.is_file() and file.stat().st_mtime_ns >= (folder / QUEUES).stat().st_mtime_ns:
        return file
    queues, connections = pd.read_csv(folder / QUEUES), pd.read_csv(folder / CONNECTIONS)
    with house_style():
        drawing = create_figure(7.5, 7)
        waiting, round_trip, window = drawing.subplots(3, sharex=True)
        times = connections.t.drop_duplicates()
        # A trace has lines only of ports where something waited: at all other looks nothing did.
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
        return save(drawing, file, ("svg",))[0]
