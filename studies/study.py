"""The one shape of every study: cases, each measured with some seeds; rows made of the answers; tables; a picture.

A function that takes a command's options and returns a `Study` becomes a command by the decorator `study`: it gets
``--out``, ``--json``, ``--jobs``, ``--cluster`` and ``--quiet``, and writes the CSV files and the picture.

A row is a dictionary: its keys are the columns of the CSV file and of ``--json``, with units in their names.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click
import numpy as np

from plots import list_written_files
from plots.paired_tests import MeanInterval, compare_schemes, estimate_mean, list_pairs, make_difference_rows
from plots.style import describe_interval_seeds as describe_interval_seeds
from plots.style import make_table as make_table
from plots.summary import FEWEST, compute_half_width
from record.latex import write_latex
from record.options import (
    OUT,
    Command,
    get_pictures,
    in_words,
    json_option,
    options,
    output,
    parallel,
    picture_options,
    seeds_option,
    to_write,
)
from record.output import conclude, write_csv
from record.progress import quiet_option
from record.tasks import run_tasks
from topos.arrays import Float64

if TYPE_CHECKING:
    from rich.table import Table

    from simulator.config import Config

Number = TypeVar("Number", int, float)
Row = dict[str, Any]
Rows = Mapping[str, Sequence[Row]]
"""Rows, by the name of the CSV file that they go into. Those under the name SHOWN go into no file."""
SHOWN = ""
Parts: TypeAlias = "list[Table | str]"
"""What is shown on the terminal, in this order."""


@dataclass(frozen=True)
class Study:
    """A figure or table that can be made.

    ``cases``: hashable values. ``measure``: an importable function of a case; it runs in another process. With
    ``seeds``, each case is measured with the seeds 1, 2 and so on in its field ``seed``; without, once as it is. The
    case of the highest ``cost`` is begun first, so that no long simulation is left at the end.

    ``rows``: makes the rows of each CSV file from the list of answers of each case. The rows of the file ``main``, by
    default the first, are those of ``--json``. ``tables``: what the terminal shows, or the title of a table of the main
    rows. ``draw``: draws the rows into a picture, which has the name of the first CSV file.
    ``folder``: where the files go unless ``--out`` says so.
    """

    cases: Sequence[Any]
    measure: Callable[[Any], Any]
    rows: Callable[[dict[Any, list[Any]]], Rows]
    tables: str | Callable[[Rows], Parts]
    draw: Callable[[Rows, Path], object] | None = None
    label: str = "simulating"
    seeds: int | None = None
    cost: Callable[[Any], Any] = lambda case: 0
    main: str = ""
    folder: Path | None = None

    def compute(self, run: Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]) -> Rows:
        """``run`` calls a function with every task, and gives the answers in the order of the tasks."""
        tasks = {case: [case] for case in self.cases}
        if self.seeds:
            tasks = {case: [replace(case, seed=seed) for seed in range(1, self.seeds + 1)] for case in self.cases}
        # The longest simulations begin first: one that began last would keep a single processor busy at the end.
        first = sorted(chain.from_iterable(tasks.values()), key=self.cost, reverse=True)
        answers = dict(zip(first, run(self.measure, first) if first else [], strict=True))
        return self.rows({case: [answers[task] for task in of_case] for case, of_case in tasks.items()})

    def conclude(self, rows: Rows, folder: Path, as_json: bool) -> None:
        """Write the files, and show the main rows as JSON, or the tables."""
        files = [write_csv(folder / f"{name}.csv", part) for name, part in rows.items() if name != SHOWN]
        if self.draw:
            picture = folder / f"{next(iter(rows))}.png"
            self.draw(rows, picture)
            files += list_written_files(picture)
        main, make_tables, latex = rows[self.main or next(iter(rows))], self.tables, get_pictures().latex
        tables: Parts = []
        if latex or not as_json:
            tables = [make_table(make_tables, main)] if isinstance(make_tables, str) else make_tables(rows)
        if latex:
            sentences = " ".join(part for part in tables if isinstance(part, str))
            set_tables = [part for part in tables if not isinstance(part, str)]
            files.append(write_latex(folder / f"{next(iter(rows))}.tex", set_tables, sentences))
        conclude(main, tables, files, as_json)


def study(
    *own: Command,
    seeds: int | None = None,
    folders: tuple[Path, Path] | None = None,
    at_once: bool = True,
    pictured: bool = True,
) -> Callable[[Callable[..., Study]], click.Command]:
    """The decorator that makes a command of a function from options to a `Study`, which measures nothing itself.

    ``own``: the study's options. ``seeds``: the default of ``--seeds``; without, there is no such option. ``folders``:
    where files go in full, and with ``--quick``, which there is only then. ``at_once``: whether many cases may be
    measured at the same time; those that measure this machine's speed may not. ``pictured``: whether it draws.
    """

    def decorate(describe: Callable[..., Study]) -> click.Command:
        @wraps(describe)
        def carry_out(
            out: Path | None, as_json: bool, jobs: int | None = 1, cluster: str | None = None, **fields: Any
        ) -> None:
            if folders:
                out = to_write(out or folders[fields["quick"]])
            described = describe(**fields)
            # Said before hours of simulation, not after them.
            if get_pictures().asked and described.draw is None:
                raise click.UsageError("this draws no picture: its numbers are in CSV files, and --json prints them")
            if described.folder and out == OUT:
                out = described.folder
            assert out is not None
            described.conclude(
                described.compute(partial(run_tasks, described.label, jobs=jobs, address=cluster)), out, as_json
            )

        decorated = options(
            *own,
            *([seeds_option(seeds)] if seeds else []),
            _add_quick_options(*folders) if folders else output,
            *([picture_options] if pictured else []),
            json_option,
            parallel if at_once else quiet_option,
            in_words,
        )(carry_out)
        return click.command()(decorated)

    return decorate


def _add_quick_options(full: Path, quick: Path) -> Command:
    return options(
        click.option("--quick", is_flag=True, help="Shorter and fewer runs: the trend in a few minutes."),
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            help=f"Folder for the picture and CSV (default: {full}; with --quick {quick}).",
        ),
    )


def make_one_file(name: str, row: Callable[[Any, list[Any]], Row]) -> Callable[[dict[Any, list[Any]]], Rows]:
    """For `Study.rows`: one file, with one row for each case, made of the case and its answers."""
    return lambda answers: {name: [row(case, of_case) for case, of_case in answers.items()]}


def simulate_bisection(case: Config) -> float:
    """The bisection bandwidth of a simulation. The simulator is imported where it runs: it loads the compiler."""
    from simulator.driver import measure_bisection

    return measure_bisection(case)


def read_traced_rows(path: Path) -> Iterator[Mapping[str, str]]:
    """The rows of a traced run's curves (`record.run.QUEUES`, CONNECTIONS), one by one, as they may be large.
    ValueError, one sentence, if the run has none."""
    try:
        with path.open(encoding="utf-8", newline="") as opened:
            yield from csv.DictReader(opened)
    except FileNotFoundError:
        raise ValueError(f"there is no {path}: make the runs with --trace, and do not move their files") from None


def group_rows(rows: Iterable[Row], *columns: str) -> dict[Any, list[Row]]:
    """The rows by the values of these columns, in the order of the rows; by the plain value of one column."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        key = tuple(row[column] for column in columns) if len(columns) > 1 else row[columns[0]]
        groups.setdefault(key, []).append(row)
    return groups


def extract_column(rows: Iterable[Row], name: str) -> Float64:
    """One column as numbers, (rows,)."""
    return np.array([row[name] for row in rows], dtype=np.float64)


def estimate_over_seeds(values: Iterable[Any]) -> MeanInterval:
    """The mean of values with different seeds, and Student's interval of 95 %; none with fewer than three."""
    return estimate_mean(None, [float(value) for value in values])


def compute_half_intervals(deviation: Float64, seeds: int) -> Float64:
    """Half of Student's 95 % interval of means over seeds, from their standard deviations (of all seeds, as NumPy has
    it; any shape); 0 with fewer than FEWEST seeds."""
    if seeds < FEWEST:
        return np.zeros_like(deviation)
    return np.asarray(compute_half_width(seeds, deviation / np.sqrt(seeds - 1)))


def average_over_seeds(rows: Sequence[Row], name: str, *columns: str) -> list[Row]:
    """For a terminal: the mean over seeds of one column, by the values of others, and its interval."""
    return [
        {**dict(zip(columns, key, strict=True)), name: mean.mean, "from": mean.low, "to": mean.high}
        for key, group in group_rows(rows, *columns).items()
        for mean in [estimate_over_seeds(extract_column(group, name))]
    ]


def compare_with_paper(case: str, paper: float | None, values: Iterable[float]) -> Row:
    """For a terminal: a number of the paper beside ours, which is a mean over seeds, with its interval."""
    mean = estimate_over_seeds(values)
    return {"case": case, "paper": paper, "ours": mean.mean, "from": mean.low, "to": mean.high}


def compare_schemes_by_seed(rows: Iterable[Row], value: str, pattern: str) -> Table:
    """For a terminal: how each two schemes differ in the mean over patterns, paired by seed. ``value`` and ``pattern``:
    the columns of ``rows`` that hold what was measured and under which pattern; they have ``scheme`` and ``seed``."""
    from pandas import DataFrame

    frame = DataFrame(rows).rename(columns={pattern: "pattern", "seed": "trial"})
    values = frame.pivot(index=["pattern", "trial"], columns="scheme", values=value)
    pairs = compare_schemes(values, list_pairs(values.columns))
    unit = "points" if value.startswith("percent") else value.rpartition("_")[2].replace("mbps", "Mb/s")
    return make_table(
        f"Differences in {unit}, means over patterns, paired by seed", make_difference_rows(pairs, patterns=False)
    )


def parse_numbers(option: str, text: str, kind: Callable[[str], Number]) -> list[Number]:
    """The numbers above 0 in a comma-separated list, each once; ValueError, which names the option, for others."""
    try:
        values = [kind(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not 0 < min(values) <= max(values) < float("inf"):
        kind_of_number = "whole " if kind is int else ""
        raise ValueError(f"{option} takes {kind_of_number}numbers above 0, separated by commas; not {text!r}")
    return list(dict.fromkeys(values))


def choose_among(*names: str) -> Callable[[str], str]:
    """Gives one of these names back; ValueError for others."""

    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"there is no {name!r}; there are {', '.join(names)}")
        return name

    return check
