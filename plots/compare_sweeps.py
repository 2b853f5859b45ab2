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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hedera.parameter import option_of
from hedera.schemes import CONTROL
from plots.sample import Bar, Sample, Trial, Value, setting_text
from plots.style import scheme_order, short
from plots.summary import pattern_order
from plots.trials import difference

Thing = TypeVar("Thing")
_OPTIONS = {"link_mbps": "--bw", "k": "-k"}
_MAX_NAMED = 8


@dataclass(frozen=True)
class Side:
    """A folder of a comparison, and its settings that differ."""

    name: str
    conditions: Mapping[str, Value]

    @property
    def label(self) -> str:
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

    def rows(self) -> list[dict[str, Any]]:
        """A row for each scheme and folder: the mean ``share`` of the control over ``patterns``; and of its differences
        to the first folder, in points: the mean, its interval (None: fewer than three patterns) and the largest.

        ``conditions``: the settings that differ between the folders, by the command line's options. ``runs``: the
        number that counts. ``invalid``: runs, under patterns that all folders have, that are invalid or not judged.
        ``left_out``, ``all_patterns``, ``all_share`` and ``all_difference_points`` are over all tries whatever their
        verdict, of which ``left_out`` are not valid (None: an older summary does not say).
        """
        return [self._row(scheme, side) for scheme in self.schemes for side in self.sides]

    def _row(self, scheme: str, side: Side) -> dict[str, Any]:
        own = self.of_scheme(scheme).xs(side.name, level="folder")
        every = self.frame[(self.frame.scheme == scheme) & (self.frame.folder == side.name)]
        tried = every.dropna(subset="all_share_of_all")
        points = own.points.dropna()
        mean = difference(None, points.tolist())
        largest = None if points.empty else points.abs().idxmax()
        return {
            "scheme": scheme,
            "folder": side.name,
            "conditions": side.conditions,
            "patterns": len(own),
            "runs": int(own.runs.sum()),
            "invalid": int(every.invalid.sum()),
            "share": own.share.mean(),
            "difference_points": mean.mean,
            "low_points": mean.low,
            "high_points": mean.high,
            "largest_points": None if largest is None else points[largest],
            "largest_pattern": largest,
            "left_out": _whole(every.left_out.sum(skipna=False)),
            "all_patterns": len(tried),
            "all_share": _number(tried.all_share.mean()),
            "all_difference_points": _number(tried.all_points.mean()),
        }

    def pattern_rows(self) -> list[dict[str, Any]]:
        conditions = {side.name: side.conditions for side in self.sides}
        return [
            {
                "scheme": scheme,
                "pattern": pattern,
                "folder": folder,
                "conditions": conditions[folder],
                "runs": int(line.runs),
                "invalid": int(line.invalid),
                "share": line.share,
                "difference_points": _number(line.points),
                "left_out": _whole(line.left_out),
                "all_share": _number(line.all_share),
            }
            for scheme in self.schemes
            for (pattern, folder), line in self.of_scheme(scheme).iterrows()
        ]


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
    every = {bar for one in samples for bar in one.bars if bar[1] != CONTROL}
    patterns = {pattern for pattern, _ in every} - {pattern for pattern, _ in bars}
    schemes = {scheme for _, scheme in every} - {scheme for _, scheme in bars}
    sentences = [f"not run in every folder: {_few(what)}" for what in (patterns, schemes) if what]
    if lacking := [bar for bar in bars if bar not in common]:
        named = [f"{scheme} under {short(pattern)}" for pattern, scheme in lacking]
        sentences.append(f"without a valid share in every folder: {_few(named)}")
    return sentences


def _few(names: Iterable[str]) -> str:
    shown = [short(name) for name in pattern_order(names)]
    more = len(shown) - _MAX_NAMED
    return ", ".join(shown[:_MAX_NAMED] or ["none"]) + (f" and {more} more" if more > 0 else "")


def _all_have(found: Iterable[Collection[Thing]]) -> set[Thing]:
    first, *others = found
    return set(first).intersection(*others)


def _option(name: str) -> str:
    return _OPTIONS.get(name, option_of(name))
