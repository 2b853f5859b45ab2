"""Load against slowdown: completion times by size class under every scheme (`hedera completion`).

No figure of the paper's, but the question it leaves open in sections 6.3 and 6.4: what scheduling large flows does to
all others, and how short a period flows of that size need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click

from commands.output import conclude, write_csv
from commands.shared import Run, in_turn, in_words, json_option, output, parallel, runner
from hedera.schemes import scheme as scheme_of
from paper.scale import numbers, schemes_option
from paper.style import LABELS, clean, heading, new_figure, saved
from plots.style import colour, house_style
from simulator.config import Config
from simulator.workload import bounded
from traffic.completion import Completion

SCHEMES = ("nonblocking", "ecmp", "ecmp-dst", "random", "hedera-gff", "hedera-sa")
"""All but the spanning tree, whose one core switch is overloaded from a load of 1/64 on at k = 16."""
_CLASSES = {"small": "up to 100 kB", "medium": "100 kB to 10 MB", "large": "from 10 MB"}
HIDDEN = 0.001
"""From this share of flows on that were cut off, what is drawn is marked as a lower bound."""
_LINES = ("-", "--", ":", "-.")


@dataclass(frozen=True)
class Cell(Completion):
    """A size class under a scheme at a load; see `traffic.completion.Completion`.

    ``interval_s``: None for a scheme that does not schedule. ``carried``: what arrived in the window, as a share of
    all hosts' links; far below ``load``, flows come faster than the network serves them, and only queue up.
    """

    load: float = 0.0
    scheme: str = ""
    interval_s: float | None = None
    detect_s: float | None = None
    carried: float = 0.0


def plan(
    base: Config, sizes: str, loads: Sequence[float], schemes: Sequence[str], intervals_s: Sequence[float]
) -> list[Config]:
    """All simulations, the long ones first; static schemes need no period. All of a load have the same flows."""
    tasks = []
    for load in sorted(loads, reverse=True):
        for name in schemes:
            periods = intervals_s if scheme_of(name).scheduler else intervals_s[:1]
            for period in periods:
                detect_s = base.detect_s if name == "hedera-gff" else 0.0
                tasks.append(
                    replace(
                        base,
                        scheme=name,
                        traffic=f"poisson:{sizes},{load:g}",
                        interval_s=period,
                        detect_s=min(detect_s, period),
                    )
                )
    return tasks


def measure(config: Config) -> list[Cell]:
    """The classes of one simulation."""
    from simulator.driver import simulate

    result = simulate(config)
    schedules = scheme_of(config.scheme).scheduler is not None
    load = float(config.traffic.rpartition(",")[2])
    return [
        Cell(
            **asdict(one),
            load=load,
            scheme=config.scheme,
            interval_s=config.interval_s if schedules else None,
            detect_s=config.detect_s or None,
            carried=result.bisection_mbps / result.capacity_mbps,
        )
        for one in result.completion()
    ]


def compute(tasks: Sequence[Config], run: Run = in_turn) -> list[Cell]:
    """Carry out a `plan`; rows by load, scheme and period."""
    cells = [cell for cells in run(measure, tasks) for cell in cells]
    return sorted(cells, key=lambda cell: cell.load)


def draw(cells: Sequence[Cell], subtitle: str, path: Path) -> Path:
    """A column per size class: mean and 99th percentile of slowdowns; hollow where the end of the run hides many."""
    curves = list(dict.fromkeys((cell.scheme, cell.interval_s) for cell in cells))
    periods = sorted({period for _, period in curves if period is not None})
    with house_style():
        figure = new_figure(10.4, 6.4)
        grid = figure.subplots(2, 3, sharex=True)
        for column, (name, meaning) in enumerate(_CLASSES.items()):
            for scheme, period in curves:
                ours = [
                    cell for cell in cells
                    if (cell.scheme, cell.interval_s, cell.size_class) == (scheme, period, name) and cell.flows
                ]  # fmt: skip
                line = "-" if period is None else _LINES[periods.index(period) % len(_LINES)]
                text = LABELS.get(scheme, scheme) + ("" if period is None else f", {period:g} s")
                for axes, quantity in ((grid[0, column], "mean"), (grid[1, column], "p99")):
                    x = [cell.load for cell in ours]
                    y = [getattr(cell, f"{quantity}_slowdown") for cell in ours]
                    axes.plot(x, y, line, color=colour(scheme), lw=1.3, label=text)
                    bound = [n for n, cell in enumerate(ours) if cell.cut_off > HIDDEN * cell.flows]
                    axes.plot(
                        [x[n] for n in bound],
                        [y[n] for n in bound],
                        "o",
                        mfc="white",
                        color=colour(scheme),
                        ms=4,
                    )
            grid[0, column].set_title(meaning)
            grid[1, column].set_xlabel("load")
        for axes in grid.flat:
            if any(len(line.get_xdata()) for line in axes.lines):
                axes.set_yscale("log")
            clean(axes)
        grid[0, 0].set_ylabel("mean slowdown")
        grid[1, 0].set_ylabel("99th percentile of slowdown")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
        note = f"hollow: at least, as more than {HIDDEN:.1%} of the flows were cut off"
        heading(figure, f"Load against slowdown: {subtitle}\n{note}\n")
        return saved(figure, path)


@click.command()
@schemes_option(SCHEMES)
@click.option(
    "--sizes",
    default="web-search",
    show_default=True,
    help="web-search, data-mining, fixed:BYTES, FILE.csv ...",
)
@click.option(
    "--loads", default="0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9", show_default=True,
    help="Shares of the links' rate that hosts send.",
)  # fmt: skip
@click.option("--intervals", default="5,1,0.1", show_default=True, help="Scheduling periods, s.")
@click.option("-k", "k", default=16, show_default=True, help="Ports per switch.")
@click.option(
    "--seconds", default=12.0, show_default=True, help="Simulated; flows of the middle two thirds count."
)
@click.option("--seed", default=1, show_default=True, help="Fixes every draw.")
@click.option(
    "--tick", "tick_s", default=0.0001, show_default=True, help="A round-trip time (section 5.5), s."
)
@click.option("--engine", default="aimd", show_default=True, help="aimd or maxmin.")
@click.option("--iterations", default=1000, show_default=True, help="Of Simulated Annealing, each round.")
@click.option(
    "--detect", "detect_s", default=0.0,
    help="Global First Fit re-routes upon detection, looking this often, s (default: with the period).",
)  # fmt: skip
@output
@json_option
@parallel
@in_words
def command(
    schemes: tuple[str, ...], sizes: str, loads: str, intervals: str, out: Path, as_json: bool, jobs: int | None,
    cluster: str | None, **fields: float,
) -> None:  # fmt: skip
    """Load against slowdown, by size class, of flows that come and go."""
    detect_s = fields.pop("detect_s")
    intervals_s = numbers("--intervals", intervals, float)
    base = replace(Config("ecmp", "random", **fields), detect_s=0.0)  # type: ignore[arg-type]
    base = replace(base, interval_s=max(intervals_s), detect_s=detect_s)
    tasks = plan(base, sizes, numbers("--loads", loads, float), schemes, intervals_s)
    for task in tasks:
        bounded(task.workload())  # every mistake comes to light before the first of them is run
    cells = compute(tasks, runner(f"completion, k={base.k}", jobs, cluster))
    note = f"{base.tree.num_hosts:,} hosts, {sizes}, {base.seconds:g} s"
    name = out / f"completion_k{base.k}"
    files = [write_csv(name.with_suffix(".csv"), cells), draw(cells, note, name.with_suffix(".png"))]
    conclude(cells, [_told(cells, note)], files, as_json)


def _told(cells: Sequence[Cell], note: str) -> str:
    lines = [f"Mean slowdown (99th percentile) of small, medium and large flows. {note}"]
    for one in (cell for cell in cells if cell.size_class == "all"):
        curve = (one.load, one.scheme, one.interval_s)
        classes = [c for c in cells if (c.load, c.scheme, c.interval_s) == curve and c.size_class != "all"]
        shown = "  ".join(
            f"{c.mean_slowdown:7.2f} ({c.p99_slowdown:.1f})" if c.mean_slowdown is not None else "      - "
            for c in classes
        )  # fmt: skip
        period = "" if one.interval_s is None else f", {one.interval_s:g} s"
        lines.append(
            f"{one.load:g}  {one.scheme + period:<22} {shown}   carried {one.carried:.3f}, {one.cut_off:,} of "
            f"{one.flows:,} cut off"
        )
    return "\n".join(lines)
