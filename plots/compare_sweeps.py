"""The same patterns and schemes under different conditions: how much their shares of the control change.

Sweeps are compared pattern by pattern, over the patterns that all of them have. A run counts only if every sweep has a
valid one, with a valid control, of the same pattern, scheme and seed: a mean over different seeds, and so over
different hashed paths, would be another experiment.

A scheme's differences are averaged over the patterns within each seed; from three seeds on their mean has Student's
interval over the seeds, like those of trials (`plots.trials`). Patterns share their seeds, so they are not repetitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import asdict

from hedera.schemes import CONTROL
from plots.load import Sweep, load_sweep, mixture
from plots.style import Value, option_name, scheme_order, setting_text, short
from plots.summary import BAR, pattern_order, tries_of
from plots.trials import difference

Bar = tuple[str, str]
"""Pattern and scheme."""
Trial = tuple[str, str, int]
"""Pattern, scheme and seed."""
Thing = TypeVar("Thing")
OF_THE_PATTERN = ("flows_per_host", "keep")
_MAX_NAMED = 8


@dataclass(frozen=True)
class Comparison:
    """Folders, which are compared with the first. ``conditions``: the settings of each that differ, by the command
    line's options; ``alike``: the others; ``notes``: a sentence on each thing that does not count or was left out.

    ``paired``: a line for each run of a pattern, scheme and seed that have a share in every folder, in the order of
    tables: its ``ratio`` to the control, and ``difference_points`` to the first folder. ``invalid``: trials that are
    invalid or not judged, by scheme and folder.
    """

    conditions: Mapping[str, Mapping[str, Value]]
    paired: Any
    invalid: Mapping[tuple[str, str], int]
    alike: Mapping[str, Value]
    notes: tuple[str, ...]

    @cached_property
    def frame(self) -> Any:
        """``paired`` by scheme, pattern and folder: ``share`` and ``difference_points`` as means over ``runs``."""
        found = self.paired.groupby([*BAR, "folder"], sort=False)
        means = {
            "share": ("ratio", "mean"),
            "runs": ("ratio", "size"),
            "difference_points": ("difference_points", "mean"),
        }
        return found.agg(**means).reset_index()

    def rows(self) -> list[dict[str, Any]]:
        """A row for each scheme and folder: the mean share over ``patterns``, and of the differences the mean, its
        interval over ``seeds`` (None: fewer than three) and the largest of a pattern; ``invalid`` is over all patterns
        that all folders have."""
        return [self._row(scheme, folder) for scheme in self.frame.scheme.unique() for folder in self.conditions]

    def _row(self, scheme: str, folder: str) -> dict[str, Any]:
        own, runs = (of[(of.scheme == scheme) & (of.folder == folder)] for of in (self.frame, self.paired))
        points = own.set_index("pattern").difference_points.dropna()
        mean = difference(None, runs.groupby("seed").difference_points.mean().dropna().tolist())
        largest = None if points.empty else points.abs().idxmax()
        return {
            "scheme": scheme,
            "folder": folder,
            "conditions": self.conditions[folder],
            "patterns": len(own),
            "seeds": int(runs.seed.nunique()),
            "runs": int(own.runs.sum()),
            "invalid": self.invalid[scheme, folder],
            "share": own.share.mean(),
            "difference_points": mean.mean,
            "low_points": mean.low,
            "high_points": mean.high,
            "largest_points": None if largest is None else points[largest],
            "largest_pattern": largest,
        }


@dataclass(frozen=True)
class _Sample:
    """A folder with its ``name`` in tables, its sweep, and a row for each try (`plots.summary.tries_of`), whose ``key``
    is a `Trial`."""

    name: str
    sweep: Sweep
    tries: Any

    @property
    def bars(self) -> set[Bar]:
        return {(run.pattern, run.scheme) for run in self.sweep.runs}

    @property
    def trials(self) -> set[Trial]:
        """Those that are valid, and their control is."""
        return set(self.tries.key[self.tries.ratio.notna()])

    def invalid(self, scheme: str, patterns: Collection[str]) -> int:
        """How many trials of the scheme do not count."""
        own = self.tries[self.tries.counts & (self.tries.scheme == scheme) & self.tries.pattern.isin(patterns)]
        return int((~own.valid).sum())

    def settings(self, bars: Collection[Bar]) -> dict[str, Value]:
        """The settings of the runs of these bars, by their names in run.json, except those that belong to the
        pattern. Several values are joined into one text."""
        found: dict[str, dict[Value, None]] = {}
        for run in self.sweep.runs:
            if (run.pattern, run.scheme) in bars:
                for name, value in asdict(run.spec).items():
                    found.setdefault(name, {})[value] = None
        return {
            name: next(iter(values)) if len(values) == 1 else ", ".join(sorted(map(setting_text, values)))
            for name, values in found.items()
            if name not in OF_THE_PATTERN
        }

    def says(self, bars: Collection[Bar], trials: Collection[Trial]) -> list[str]:
        """Sentences on the runs of these bars that do not count, and on the files that were left out."""
        own = self.tries[self.tries.counts & self.tries.set_index(BAR).index.isin(bars)]
        uncounted = Counter(own.verdict[~own.valid])
        found = [(uncounted[verdict], f"{verdict}, and never counted") for verdict in sorted(uncounted)]
        inside = set(own.key[own.valid])
        found.append((len(inside - self.trials), "valid, but without a valid control of the same trial"))
        others = (inside & self.trials).difference(trials)
        found.append((len(others), "valid, but not of that seed in every folder"))
        sentences = [f"{number} run{'s are' if number != 1 else ' is'} {what}" for number, what in found if number]
        for reason, number in Counter(one.reason for one in self.sweep.skipped).most_common():
            sentences.append(f"{number} run.json left out: {reason}")
        return [f"{self.name}: {sentence}" for sentence in sentences]


def compare(folders: Sequence[Path]) -> Comparison:
    """Compare the folders with the first. Raises ValueError, one sentence, if that is impossible."""
    samples = _samples(folders)
    patterns, schemes = (
        _in_all(what, samples, [{bar[level] for bar in one.bars} - {CONTROL} for one in samples])
        for what, level in (("pattern", 0), ("scheme but the control", 1))
    )
    bars = {(pattern, scheme) for pattern in patterns for scheme in schemes}
    trials = _all_have(one.trials for one in samples)
    paired = _paired(samples, bars, trials)
    if paired.empty:
        raise ValueError("no pattern has a valid run of a scheme and of the control of the same seed in every folder")
    common = set(zip(paired.pattern, paired.scheme, strict=True))
    settings = [one.settings(common) for one in samples]
    differ = [name for name in settings[0] if len({found[name] for found in settings}) > 1]
    conditions = {
        one.name: {option_name(name): found[name] for name in differ}
        for one, found in zip(samples, settings, strict=True)
    }
    alike = {option_name(name): value for name, value in settings[0].items() if name not in differ}
    with_control = bars | {(pattern, CONTROL) for pattern in patterns}
    mixed = mixture(run for one in samples for run in one.sweep.runs)
    says = (sentence for one in samples for sentence in one.says(with_control, trials))
    notes = [*filter(None, [mixed.rstrip(".")]), *_not_common(samples, bars, common), *says]
    invalid = {(scheme, one.name): one.invalid(scheme, patterns) for one in samples for scheme in schemes}
    return Comparison(conditions, paired, invalid, alike, tuple(notes))


def _paired(samples: Sequence[_Sample], bars: Collection[Bar], trials: Collection[Trial]) -> Any:
    """The lines ``paired`` of a `Comparison`."""
    from pandas import concat

    found = concat([one.tries.assign(folder=one.name) for one in samples])
    found = found[found.ratio.notna() & found.key.isin(trials) & found.set_index(BAR).index.isin(bars)]
    points = 100 * (found.ratio - found.groupby("key").ratio.transform("first"))
    found = found.assign(difference_points=points.where(found.folder != samples[0].name))
    names = [*scheme_order(found.scheme), *pattern_order(found.pattern)]
    order = {name: place for place, name in enumerate(names)}
    return found.sort_values(["scheme", "pattern"], key=lambda own: own.map(order), kind="stable")


def _samples(folders: Sequence[Path]) -> list[_Sample]:
    """The samples of two or more different folders, of networks of the same size."""
    if len(folders) < 2:
        raise ValueError("a comparison needs two folders or more")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ValueError("a folder is given twice")
    last = Counter(folder.resolve().name for folder in folders)
    names = [found if last[found := folder.resolve().name] == 1 else str(folder) for folder in folders]
    printable = [name if name.isprintable() else ascii(name) for name in names]
    samples = [_read(folder, name) for folder, name in zip(folders, printable, strict=True)]
    sizes = {one.sweep.runs[0].spec.k: one.name for one in samples}
    if len(sizes) > 1:
        raise ValueError(
            "networks of different size cannot be compared: "
            + ", ".join(f"-k {k} in {name}" for k, name in sizes.items())
        )
    return samples


def _read(folder: Path, name: str) -> _Sample:
    """Raises ValueError, one sentence, if there are no runs, or none of the control."""
    sweep = load_sweep(folder)
    if not sweep.runs:
        why = "".join(f": {one.path} {one.reason}" for one in sweep.skipped[:1])
        raise ValueError(f"{folder} has no readable run (run.json){why}")
    tries = tries_of(sweep.runs, sweep.tries)
    tries["key"] = list(zip(tries.pattern, tries.scheme, tries.seed, strict=True))
    if CONTROL not in set(tries.scheme[tries.ratio.notna()]):
        raise ValueError(f"{folder} has no valid run of the control ({CONTROL}), which shares of the control need")
    return _Sample(name, sweep, tries)


def _in_all(what: str, samples: Sequence[_Sample], found: Sequence[Collection[str]]) -> set[str]:
    """What all samples have in common; ValueError if that is nothing."""
    if common := _all_have(found):
        return common
    each = "; ".join(f"{one.name} has {_few(own)}" for one, own in zip(samples, found, strict=True))
    raise ValueError(f"no {what} is in every folder: {each}")


def _not_common(samples: Sequence[_Sample], bars: Collection[Bar], common: Collection[Bar]) -> list[str]:
    every = {bar for one in samples for bar in one.bars if bar[1] != CONTROL}
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
