"""Table 2: a shuffle's times and rates under every scheme, as ratios to the control, beside the published ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

from hedera.schemes import CONTROL
from plots.style import INK, MUTED, colour, house_style, save, scheme_order
from results.output import plain_table
from results.published import TABLE_2

if TYPE_CHECKING:
    from rich.table import Table

MB = 2**20
"""Bytes. Only with this value do the published columns agree with each other (`results.published.TABLE_2`)."""
TRANSFER_BYTES = 500 * MB
"""From each host to every other, on links of 1 Gb/s."""
SCHEMES = tuple(TABLE_2)


class Shuffle(NamedTuple):
    """One shuffle: the time until the last host, and until hosts on average, had sent everything, in seconds."""

    shuffle_s: float
    host_completion_s: float


@dataclass(frozen=True)
class Row:
    """Means over the shuffles of a scheme; and for each its ratio to the control's, the published ratio, and their
    difference.

    ``bisection_mbps`` is 10^6 bit/s of all hosts, ``goodput_mib_per_s`` 2^20 bytes/s of one, both payload over the
    mean host completion time, as in the paper. ``lowest_shuffle_s``, ``highest_shuffle_s``: over these shuffles.
    """

    scheme: str
    shuffle_s: float
    host_completion_s: float
    bisection_mbps: float
    goodput_mib_per_s: float
    shuffles: int
    lowest_shuffle_s: float
    highest_shuffle_s: float
    shuffle_to_control: float | None = None
    host_completion_to_control: float | None = None
    bisection_to_control: float | None = None
    goodput_to_control: float | None = None
    published_shuffle_to_control: float | None = None
    published_host_completion_to_control: float | None = None
    published_bisection_to_control: float | None = None
    published_goodput_to_control: float | None = None
    shuffle_difference: float | None = None
    host_completion_difference: float | None = None
    bisection_difference: float | None = None
    goodput_difference: float | None = None


def rows_of(measured: Mapping[str, Sequence[Shuffle]], hosts: int, bytes_per_host: float) -> list[Row]:
    """A row per scheme. Ratios need shuffles of the control; published ratios exist only for the paper's schemes."""
    means = {scheme: _means(found, hosts, bytes_per_host) for scheme, found in measured.items()}
    rows = []
    for scheme, found in measured.items():
        times = [one.shuffle_s for one in found]
        ours = _ratios(means, scheme)
        published = _ratios(TABLE_2, scheme)
        gaps = [None if a is None or b is None else a - b for a, b in zip(ours, published, strict=True)]
        rows.append(Row(scheme, *means[scheme], len(found), min(times), max(times), *ours, *published, *gaps))
    return rows


Values = tuple[float, float, float, float]


def _means(found: Sequence[Shuffle], hosts: int, bytes_per_host: float) -> Values:
    pace = mean(bytes_per_host / one.host_completion_s for one in found)
    return (
        mean(one.shuffle_s for one in found),
        mean(one.host_completion_s for one in found),
        hosts * pace * 8e-6,
        pace / MB,
    )


def _ratios(values: Mapping[str, Values], scheme: str) -> Sequence[float | None]:
    if scheme not in values or CONTROL not in values:
        return [None] * 4
    return [ours / controls for ours, controls in zip(values[scheme], values[CONTROL], strict=True)]


QUANTITIES = ("shuffle", "host_completion", "bisection", "goodput")
_TITLES = ("shuffle time", "host completion", "bisection bandwidth", "goodput")


def told(rows: Sequence[Row], title: str) -> Table:
    """The rows for a terminal."""
    units = zip(_TITLES, ("s", "s", "Mb/s", "MB/s"), strict=True)
    made = plain_table(title, "scheme", *(f"{name} [{unit}]" for name, unit in units))
    value_names = [field.name for field in fields(Row)][1:5]
    for row in rows:
        cells = []
        for quantity, value_name in zip(QUANTITIES, value_names, strict=True):
            ours, paper, gap = (
                getattr(row, name.format(quantity))
                for name in ("{}_to_control", "published_{}_to_control", "{}_difference")
            )
            ratio = "" if ours is None else f"  {ours:.2f}"
            cells.append(
                f"{getattr(row, value_name):,.1f}" + ratio + ("" if gap is None else f" ({paper:.2f}, {gap:+.2f})")
            )
        made.add_row(row.scheme, *cells)
    made.caption = "each with its ratio to the control, and in brackets the paper's ratio and the difference"
    return made


def draw(rows: Sequence[Row], subtitle: str, path: Path) -> Path:
    """Ratios to the control, the published ones marked beside; schemes without one are left out."""
    from matplotlib.figure import Figure

    by_scheme = {row.scheme: row for row in rows if row.shuffle_to_control is not None}
    schemes = scheme_order(by_scheme)
    with house_style():
        figure = Figure(figsize=(8.4, 3.6), layout="constrained")
        less, more = figure.subplots(1, 2, sharey=True)
        width = 0.8 / max(1, len(schemes))
        for axes, better, quantities, names in (
            (less, "less is better", QUANTITIES[:2], _TITLES[:2]),
            (more, "more is better", QUANTITIES[2:], _TITLES[2:]),
        ):
            for n, scheme in enumerate(schemes):
                row = by_scheme[scheme]
                x = [i - 0.4 + (n + 0.5) * width for i in range(len(quantities))]
                heights = [getattr(row, f"{q}_to_control") for q in quantities]
                axes.bar(x, heights, 0.9 * width, color=colour(scheme), label=scheme)
                marks = [getattr(row, f"published_{q}_to_control") for q in quantities]
                known = [(at, mark) for at, mark in zip(x, marks, strict=True) if mark is not None]
                if known:
                    axes.plot(*zip(*known, strict=True), "_", color=INK, ms=16, mew=1.6)
            axes.axhline(1.0, color=MUTED, lw=0.8)
            axes.set_xticks(range(len(quantities)), names)
            axes.set_title(better)
            axes.grid(axis="y")
        less.set_ylabel("ratio to the control (mark: published)")
        figure.suptitle(f"Table 2: the shuffle. {subtitle}", x=0.01, ha="left", fontsize=10)
        figure.legend(*less.get_legend_handles_labels(), ncols=len(schemes), loc="outside lower center")
        return save(figure, path)[0]
