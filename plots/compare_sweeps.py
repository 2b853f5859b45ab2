"""Several sweeps beside each other: those of one command, which differ by the value of an option, and any folders.

The picture of options shows each scheme's share of the control against the value. A point is the mean over trials of
the mean over those patterns that all trials have; its whisker is Student's 95 % interval over the trials, from three
on. Where the control was not run, shares are of what all hosts' links can carry.

Folders are compared pattern by pattern, over the patterns that all of them have. A run counts only if every folder has
a valid one, with a valid control, of the same pattern, scheme and seed: a mean over different seeds, and so over
different hashed paths, would be another experiment. A scheme's differences are averaged over the patterns within each
seed; from three seeds on their mean has Student's interval over the seeds, like those of trials (`plots.trials`).
Patterns share their seeds, so they are not repetitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import asdict

from hedera.schemes import CONTROL
from plots import figure9, style
from plots.export import run_rows
from plots.load import Sweep, load_sweep, mixture
from plots.style import Value, option_name, scheme_order, setting_text, short
from plots.summary import BAR, FEWEST, csv_text, frame_of, means_of_trials, pattern_order
from plots.trials import Difference, difference
from record.files import write_whole

Bar = tuple[str, str]
"""Pattern and scheme."""
Trial = tuple[str, str, int]
"""Pattern, scheme and seed."""
Thing = TypeVar("Thing")
OF_THE_PATTERN = ("flows_per_host", "keep")
_MAX_NAMED = 8
_APART = 3.0  # points between the marks of two schemes


# --- the sweeps of one command ------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Sweeps:
    """What a sweep over options has made in ``folder``. ``parts``: a sweep for each combination of the varied options,
    and their values; a single one where nothing is varied. ``valid``: whether all runs that were asked for are."""

    folder: Path
    parts: tuple[tuple[Sweep, Mapping[str, Value]], ...]
    valid: bool = True

    def __repr__(self) -> str:
        runs = [run for sweep, _ in self.parts for run in sweep.runs]
        varied = ", ".join(self.parts[0][1])
        return (
            f"<{len(runs)} runs in {self.folder}{f', by {varied}' if varied else ''}: {len({r.pattern for r in runs})} "
            f"patterns, {len({r.scheme for r in runs})} schemes, {sum(run.valid for run in runs)} runs valid>"
        )

    def to_frame(self) -> Any:
        """A row for each run: the varied options, then the columns of `hedera export`'s runs.csv (docs/fields.md)."""
        from pandas import DataFrame

        return DataFrame([{**values, **row} for sweep, values in self.parts for row in run_rows(sweep)])

    def plot(self) -> Any:
        """The picture of all, as a matplotlib figure: share against value, or the bars if nothing is varied."""
        with style.house_style():
            return by_value(self.parts) if self.parts[0][1] else figure9.figures(self.parts[0][0])[0]

    def write(self) -> list[Path]:
        """Write the table of all, with the varied options before the columns of summary.csv, and their picture."""
        lines: list[str] = []
        for sweep, values in self.parts:
            head, *rows = csv_text(sweep).splitlines()
            lines = lines or [f"{','.join(values)},{head}"]
            lines += [f"{','.join(map(setting_text, values.values()))},{row}" for row in rows]
        write_whole(self.folder / "summary.csv", "\n".join(lines) + "\n")
        with style.house_style():
            figure = by_value(self.parts)
            pictures = style.save(figure, self.folder / "by-value", ("png", "svg")) if figure else []
        return [self.folder / "summary.csv", *pictures]


Means = Mapping[str, Difference]
"""The mean share of each scheme and its interval."""


def by_value(parts: Iterable[tuple[Sweep, Mapping[str, Value]]]) -> Any:
    """A figure with each scheme's share against the value of the option that has most; the others have a panel for
    each value. None where no sweep has a valid run."""
    from matplotlib.figure import Figure

    tried = []
    for sweep, values in parts:
        if sweep.runs:
            tries = frame_of(sweep)
            rows = tries[tries.counts]
            of_links = (rows.mbps / sweep.runs[0].capacity_mbps).where(rows.valid)
            tried.append((values, rows.assign(of_links=of_links)))
    of_control = any(rows.ratio.notna().any() for _, rows in tried)
    shown = [(values, means) for values, rows in tried if (means := _mean_shares(rows, of_control))]
    if not shown:
        return None
    choices = {option: list(dict.fromkeys(values[option] for values, _ in shown)) for option in shown[0][0]}
    along = max(choices, key=lambda option: len(choices[option]))
    panels: dict[str, list[tuple[Value, Means]]] = {}
    for values, means in shown:
        rest = ", ".join(f"{option} {setting_text(value)}" for option, value in values.items() if option != along)
        panels.setdefault(rest, []).append((values[along], means))
    figure = Figure(figsize=(max(4.8, 3.4 * len(panels) + 0.8), 3.6), layout="constrained")
    fields = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    schemes = scheme_order(scheme for _, means in shown for scheme in means)
    for ax, (title, points) in zip(fields, panels.items(), strict=True):
        _panel(ax, points, schemes, choices[along])
        ax.set(xlabel=along, title=title)
    fields[0].set_ylabel("share of the control" if of_control else "share of all hosts' links")
    trials = max(mean.pairs for _, means in shown for mean in means.values())
    whisker = "; whisker: 95 % interval over trials" if trials >= FEWEST else ""
    figure.suptitle(
        f"mean over patterns and {trials} trial{'s' if trials > 1 else ''}{whisker}",
        x=0.01, ha="left", fontsize=9, color=style.MUTED,
    )  # fmt: skip
    figure.legend(*fields[0].get_legend_handles_labels(), loc="outside lower center", ncols=min(4, len(schemes)))
    return figure


def _mean_shares(rows: Any, of_control: bool) -> Means:
    share = "ratio" if of_control else "of_links"
    if rows[share].isna().all():
        return {}
    means = means_of_trials(rows, share, "scheme")
    return {
        scheme: difference(None, of_trials.dropna().tolist())
        for scheme, of_trials in means.iterrows()
        if not (of_control and scheme == CONTROL)
    }


def _panel(ax: Any, points: Sequence[tuple[Value, Means]], schemes: Sequence[str], choices: Sequence[Value]) -> None:
    from matplotlib.transforms import ScaledTranslation

    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in choices)
    place = {value: float(value) if numbers else float(i) for i, value in enumerate(choices)}  # type: ignore[arg-type]
    low, high = min(place.values()), max(place.values())
    if logarithmic := numbers and low > 0 and high / low >= 8:
        ax.set_xscale("log")
        ax.minorticks_off()
    room = 0.08 * (high - low) or 0.5
    ax.set_xlim(*((low / 1.2, high * 1.2) if logarithmic else (low - room, high + room)))
    ax.set_xticks(list(place.values()), [short(setting_text(value)) for value in choices])
    highest = max((mean.high or mean.mean or 0.0) for _, means in points for mean in means.values())
    ax.set_ylim(0, 1.05 * min(max(1.0, highest), 1.25))
    ax.grid(axis="y")
    ax.axhline(1, color=style.INK, linewidth=0.9, linestyle=style.DASHES, zorder=1.5)
    for number, scheme in enumerate(schemes):
        rows = [(place[value], means[scheme]) for value, means in points if scheme in means]
        aside = ScaledTranslation((number - (len(schemes) - 1) / 2) * _APART / 72, 0, ax.figure.dpi_scale_trans)
        ax.errorbar(
            [x for x, _ in rows], [mean.mean for _, mean in rows],
            yerr=[0.0 if mean.low is None else (mean.mean or 0.0) - mean.low for _, mean in rows],
            color=style.colour(scheme), linestyle="-" if numbers else "", linewidth=1.4, marker="o", markersize=4,
            elinewidth=0.9, capsize=2, label=short(scheme), transform=ax.transData + aside,
        )  # fmt: skip


# --- any folders --------------------------------------------------------------------------------------------


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
        groups = self.paired.groupby([*BAR, "folder"], sort=False)
        return groups.agg(
            share=("ratio", "mean"), runs=("ratio", "size"), difference_points=("difference_points", "mean")
        ).reset_index()

    def rows(self) -> list[dict[str, Any]]:
        """A row for each scheme and folder: the mean share over ``patterns``, and of the differences the mean, its
        interval over ``seeds`` (None: fewer than three) and the largest of a pattern; ``invalid`` is over all patterns
        that all folders have."""
        return [self._row(scheme, folder) for scheme in self.frame.scheme.unique() for folder in self.conditions]

    def _row(self, scheme: str, folder: str) -> dict[str, Any]:
        patterns, runs = (of[(of.scheme == scheme) & (of.folder == folder)] for of in (self.frame, self.paired))
        points = patterns.set_index("pattern").difference_points.dropna()
        mean = difference(None, runs.groupby("seed").difference_points.mean().dropna().tolist())
        largest = None if points.empty else points.abs().idxmax()
        return {
            "scheme": scheme,
            "folder": folder,
            "conditions": self.conditions[folder],
            "patterns": len(patterns),
            "seeds": int(runs.seed.nunique()),
            "runs": int(patterns.runs.sum()),
            "invalid": self.invalid[scheme, folder],
            "share": patterns.share.mean(),
            "difference_points": mean.mean,
            "low_points": mean.low,
            "high_points": mean.high,
            "largest_points": None if largest is None else points[largest],
            "largest_pattern": largest,
        }


@dataclass(frozen=True)
class _Sample:
    """A folder with its ``name`` in tables, its sweep, and a row for each try, whose ``key`` is a `Trial`."""

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
        rows = self.tries[self.tries.counts & (self.tries.scheme == scheme) & self.tries.pattern.isin(patterns)]
        return int((~rows.valid).sum())

    def settings(self, bars: Collection[Bar]) -> dict[str, Value]:
        """The settings of the runs of these bars, by their names in run.json, except those that belong to the
        pattern. Several values are joined into one text."""
        values: dict[str, dict[Value, None]] = {}
        for run in self.sweep.runs:
            if (run.pattern, run.scheme) in bars:
                for name, value in asdict(run.spec).items():
                    values.setdefault(name, {})[value] = None
        return {
            name: next(iter(several)) if len(several) == 1 else ", ".join(sorted(map(setting_text, several)))
            for name, several in values.items()
            if name not in OF_THE_PATTERN
        }

    def notes(self, bars: Collection[Bar], trials: Collection[Trial]) -> list[str]:
        """Sentences on the runs of these bars that do not count, and on the files that were left out."""
        rows = self.tries[self.tries.counts & self.tries.set_index(BAR).index.isin(bars)]
        reasons = np.select(
            [~rows.valid, rows.ratio.isna(), ~rows.key.isin(trials)],
            [
                rows.verdict + ", and never counted",
                "valid, but without a valid control of the same trial",
                "valid, but not of that seed in every folder",
            ],
            "",
        )
        counts = sorted(Counter(filter(None, reasons.tolist())).items())
        sentences = [f"{number} run{'s are' if number != 1 else ' is'} {reason}" for reason, number in counts]
        for reason, number in Counter(file.reason for file in self.sweep.skipped).most_common():
            sentences.append(f"{number} run.json left out: {reason}")
        return [f"{self.name}: {sentence}" for sentence in sentences]


def compare(folders: Sequence[Path]) -> Comparison:
    """Compare the folders with the first. Raises ValueError, one sentence, if that is impossible."""
    samples = _samples(folders)
    patterns, schemes = (
        _in_all(what, samples, [{bar[level] for bar in sample.bars} - {CONTROL} for sample in samples])
        for what, level in (("pattern", 0), ("scheme but the control", 1))
    )
    bars = {(pattern, scheme) for pattern in patterns for scheme in schemes}
    trials = _all_have(sample.trials for sample in samples)
    paired = _paired(samples, bars, trials)
    if paired.empty:
        raise ValueError("no pattern has a valid run of a scheme and of the control of the same seed in every folder")
    common = set(zip(paired.pattern, paired.scheme, strict=True))
    settings = [sample.settings(common) for sample in samples]
    differ = [name for name in settings[0] if len({values[name] for values in settings}) > 1]
    conditions = {
        sample.name: {option_name(name): values[name] for name in differ}
        for sample, values in zip(samples, settings, strict=True)
    }
    alike = {option_name(name): value for name, value in settings[0].items() if name not in differ}
    with_control = bars | {(pattern, CONTROL) for pattern in patterns}
    mixed = mixture(run for sample in samples for run in sample.sweep.runs).rstrip(".")
    left_out = (sentence for sample in samples for sentence in sample.notes(with_control, trials))
    notes = [*([mixed] if mixed else []), *_not_common(samples, bars, common), *left_out]
    invalid = {(scheme, sample.name): sample.invalid(scheme, patterns) for sample in samples for scheme in schemes}
    return Comparison(conditions, paired, invalid, alike, tuple(notes))


def _paired(samples: Sequence[_Sample], bars: Collection[Bar], trials: Collection[Trial]) -> Any:
    """The lines ``paired`` of a `Comparison`."""
    from pandas import concat

    rows = concat([sample.tries.assign(folder=sample.name) for sample in samples])
    rows = rows[rows.ratio.notna() & rows.key.isin(trials) & rows.set_index(BAR).index.isin(bars)]
    points = 100 * (rows.ratio - rows.groupby("key").ratio.transform("first"))
    rows = rows.assign(difference_points=points.where(rows.folder != samples[0].name))
    names = [*scheme_order(rows.scheme), *pattern_order(rows.pattern)]
    order = {name: place for place, name in enumerate(names)}
    return rows.sort_values(["scheme", "pattern"], key=lambda column: column.map(order), kind="stable")


def _samples(folders: Sequence[Path]) -> list[_Sample]:
    """The samples of two or more different folders, of networks of the same size."""
    if len(folders) < 2:
        raise ValueError("a comparison needs two folders or more")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ValueError("a folder is given twice")
    last = Counter(folder.resolve().name for folder in folders)
    names = [name if last[(name := folder.resolve().name)] == 1 else str(folder) for folder in folders]
    printable = [name if name.isprintable() else ascii(name) for name in names]
    samples = [_sample(folder, name) for folder, name in zip(folders, printable, strict=True)]
    sizes = {sample.sweep.runs[0].spec.k: sample.name for sample in samples}
    if len(sizes) > 1:
        sizes_in_words = ", ".join(f"-k {k} in {name}" for k, name in sizes.items())
        raise ValueError(f"networks of different size cannot be compared: {sizes_in_words}")
    return samples


def _sample(folder: Path, name: str) -> _Sample:
    """Raises ValueError, one sentence, if there are no runs, or none of the control."""
    sweep = load_sweep(folder)
    if not sweep.runs:
        why = "".join(f": {file.path} {file.reason}" for file in sweep.skipped[:1])
        raise ValueError(f"{folder} has no readable run (run.json){why}")
    tries = frame_of(sweep)
    tries = tries.assign(key=list(zip(tries.pattern, tries.scheme, tries.seed, strict=True)))
    if CONTROL not in set(tries.scheme[tries.ratio.notna()]):
        raise ValueError(f"{folder} has no valid run of the control ({CONTROL}), which shares of the control need")
    return _Sample(name, sweep, tries)


def _in_all(what: str, samples: Sequence[_Sample], names: Sequence[Collection[str]]) -> set[str]:
    """What all samples have in common; ValueError if that is nothing."""
    if common := _all_have(names):
        return common
    each = "; ".join(f"{sample.name} has {_few(has)}" for sample, has in zip(samples, names, strict=True))
    raise ValueError(f"no {what} is in every folder: {each}")


def _not_common(samples: Sequence[_Sample], bars: Collection[Bar], common: Collection[Bar]) -> list[str]:
    every = {bar for sample in samples for bar in sample.bars if bar[1] != CONTROL}
    alone = [{bar[level] for bar in every} - {bar[level] for bar in bars} for level in (0, 1)]
    sentences = [f"not run in every folder: {_few(what)}" for what in alone if what]
    if lacking := [f"{scheme} under {short(pattern)}" for pattern, scheme in bars if (pattern, scheme) not in common]:
        sentences.append(f"without a valid share in every folder: {_few(lacking)}")
    return sentences


def _few(names: Iterable[str]) -> str:
    shown = [short(name) for name in pattern_order(names)]
    more = len(shown) - _MAX_NAMED
    return ", ".join(shown[:_MAX_NAMED] or ["none"]) + (f" and {more} more" if more > 0 else "")


def _all_have(collections: Iterable[Collection[Thing]]) -> set[Thing]:
    first, *others = collections
    return set(first).intersection(*others)
