"""The same patterns and schemes under different conditions: how much their shares of the control change.

Folders are compared pattern by pattern, over the patterns that all of them have. If all of them have runs, a run
counts only if every folder has a valid one, with a valid control, of the same pattern, scheme and seed: a median over
different seeds, and so over different hashed paths, would be another experiment.

A scheme's differences, one for each pattern, have Student's interval, like those of trials (`plots.trials`). It says
how much their mean depends on the choice of patterns. All patterns share their seeds, so it does not cover other
seeds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hedera.parameter import option_of
from hedera.schemes import CONTROL
from plots.sample import Bar, Sample, Trial, Value, setting_text
from plots.style import DASHES, INK, colour, house_style, save, scheme_order, short
from plots.summary import pattern_order
from plots.trials import difference

Thing = TypeVar("Thing")
_OPTIONS = {"link_mbps": "--bw", "k": "-k"}
_WHISKERS: dict[str, Any] = {"markersize": 4.5, "linewidth": 1, "elinewidth": 0.9, "capsize": 2}
_MAX_NAMED = 8


@dataclass(frozen=True)
class Row:
    """A scheme in a folder: its mean share of the control over ``patterns``; and of its differences to the first
    folder, in points: the mean, its interval (None: fewer than three patterns) and the largest.

    ``conditions``: the settings that differ between the folders, by the command line's options. ``runs``: the number
    that counts. ``invalid``: runs, under patterns that all folders have, that are invalid or not judged.
    ``left_out``, ``all_patterns``, ``all_share`` and ``all_difference_points`` are over all tries whatever their
    verdict, of which ``left_out`` are not valid (None: an older summary does not say).
    """

    scheme: str
    folder: str
    conditions: Mapping[str, Value]
    patterns: int
    runs: int
    invalid: int
    share: float
    difference_points: float | None = None
    low_points: float | None = None
    high_points: float | None = None
    largest_points: float | None = None
    largest_pattern: str | None = None
    left_out: int | None = None
    all_patterns: int = 0
    all_share: float | None = None
    all_difference_points: float | None = None

    @property
    def half_interval(self) -> float:
        """Half the interval's width in points, NaN if there is none."""
        if self.low_points is None or self.high_points is None:
            return math.nan
        return (self.high_points - self.low_points) / 2


@dataclass(frozen=True)
class PatternRow:
    """The same for one pattern."""

    scheme: str
    pattern: str
    folder: str
    conditions: Mapping[str, Value]
    runs: int
    invalid: int
    share: float
    difference_points: float | None
    left_out: int | None = None
    all_share: float | None = None


@dataclass(frozen=True)
class Side:
    """A folder of a comparison, and its settings that differ."""

    name: str
    conditions: Mapping[str, Value]

    @property
    def label(self) -> str:
        """Its conditions, or its name if the conditions do not differ."""
        return " ".join(f"{option} {setting_text(value)}" for option, value in self.conditions.items()) or self.name


@dataclass(frozen=True)
class Comparison:
    """Folders, which are compared with the first. ``frame``: a line for each folder, pattern and scheme (not the
    control) that all folders have, with ``share`` and ``runs`` (NaN: without a share in every folder), ``all_share``,
    ``left_out`` and ``invalid``, and differences to the first folder in points. ``alike``: settings by options;
    ``notes``: a sentence on each thing that does not count or was left out."""

    sides: tuple[Side, ...]
    frame: Any
    alike: Mapping[str, Value]
    notes: tuple[str, ...]

    @property
    def schemes(self) -> list[str]:
        """The schemes that have a share under some pattern in every folder."""
        return scheme_order(self.frame.scheme[self.frame.share.notna()])

    def of_scheme(self, scheme: str) -> Any:
        """The lines of a scheme that have a share, by pattern and folder."""
        own = self.frame[(self.frame.scheme == scheme) & self.frame.share.notna()].set_index(["pattern", "folder"])
        return own.loc[[(p, side.name) for p in pattern_order(own.index.unique("pattern")) for side in self.sides]]

    def rows(self) -> list[Row]:
        """Rows by scheme and folder."""
        return [self._row(scheme, side) for scheme in self.schemes for side in self.sides]

    def pattern_rows(self) -> list[PatternRow]:
        """Rows by scheme, pattern and folder."""
        conditions = {side.name: side.conditions for side in self.sides}
        return [
            PatternRow(
                scheme,
                line.Index[0],
                line.Index[1],
                conditions[line.Index[1]],
                int(line.runs),
                int(line.invalid),
                line.share,
                _number(line.points),
                _whole(line.left_out),
                _number(line.all_share),
            )
            for scheme in self.schemes
            for line in self.of_scheme(scheme).itertuples()
        ]

    def _row(self, scheme: str, side: Side) -> Row:
        own = self.of_scheme(scheme).xs(side.name, level="folder")
        every = self.frame[(self.frame.scheme == scheme) & (self.frame.folder == side.name)]
        tried = every.dropna(subset="all_share_of_all")
        row = Row(
            scheme,
            side.name,
            side.conditions,
            len(own),
            int(own.runs.sum()),
            int(every.invalid.sum()),
            own.share.mean(),
            left_out=_whole(every.left_out.sum(skipna=False)),
            all_patterns=len(tried),
            all_share=_number(tried.all_share.mean()),
            all_difference_points=_number(tried.all_points.mean()),
        )
        points = own.points.dropna()
        if points.empty:
            return row
        mean = difference(None, points.tolist())
        largest = points.abs().idxmax()
        return replace(
            row,
            difference_points=mean.mean,
            low_points=mean.low,
            high_points=mean.high,
            largest_points=points[largest],
            largest_pattern=largest,
        )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _whole(value: float) -> int | None:
    return None if math.isnan(value) else int(value)


def compare(folders: Sequence[Path]) -> Comparison:
    """Compare the folders with the first. Raises ValueError, one sentence, if that is impossible."""
    samples = _samples(folders)
    patterns = _in_all("pattern", samples, [{pattern for pattern, _ in one.bars} for one in samples])
    schemes = _in_all(
        "scheme but the control", samples, [{scheme for _, scheme in one.bars} - {CONTROL} for one in samples]
    )
    bars = {(pattern, scheme) for pattern in patterns for scheme in schemes}
    trials = _all_have(one.trials for one in samples) if all(one.runs for one in samples) else None
    frame = _frame(samples, bars, trials)
    common = {(line.pattern, line.scheme) for line in frame[frame.share.notna()].itertuples()}
    if not common:
        seed = "" if trials is None else " of the same seed"
        raise ValueError(f"no pattern has a valid run of a scheme and of the control{seed} in every folder")
    settings = [one.settings(common) for one in samples]
    names = list(dict.fromkeys(name for found in settings for name in found))
    differ = [name for name in names if len({found[name] for found in settings if name in found}) > 1]
    alike = [name for name in names if name not in differ and all(name in found for found in settings)]
    sides = [
        Side(one.name, {_option(name): found[name] for name in differ if name in found})
        for one, found in zip(samples, settings, strict=True)
    ]
    with_control = bars | {(pattern, CONTROL) for pattern in patterns}
    notes = [*_not_common(samples, bars, common), *(s for one in samples for s in one.says(with_control, trials))]
    return Comparison(tuple(sides), frame, {_option(name): settings[0][name] for name in alike}, tuple(notes))


def _frame(samples: Sequence[Sample], bars: Collection[Bar], trials: Collection[Trial] | None) -> Any:
    """The frame of a `Comparison`."""
    from pandas import concat

    tried = None if trials is None else _all_have(one.tried for one in samples)
    parts = []
    for one in samples:
        own = one.every(tried).join(one.shares(trials), how="outer")
        own, invalid = own.loc[own.index.isin(bars)], one.uncounted(bars)
        parts.append(own.assign(folder=one.name, invalid=[invalid[bar] for bar in own.index]))
    frame = concat(parts).reset_index()
    names = [one.name for one in samples]
    for share, points in (("share", "points"), ("all_share", "all_points")):
        by_folder = frame.pivot(index=["pattern", "scheme"], columns="folder", values=share)
        by_folder = by_folder.reindex(columns=names).dropna().rename_axis(columns="folder")
        both = by_folder.stack().rename("both")
        first = by_folder[names[0]].rename("first")
        found = frame.join(both, on=["pattern", "scheme", "folder"]).join(first, on=["pattern", "scheme"])
        frame[f"{share}_of_all"] = found.both
        frame[points] = 100 * (found.both - found["first"]).where(frame.folder != names[0])
    frame["share"] = frame.share_of_all
    return frame


def draw(comparison: Comparison, path: Path) -> list[Path]:
    """Write a picture, a line for each scheme over the folders, and return the file.

    A dot is the mean over patterns; its whisker is the interval of its difference to the first folder. Folders that
    differ in one number are sorted by it.
    """
    from matplotlib.figure import Figure

    sides = comparison.sides
    rows = {(row.scheme, row.folder): row for row in comparison.rows()}
    numbers = [v for side in sides for v in side.conditions.values() if isinstance(v, (int, float))]
    if len(numbers) == len(sides) and all(len(side.conditions) == 1 for side in sides):
        sides = tuple(sides[i] for i in np.argsort(numbers, kind="stable"))
    schemes = comparison.schemes
    with house_style():
        figure = Figure(figsize=(max(6.4, 1.5 * len(sides) + 1.6), 4.4), layout="constrained")
        axes = figure.subplots()
        axes.axhline(1, color=INK, linewidth=0.9, linestyle=DASHES)
        for i, scheme in enumerate(schemes):
            aside = 0.4 * ((i + 0.5) / len(schemes) - 0.5)
            own = [rows[scheme, side.name] for side in sides]
            whiskers = [row.half_interval / 100 for row in own]
            x, y = [x + aside for x in range(len(sides))], [row.share for row in own]
            axes.errorbar(x, y, whiskers, label=scheme, color=colour(scheme), marker="o", **_WHISKERS)
        axes.set_xlim(-0.5, len(sides) - 0.5)
        axes.set_xticks(range(len(sides)), [side.label.replace(" -", "\n-") for side in sides])
        axes.grid(axis="y")
        axes.set_xlabel(f"whiskers: 95 % interval of the difference to {comparison.sides[0].label}", fontsize=8)
        axes.set_title("Shares of the control, mean over patterns")
        figure.legend(loc="outside lower center", ncols=4, fontsize=8.5)
        return save(figure, path)


def _samples(folders: Sequence[Path]) -> list[Sample]:
    """The samples of two or more different folders, of networks of the same size."""
    if len(folders) < 2:
        raise ValueError("a comparison needs two folders or more")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ValueError("a folder is given twice")
    last = Counter(folder.resolve().name for folder in folders)
    names = [found if last[found := folder.resolve().name] == 1 else str(folder) for folder in folders]
    printable = [name if name.isprintable() else ascii(name) for name in names]
    samples = [Sample.read(folder, name) for folder, name in zip(folders, printable, strict=True)]
    sizes = {one.settings(one.bars)["k"]: one.name for one in samples}
    if len(sizes) > 1:
        raise ValueError(
            "networks of different size cannot be compared: "
            + ", ".join(f"-k {k} in {name}" for k, name in sizes.items())
        )
    return samples


def _in_all(what: str, samples: Sequence[Sample], found: Sequence[Collection[str]]) -> set[str]:
    """What all samples have in common; ValueError if that is nothing."""
    if common := _all_have(found):
        return common
    each = "; ".join(f"{one.name} has {_few(own)}" for one, own in zip(samples, found, strict=True))
    raise ValueError(f"no {what} is in every folder: {each}")


def _not_common(samples: Sequence[Sample], bars: Collection[Bar], common: Collection[Bar]) -> list[str]:
    """Sentences on what was run in some folders but is not compared."""
    every = {bar for one in samples for bar in one.bars if bar[1] != CONTROL}
    patterns = {pattern for pattern, _ in every} - {pattern for pattern, _ in bars}
    schemes = {scheme for _, scheme in every} - {scheme for _, scheme in bars}
    sentences = [f"not run in every folder: {_few(what)}" for what in (patterns, schemes) if what]
    if lacking := [bar for bar in bars if bar not in common]:
        named = [f"{scheme} under {short(pattern)}" for pattern, scheme in lacking]
        sentences.append(f"without a valid share in every folder: {_few(named)}")
    return sentences


def _few(names: Iterable[str]) -> str:
    """The first few names, as text."""
    shown = [short(name) for name in pattern_order(names)]
    more = len(shown) - _MAX_NAMED
    return ", ".join(shown[:_MAX_NAMED] or ["none"]) + (f" and {more} more" if more > 0 else "")


def _all_have(found: Iterable[Collection[Thing]]) -> set[Thing]:
    """What is in each of them."""
    first, *others = found
    return set(first).intersection(*others)


def _option(name: str) -> str:
    """A setting's name on the command line."""
    return _OPTIONS.get(name, option_of(name))
