"""What the paper's commands share: patterns, options, the same cases over seeds, intervals, and how pictures look.

A row is a dictionary: its keys are the columns of the CSV file and of ``--json``, with units in their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hedera.options import Command, field_options, names_option, options, seeds_option
from hedera.schemes import scheme
from plots.style import INK, MUTED, house_style, rounded, save
from plots.trials import Difference, difference
from record.output import plain_table
from record.tasks import Runner
from simulator.config import ENGINES, Config
from topos.arrays import Float64
from topos.fattree import FatTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

Number = TypeVar("Number", int, float)
Answer = TypeVar("Answer")
Row = dict[str, Any]

SCHEMES = ("ecmp", "hedera-gff", "hedera-sa", "nonblocking")
"""The four columns of Figures 9, 10 and 11."""
AT_SCALE = ("ecmp", "hedera-gff", "hedera-sa", "hedera-clos", "nonblocking")
"""These, and a placement that shows what the network itself allows, which is not in the paper."""
PUBLISHED = "#d4d4d4"
ENGINE_LABELS = {"aimd": "AIMD (section 5.5)", "maxmin": "max-min fair rates"}


def suite(tree: FatTree) -> tuple[str, ...]:
    """The patterns of Hedera section 6.1 and Figure 9, scaled: strides of 1, 2, 4 and 8 hosts at k = 4 become, for
    any k, one host, one edge switch, one pod and half of the network.

    First come patterns in which every host sends and receives one flow, the nearest receivers first; then those in
    which a host may receive many, the most local first, with more and more flows; the hotspot last.
    """
    strides = (1, tree.half, tree.num_cores, tree.num_hosts // 2)
    many = "randbij staggered:0.5,0.3 staggered:0.2,0.3 random randx:2 randx:3 randx:4 hotspot"
    return *(f"stride:{step}" for step in strides), *many.split()


def ports_for(hosts: int) -> int:
    """The k of the fat-tree with that many hosts; ValueError when there is none."""
    k: int = round((4 * hosts) ** (1 / 3))
    if 4 <= k <= 128 and k % 2 == 0 and k**3 == 4 * hosts:
        return k
    raise ValueError(f"no fat-tree has {hosts} hosts; sizes are 16, 54, 128, 250, 432, ..., 1024, 8192, 27648")


def over_seeds(
    run: Runner,
    function: Callable[[Config], Answer],
    cases: Sequence[Config],
    seeds: int,
    cost: Callable[[Config], Any] = lambda config: 0,
) -> list[list[Answer]]:
    """A list for each case: the answers with seeds 1, 2 and so on. What has the highest ``cost`` is begun first, so
    that no long simulation is left at the end."""
    tasks = [replace(case, seed=seed) for case in cases for seed in range(1, seeds + 1)]
    first = sorted(tasks, key=cost, reverse=True)
    found = dict(zip(first, run(function, first), strict=True))
    return [[found[replace(case, seed=seed)] for seed in range(1, seeds + 1)] for case in cases]


def grouped(rows: Iterable[Row], *columns: str) -> dict[Any, list[Row]]:
    """The rows by the values of these columns, in the order of the rows; by the plain value of one column."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        key = tuple(row[column] for column in columns) if len(columns) > 1 else row[columns[0]]
        found.setdefault(key, []).append(row)
    return found


def column(rows: Iterable[Row], name: str) -> Float64:
    """One column as numbers, (rows,)."""
    return np.array([row[name] for row in rows], dtype=np.float64)


def interval(values: Float64) -> Difference:
    """The mean of values with different seeds, (seeds,), and Student's interval of 95 %; none with fewer than three."""
    return difference(None, values.tolist())


def means(rows: Sequence[Row], name: str, *columns: str) -> list[Row]:
    """For a terminal: the mean over seeds of one column, by the values of others, and its interval."""
    found = []
    for key, own in grouped(rows, *columns).items():
        of = interval(column(own, name))
        found.append({**dict(zip(columns, key, strict=True)), name: of.mean, "from": of.low, "to": of.high})
    return found


def compared(case: str, paper: float | None, values: Float64) -> Row:
    """For a terminal: a number of the paper beside ours, which is a mean over seeds, with its interval."""
    found = interval(values)
    return {"case": case, "paper": paper, "ours": found.mean, "from": found.low, "to": found.high}


def table(title: str, rows: Sequence[Row]) -> Table:
    words = sum(isinstance(cell, str) for cell in rows[0].values())
    made = plain_table(title, *(name.replace("_", " ") for name in rows[0]), left=words)
    for row in rows:
        made.add_row(*map(_cell, row.values()))
    return made


def _cell(value: object) -> str:
    if isinstance(value, float):
        return rounded(value)
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def told_seeds(seeds: int) -> str:
    """What the intervals are over, for the title of a table."""
    return f"{seeds} seeds, 95 % intervals" if seeds > 2 else f"{seeds} seed{'s' * (seeds > 1)}"


def numbers(option: str, text: str, kind: Callable[[str], Number]) -> list[Number]:
    """The numbers above 0 in a comma-separated list, each once; ValueError, which names the option, for others."""
    try:
        found = [kind(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not 0 < min(found) <= max(found) < float("inf"):
        whole = "whole " if kind is int else ""
        raise ValueError(f"{option} takes {whole}numbers above 0, separated by commas; not {text!r}")
    return list(dict.fromkeys(found))


def _engine(name: str) -> str:
    if name not in ENGINES:
        raise ValueError(f"there is no engine {name!r}; the engines are {' and '.join(ENGINES)}")
    return name


engines_option = names_option(
    "--engines", ENGINES, _engine, "Comma-separated: aimd (section 5.5), maxmin (ideal shares)."
)


def schemes_option(default: Sequence[str]) -> Command:
    text = "Comma-separated; hedera-clos shows what the network itself allows."
    return names_option("--schemes", default, lambda name: scheme(name).name, text)


def at_scale(k: int) -> Command:
    """The options of Figures 10 and 11 as one decorator; ``k`` is the default."""
    return options(
        schemes_option(AT_SCALE),
        field_options(Config, "k seconds tick_s interval_s iterations", k=k, tick_s=0.01, iterations=100_000),
        seeds_option(5),
    )


@contextmanager
def picture(path: Path, width: float, height: float, title: str, subtitle: str = "") -> Iterator[Figure]:
    """An empty figure, in inches; when it is filled it gets its heading, lines instead of ticks, and is saved as PNG.
    The quiet line below the title stands on the first axes."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold", color=INK)
        if subtitle:
            figure.axes[0].set_title(subtitle, loc="left", fontsize=9, color=MUTED, pad=10)
        for axes in figure.axes:
            axes.grid(axis="y")
            axes.tick_params(length=0)
        save(figure, path)
