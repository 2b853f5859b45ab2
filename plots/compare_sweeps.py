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

from hedera.schemes import CONTROL
from plots.sample import Bar, Sample, Trial, Value, option_name, read, setting_text
from plots.style import scheme_order, short
from plots.summary import BAR, pattern_order
from plots.trials import difference

Thing = TypeVar("Thing")
_MAX_NAMED = 8


@dataclass(frozen=True)
class Comparison:
    """Folders, which are compared with the first. ``conditions``: the settings of each that differ, by the command
    line's options; ``alike``: the others; ``notes``: a sentence on each thing that does not count or was left out.

    ``frame``: a line for each scheme and pattern that have a share in every folder, and folder, in the order of
    tables. ``share`` of the control over ``runs``; ``difference_points`` to the first folder. ``invalid``: trials that
    are invalid or not judged. ``left_out`` and ``all_...`` are over all tries whatever their verdict, of which
    ``left_out`` are not valid (NaN: an older summary does not say). ``tried``: the same lines, and those without a
    share everywhere.
    """

    conditions: Mapping[str, Mapping[str, Value]]
    frame: Any
    tried: Any
    alike: Mapping[str, Value]
    notes: tuple[str, ...]

    @property
    def schemes(self) -> list[str]:
        return list(self.frame.scheme.unique())

    def label(self, folder: str) -> str:
        differing = self.conditions[folder].items()
        return " ".join(f"{option} {setting_text(value)}" for option, value in differing) or folder

    def rows(self) -> list[dict[str, Any]]:
        """A row for each scheme and folder: the mean share over ``patterns``, and of the differences the mean, its
        interval (None: fewer than three patterns) and the largest. ``invalid``, ``left_out`` and ``all_...`` are over
        ``all_patterns``, the patterns that all folders have."""
        return [self._row(scheme, folder) for scheme in self.schemes for folder in self.conditions]

    def _row(self, scheme: str, folder: str) -> dict[str, Any]:
        own, every = (of[(of.scheme == scheme) & (of.folder == folder)] for of in (self.frame, self.tried))
        points = own.set_index("pattern").difference_points.dropna()
        mean = difference(None, points.tolist())
        largest = None if points.empty else points.abs().idxmax()
        both = every[every.all_share_everywhere]
        return {
            "scheme": scheme,
            "folder": folder,
            "conditions": self.conditions[folder],
            "patterns": len(own),
            "runs": int(own.runs.sum()),
            "invalid": int(every.invalid.sum()),
            "share": own.share.mean(),
            "difference_points": mean.mean,
            "low_points": mean.low,
            "high_points": mean.high,
            "largest_points": None if largest is None else points[largest],
            "largest_pattern": largest,
            "left_out": _plain(every.left_out.sum(skipna=False), int),
            "all_patterns": len(both),
            "all_share": _plain(both.all_share.mean()),
            "all_difference_points": _plain(both.all_difference_points.mean()),
        }

    def pattern_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "scheme": line.scheme,
                "pattern": line.pattern,
                "folder": line.folder,
                "conditions": self.conditions[line.folder],
                "runs": int(line.runs),
                "invalid": int(line.invalid),
                "share": line.share,
                "difference_points": _plain(line.difference_points),
                "left_out": _plain(line.left_out, int),
                "all_share": _plain(line.all_share),
            }
            for line in self.frame.itertuples()
        ]


def _plain(value: float, kind: type[float] = float) -> float | None:
    return None if math.isnan(value) else kind(value)


def compare(folders: Sequence[Path]) -> Comparison:
    """Compare the folders with the first. Raises ValueError, one sentence, if that is impossible."""
    samples = _samples(folders)
    patterns, schemes = (
        _in_all(what, samples, [set(one.bars.index.unique(level)) - {CONTROL} for one in samples])
        for what, level in (("pattern", "pattern"), ("scheme but the control", "scheme"))
    )
    bars = {(pattern, scheme) for pattern in patterns for scheme in schemes}
    with_runs = all(one.tries is not None for one in samples)
    trials = _all_have(one.trials for one in samples) if with_runs else None
    tried = _tried(samples, bars, trials)
    frame = tried[tried.share_everywhere]
    if frame.empty:
        seed = " of the same seed" if with_runs else ""
        raise ValueError(f"no pattern has a valid run of a scheme and of the control{seed} in every folder")
    order = {
        name: place for names in (scheme_order(schemes), pattern_order(patterns)) for place, name in enumerate(names)
    }
    frame = frame.sort_values(["scheme", "pattern"], key=lambda names: names.map(order), kind="stable")
    common = set(zip(frame.pattern, frame.scheme, strict=True))
    settings = [one.settings(common) for one in samples]
    names = list(dict.fromkeys(name for found in settings for name in found))
    differ = [name for name in names if len({found[name] for found in settings if name in found}) > 1]
    alike = [name for name in names if name not in differ and all(name in found for found in settings)]
    conditions = {
        one.name: {option_name(name): found[name] for name in differ if name in found}
        for one, found in zip(samples, settings, strict=True)
    }
    with_control = bars | {(pattern, CONTROL) for pattern in patterns}
    notes = [*_not_common(samples, bars, common), *(s for one in samples for s in one.says(with_control, trials))]
    return Comparison(conditions, frame, tried, {option_name(name): settings[0][name] for name in alike}, tuple(notes))


def _tried(samples: Sequence[Sample], bars: Collection[Bar], trials: Collection[Trial] | None) -> Any:
    """The frame ``tried`` of a `Comparison`; ``..._everywhere``: whether every folder has such a share."""
    from pandas import concat

    tried = None if trials is None else _all_have(set(one.tries.key) for one in samples)
    found = [one.shares(trials, tried).assign(folder=one.name) for one in samples]
    frame = concat([own[own.index.isin(bars)] for own in found]).reset_index()
    for share, difference_points in (("share", "difference_points"), ("all_share", "all_difference_points")):
        of_bar = frame.groupby(BAR)[share]
        everywhere = of_bar.transform("count") == len(samples)
        others = everywhere & (frame.folder != samples[0].name)
        frame[f"{share}_everywhere"] = everywhere
        frame[difference_points] = 100 * (frame[share] - of_bar.transform("first")).where(others)
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
    samples = [read(folder, name) for folder, name in zip(folders, printable, strict=True)]
    sizes = {one.settings(one.bars.index)["k"]: one.name for one in samples}
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
    every = {bar for one in samples for bar in one.bars.index if bar[1] != CONTROL}
    alone = [{bar[level] for bar in every} - {bar[level] for bar in bars} for level in (0, 1)]
    sentences = [f"not run in every folder: {_few(what)}" for what in alone if what]
    if lacking := [f"{scheme} under {short(pattern)}" for pattern, scheme in bars if (pattern, scheme) not in common]:
        sentences.append(f"without a valid share in every folder: {_few(lacking)}")
    return sentences


def _few(names: Iterable[str]) -> str:
    shown = [short(name) for name in pattern_order(names)]
    more = len(shown) - _MAX_NAMED
    return ", ".join(shown[:_MAX_NAMED] or ["none"]) + (f" and {more} more" if more > 0 else "")


def _all_have(found: Iterable[Collection[Thing]]) -> set[Thing]:
    first, *others = found
    return set(first).intersection(*others)
