"""Sweeps over options: a sweep for every combination of values, in a folder of its own, and one table of them all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from harness.jobs.publish import slug
from harness.run.spec import RunSpec
from hedera.parameter import option_of, parameters_of
from plots.load import load_sweep
from plots.style import setting_text
from plots.table import csv_text
from record.files import write_whole
from traffic.patterns import split_specs

_FIXED = {"scheme", "traffic", "time", "disturb"}
_FIELDS = {
    option_of(name, known).lstrip("-"): name for name, known in parameters_of(RunSpec).items() if name not in _FIXED
}


@dataclass(frozen=True)
class Swept:
    """A sweep in ``folder``; ``parts``: the folder and the varied options' values of each of its combinations, itself
    where nothing is varied. ``valid``: whether all runs are."""

    folder: Path
    parts: tuple[tuple[Path, Mapping[str, Any]], ...]
    valid: bool = True

    def to_frame(self) -> Any:
        """A row for each run: the varied options, then the columns of `hedera export`'s runs.csv (docs/fields.md)."""
        from pandas import DataFrame

        from plots.export import run_rows

        return DataFrame([{**values, **row} for place, values in self.parts for row in run_rows(load_sweep(place))])

    def write_table(self) -> Path:
        """A row for each bar: the varied options, then the columns of summary.csv."""
        lines: list[str] = []
        for place, values in self.parts:
            sweep = load_sweep(place)
            head, *rows = csv_text(sweep.runs, sweep.tries).splitlines()
            lines = lines or [f"{','.join(values)},{head}"]
            lines += [f"{','.join(map(setting_text, values.values()))},{row}" for row in rows]
        write_whole(self.folder / "summary.csv", "\n".join(lines) + "\n")
        return self.folder / "summary.csv"

    def draw(self) -> list[Path]:
        """The picture of all: share against value (`plots.by_value`)."""
        from plots import by_value

        return by_value.draw(self.parts, self.folder / "by-value")


def values_of(texts: Sequence[str], context: click.Context) -> dict[str, tuple[Any, ...]]:
    """The values of each ``OPTION=VALUE,VALUE``, read as the command reads its option; UsageError, one sentence."""
    varied: dict[str, tuple[Any, ...]] = {}
    options = {each.name: each for each in context.command.params}
    for text in texts:
        name, _, values = text.partition("=")
        # A comma before a number belongs to the value, as in leaf-spine:4,2,4.
        cells = split_specs(values) if name == "topology" else [value.strip() for value in values.split(",")]
        if not values or name not in _FIELDS or name in varied or not all(cells):
            raise click.UsageError(f"--vary is OPTION=VALUE,VALUE, once for each of {', '.join(_FIELDS)}; not {text!r}")
        try:
            option = options[_FIELDS[name]]
            given = [(cell,) if option.multiple else cell for cell in cells]
            varied[name] = tuple(option.type_cast_value(context, cell) for cell in given)
        except click.BadParameter as error:
            raise click.UsageError(f"--vary {name}: {error.message}") from None
    return varied


def combinations(
    base: RunSpec, varied: Mapping[str, Sequence[Any]], folder: Path
) -> Iterator[tuple[RunSpec, Path, dict[str, Any]]]:
    """What runs of each combination are like, its folder, and its values by option; once where nothing is varied."""
    for values in itertools.product(*varied.values()):
        own = dict(zip(varied, values, strict=True))
        place = slug("-".join(f"{name}_{setting_text(value)}" for name, value in own.items())) if own else ""
        yield replace(base, **{_FIELDS[name]: value for name, value in own.items()}), folder / place, own
