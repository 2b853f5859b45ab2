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
from plots.sample import Bar, Every, Sample, Share, Value, said
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
    """A folder of a comparison: its differing settings, its shares and its invalid runs for the bars that all folders
    have, and its bars over all tries."""

    name: str
    conditions: Mapping[str, Value]
    shares: Mapping[Bar, Share]
    invalid: Mapping[Bar, int]
    every: Mapping[Bar, Every]

    @property
    def label(self) -> str:
        """Its conditions, or its name if the conditions do not differ."""
        return " ".join(f"{option} {said(value)}" for option, value in self.conditions.items()) or self.name


@dataclass(frozen=True)
class Comparison:
    """Folders, which are compared with the first; the settings that are ``alike``, by options; ``notes``, a sentence
    on each thing that does not count or was left out."""

    sides: tuple[Side, ...]
    alike: Mapping[str, Value]
    notes: tuple[str, ...]

    @property
    def schemes(self) -> list[str]:
        """The schemes, except the control, that have a share under some pattern in every folder."""
        return scheme_order(scheme for _, scheme in self.sides[0].shares)

    def bars(self, scheme: str) -> list[Bar]:
        """The patterns under which a scheme has a share in every folder."""
        return [(p, scheme) for p in pattern_order(p for p, own in self.sides[0].shares if own == scheme)]

    def rows(self) -> list[Row]:
        """Rows by scheme and folder."""
        return [self._row(scheme, side) for scheme in self.schemes for side in self.sides]

    def pattern_rows(self) -> list[PatternRow]:
        """Rows by scheme, pattern and folder."""
        return [
            self._pattern_row(side, bar) for scheme in self.schemes for bar in self.bars(scheme) for side in self.sides
        ]

    def _pattern_row(self, side: Side, bar: Bar) -> PatternRow:
        share, every = side.shares[bar], side.every[bar]
        pattern, scheme = bar
        return PatternRow(
            scheme,
            pattern,
            side.name,
            side.conditions,
            share.trials,
            side.invalid.get(bar, 0),
            share.median,
            self._points(side, bar),
            every.left_out,
            every.median,
        )

    def _row(self, scheme: str, side: Side) -> Row:
        bars = self.bars(scheme)
        row = Row(
            scheme,
            side.name,
            side.conditions,
            len(bars),
            runs=sum(side.shares[bar].trials for bar in bars),
            invalid=sum(number for (_, own), number in side.invalid.items() if own == scheme),
            share=float(np.mean([side.shares[bar].median for bar in bars])),
            **self._of_all_tries(scheme, side),
        )
        points = {bar[0]: value for bar in bars if (value := self._points(side, bar)) is not None}
        if not points:
            return row
        mean = difference(None, list(points.values()))
        largest = max(points, key=lambda pattern: abs(points[pattern]))
        return replace(
            row,
            difference_points=mean.mean,
            low_points=mean.low,
            high_points=mean.high,
            largest_points=points[largest],
            largest_pattern=largest,
        )

    def _of_all_tries(self, scheme: str, side: Side) -> dict[str, Any]:
        """The fields of `Row` over all tries, for the patterns under which every folder has a try with a number."""
        medians = [
            {bar: one.median for bar, one in each.every.items() if bar[1] == scheme and one.median is not None}
            for each in self.sides
        ]
        left_out = [one.left_out for bar, one in side.every.items() if bar[1] == scheme]
        found: dict[str, Any] = {"left_out": None if None in left_out else sum(filter(None, left_out))}
        if bars := sorted(_all_have(medians)):
            means = [float(np.mean([own[bar] for bar in bars])) for own in medians]
            share = means[self.sides.index(side)]
            points = None if side is self.sides[0] else 100 * (share - means[0])
            found |= {"all_patterns": len(bars), "all_share": share, "all_difference_points": points}
        return found

    def _points(self, side: Side, bar: Bar) -> float | None:
        """A folder's share minus the first one's; None for the first."""
        first = self.sides[0]
        return None if side is first else 100 * (side.shares[bar].median - first.shares[bar].median)


def compare(folders: Sequence[Path]) -> Comparison:
    """Compare the folders with the first. Raises ValueError, one sentence, if that is impossible."""
    samples = _samples(folders)
    patterns = _in_all("pattern", samples, [{pattern for pattern, _ in one.bars} for one in samples])
    schemes = _in_all(
        "scheme but the control", samples, [{scheme for _, scheme in one.bars} - {CONTROL} for one in samples]
    )
    bars = {(pattern, scheme) for pattern in patterns for scheme in schemes}
    trials = _all_have(one.trials for one in samples) if all(one.runs for one in samples) else None
    shares = [one.shares(trials) for one in samples]
    tried = None if trials is None else _all_have(one.tried for one in samples)
    common = _all_have(bars & set(own) for own in shares)
    if not common:
        seed = "" if trials is None else " of the same seed"
        raise ValueError(f"no pattern has a valid run of a scheme and of the control{seed} in every folder")
    settings = [one.settings(common) for one in samples]
    names = list(dict.fromkeys(name for found in settings for name in found))
    differ = [name for name in names if len({found[name] for found in settings if name in found}) > 1]
    alike = [name for name in names if name not in differ and all(name in found for found in settings)]
    with_control = bars | {(pattern, CONTROL) for pattern in patterns}
    return Comparison(
        tuple(
            Side(
                one.name,
                {_option(name): found[name] for name in differ if name in found},
                {bar: own[bar] for bar in common},
                one.uncounted(bars),
                {bar: found for bar, found in one.every(tried).items() if bar in bars},
            )
            for one, found, own in zip(samples, settings, shares, strict=True)
        ),
        {_option(name): settings[0][name] for name in alike},
        (
            *_not_common(samples, bars, common),
            *(s for one in samples for s in one.says(with_control, trials)),
        ),
    )


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
