"""The picture of `hedera collective figure`: what each scheme loses, by collective, size and placement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from hedera.schemes import scheme as scheme_of
from paper.collective_table import BUFFERS, HEDERA, STATIC
from paper.scale import interval
from paper.style import clean, heading, new_figure, saved
from plots.style import colour, house_style, logarithmic
from traffic.collectives import PLACEMENTS

COLUMNS = ("part", "collective", "mbytes", "placement", "scheme", "interval_s", "seed", "over_control")
_PERIOD = "5"


def draw(rows: Sequence[Mapping[str, str]], path: Path) -> Path:
    """Draw the part ``size`` of rows as the CSV has them: a panel for each collective and placement.

    ValueError where they have none of it.
    """
    shown = [row for row in rows if row["part"] == "size" and row["over_control"]]
    if not shown:
        raise ValueError("there is no row of the part 'size', which the figure shows")
    with house_style():
        figure = new_figure(9.6, 5.6)
        panels = figure.subplots(len(PLACEMENTS), len(BUFFERS), sharex=True, sharey=True)
        for line, placement in zip(panels, PLACEMENTS, strict=True):
            for axes, collective in zip(line, BUFFERS, strict=True):
                here = [r for r in shown if (r["placement"], r["collective"]) == (placement, collective)]
                for number, scheme in enumerate((*STATIC, *HEDERA)):
                    mine = [r for r in here if r["scheme"] == scheme and r["interval_s"] in ("", _PERIOD)]
                    sizes = sorted({float(row["mbytes"]) for row in mine})
                    of = [
                        interval(np.array([float(r["over_control"]) for r in mine if float(r["mbytes"]) == size]))
                        for size in sizes
                    ]
                    apart = np.array(sizes) * 1.06 ** (number - 3)
                    whiskers = [
                        [0.0 if one.low is None else one.mean - one.low for one in of],
                        [0.0 if one.high is None else one.high - one.mean for one in of],
                    ]
                    period = f", {_PERIOD} s" if scheme in HEDERA else ""
                    axes.errorbar(
                        apart, [one.mean for one in of], whiskers, fmt="o-", markersize=3, linewidth=1,
                        color=colour(scheme), label=scheme_of(scheme).label + period,
                    )  # fmt: skip
                axes.set_title(f"{collective}, {placement}")
                clean(axes)
                if sizes:
                    logarithmic(axes, "x")
                if placement == PLACEMENTS[-1]:
                    axes.set_xlabel("buffer of every host [MB]")
            line[0].set_ylabel("time / non-blocking")
        panels[0, 0].set_ylim(bottom=0.9)
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        heading(figure, "Completion of collectives over the non-blocking network's")
        return saved(figure, path)
