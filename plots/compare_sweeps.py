"""Several sweeps beside each other: those of one command, which differ by the value of an option, and any folders.

The picture of options shows each scheme's share of the control against the value. A point is the mean over trials of
the mean over those patterns that all trials have; its whisker is Student's 95 % interval over the trials, from three
on. Where the control was not run, shares are of what all hosts' links can carry.

Folders are compared pattern by pattern, over the patterns that all of them have. A run counts only if every folder has
a valid one, with a valid control, of the same pattern, scheme and seed: a mean over different seeds, and so over
different hashed paths, would be another experiment. A scheme's differences are averaged over the patterns within each
seed; from three seeds on their mean has Student's interval over the seeds, like those of trials (`plots.paired_tests`).
Patterns share their seeds, so they are not repetitions.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import escape

from hedera.schemes import CONTROL
from plots import figure9, pictures, style
from plots.export import run_rows
from plots.local_paths import make_local_path_remover
from plots.paired_tests import MeanInterval, average_over_patterns, estimate_mean
from plots.stored_sweep import Sweep, describe_mixture, load_sweep
from plots.style import Value, format_setting, name_option, order_schemes, shorten_name
from plots.summary import BAR, FEWEST, average_by_scheme, format_csv, make_frame, order_patterns, summarise
from record.files import write_whole
from record.spec import RunSpec

if TYPE_CHECKING:
    from plots.printable_figure import PrintableFigure

OF_THE_PATTERN = ("flows_per_host", "keep")
_MAX_NAMED = 8
_APART = 3.0  # points between the marks of two schemes


# --- the sweeps of one command ------------------------------------------------------------------------------


def __getattr__(name: str) -> Any:
    """`Sweeps`, as `VariedSweep` was called until 2.0: it is there for one more release, and says so."""
    if name != "Sweeps":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn("plots.compare_sweeps.Sweeps is called VariedSweep now", DeprecationWarning, stacklevel=2)
    return VariedSweep


@dataclass(frozen=True, repr=False)
class VariedSweep:
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

    def _repr_html_(self) -> str:
        """What a notebook shows: a row for each scheme of each part, and the picture of all."""
        from record import notebook

        rows = []
        for sweep, values in self.parts:
            if sweep.runs:
                for row in average_by_scheme(summarise(sweep).frame).itertuples():
                    counts = {"valid runs": f"{row.valid_trials} of {row.tries}"}
                    share = "" if row.patterns == 0 else f"{row.median_ratio:.1%}"
                    setting_texts = {option: format_setting(value) for option, value in values.items()}
                    rows.append(
                        {**setting_texts, "scheme": shorten_name(row.Index), "share of the control": share, **counts}
                    )
        words = style.embed_image(self.plot().content("svg"), repr(self)[1:-1]) if rows else ""
        return f"<p>{escape(repr(self)[1:-1])}</p>{notebook.make_table(rows) if rows else ''}{words}"

    def to_frame(self) -> Any:
        """A row for each run: the varied options, then the columns of `hedera export`'s runs.csv."""
        from pandas import DataFrame

        return DataFrame([{**values, **row} for sweep, values in self.parts for row in run_rows(sweep)])

    def plot(self) -> PrintableFigure:
        """The picture of all, as a matplotlib figure: share against value, or the bars if nothing is varied."""
        with style.house_style():
            return draw_by_value(self.parts) if self.parts[0][1] else figure9.draw_figures(self.parts[0][0])[0]

    def write(self) -> list[Path]:
        """Write the table of all, with the varied options before the columns of summary.csv, and their picture."""
        lines: list[str] = []
        for sweep, values in self.parts:
            head, *rows = format_csv(sweep).splitlines()
            lines = lines or [f"{','.join(values)},{head}"]
            lines += [f"{','.join(map(format_setting, values.values()))},{row}" for row in rows]
        write_whole(self.folder / "summary.csv", "\n".join(lines) + "\n")
        with style.house_style():
            figure = draw_by_value(self.parts)
            picture_files = pictures.save(figure, self.folder / "by-value", ("png", "svg")) if figure else []
        return [self.folder / "summary.csv", *picture_files]


def draw_by_value(parts: Iterable[tuple[Sweep, Mapping[str, Value]]]) -> Any:
    """A figure with each scheme's share against the value of the option that has most; the others have a panel for
    each value. None where no sweep has a valid run."""
    from pandas import concat

    swept = [(sweep, values) for sweep, values in parts if sweep.runs]
    if not swept:
        return None
    tries = [
        make_frame(sweep).assign(part=part, capacity_mbps=sweep.runs[0].capacity_mbps)
        for part, (sweep, _) in enumerate(swept)
    ]
    rows = concat(tries, ignore_index=True)
    rows = rows[rows.counts & rows.valid].assign(of_links=lambda valid: valid.mbps / valid.capacity_mbps)
    if of_control := rows.ratio.notna().any():
        rows = rows[rows.scheme != CONTROL]
    groups = rows.set_index(["pattern", "trial"]).groupby(["part", "scheme"])
    shares = groups["ratio" if of_control else "of_links"]
    means = {key: mean for key, of_scheme in shares if (mean := average_over_patterns(of_scheme)[0]).pairs}
    if not means:
        return None
    drawn_values = {part: swept[part][1] for part, _ in means}
    choices = {
        option: list(dict.fromkeys(values[option] for values in drawn_values.values())) for option in swept[0][1]
    }
    # The option with the most values makes the longest curve, and so the fewest panels.
    along = max(choices, key=lambda option: len(choices[option]))
    panels: dict[str, dict[Value, int]] = {}
    for part, values in drawn_values.items():
        other_settings = ", ".join(
            f"{option} {format_setting(value)}" for option, value in values.items() if option != along
        )
        panels.setdefault(other_settings, {})[values[along]] = part
    figure = pictures.create_figure(max(4.8, 3.4 * len(panels) + 0.8), 3.6)
    fields = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    schemes = order_schemes(scheme for _, scheme in means)
    for ax, (title, points) in zip(fields, panels.items(), strict=True):
        series = {
            scheme: {value: means[part, scheme] for value, part in points.items() if (part, scheme) in means}
            for scheme in schemes
        }
        _draw_panel(ax, series, choices[along])
        ax.set(xlabel=along, title=title)
    fields[0].set_ylabel("share of the control" if of_control else "share of all hosts' links")
    trials = max(mean.pairs for mean in means.values())
    whisker = "; whisker: 95 % interval over trials" if trials >= FEWEST else ""
    figure.suptitle(
        f"mean over patterns and {trials} trial{'s' if trials > 1 else ''}{whisker}",
        x=0.01, ha="left", fontsize=9, color=style.MUTED,
    )  # fmt: skip
    figure.legend(*fields[0].get_legend_handles_labels(), loc="outside lower center", ncols=min(4, len(schemes)))
    return figure


def _draw_panel(ax: Any, series: Mapping[str, Mapping[Value, MeanInterval]], choices: Sequence[Value]) -> None:
    """The points of each scheme, by the value of the option."""
    from matplotlib.transforms import ScaledTranslation

    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in choices)
    place = {value: float(value) if numbers else float(i) for i, value in enumerate(choices)}  # type: ignore[arg-type]
    low, high = min(place.values()), max(place.values())
    # Values such as 1, 10, 100 would crowd at one end of a linear axis.
    if logarithmic := numbers and low > 0 and high / low >= 8:
        ax.set_xscale("log")
        ax.minorticks_off()
    room = 0.08 * (high - low) or 0.5
    ax.set_xlim(*((low / 1.2, high * 1.2) if logarithmic else (low - room, high + room)))
    ax.set_xticks(list(place.values()), [shorten_name(format_setting(value)) for value in choices])
    highest = max(mean.high or mean.mean or 0.0 for means in series.values() for mean in means.values())
    # An interval of few trials may reach far above 1. It is cut off there, or it would press all points flat.
    ax.set_ylim(0, 1.05 * min(max(1.0, highest), 1.25))
    ax.grid(axis="y")
    ax.axhline(1, color=style.INK, linewidth=0.9, linestyle=style.DASHES, zorder=1.5)
    for number, (scheme, means) in enumerate(series.items()):
        # Points of several schemes at one value would cover each other. They stand some points of paper apart, whatever
        # the axis's scale is.
        aside = ScaledTranslation((number - (len(series) - 1) / 2) * _APART / 72, 0, ax.figure.dpi_scale_trans)
        ax.errorbar(
            [place[value] for value in means], [mean.mean for mean in means.values()],
            yerr=[0.0 if mean.low is None else (mean.mean or 0.0) - mean.low for mean in means.values()],
            color=style.colour(scheme), linestyle="-" if numbers else "", linewidth=1.4, marker="o", markersize=4,
            elinewidth=0.9, capsize=2, label=shorten_name(scheme), transform=ax.transData + aside,
        )  # fmt: skip


# --- any folders --------------------------------------------------------------------------------------------


_ALWAYS_TOLD = ("k", "topology", "seconds", "link_mbps", "time", "interval_s")


@dataclass(frozen=True)
class Comparison:
    """Folders, which are compared with the first. ``conditions``: the settings of each that differ, by the command
    line's options; ``alike``: the others; ``told``: of these what a caption says: network, rate, length, time and
    period, and what no run has by itself; ``notes``: a sentence on each thing that does not count or was left out.

    ``paired``: a line for each run of a pattern, scheme and seed that have a share in every folder, in the order of
    tables: its ``ratio`` to the control, and ``difference_points`` to the first folder. ``invalid``: trials that are
    invalid or not judged, by scheme and folder. ``emulators``: what emulated the runs that are compared.
    ``remove_local_paths``: takes this machine's places out of a text (`plots.local_paths`).
    """

    conditions: Mapping[str, Mapping[str, Value]]
    paired: Any
    invalid: Mapping[tuple[str, str], int]
    alike: Mapping[str, Value]
    told: Mapping[str, Value]
    notes: tuple[str, ...]
    emulators: tuple[str, ...]
    remove_local_paths: Callable[[str], str]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each scheme and folder: the mean share over ``patterns``, and of the differences the mean, its
        interval over ``seeds`` (None: fewer than three) and the largest of a pattern; ``invalid`` is over all patterns
        that all folders have."""
        rows = []
        groups = self.paired.groupby([*BAR, "folder"], sort=False)
        means = groups[["ratio", "difference_points"]].mean().reset_index()
        for (scheme, folder), runs in self.paired.groupby(["scheme", "folder"], sort=False):
            patterns = means[(means.scheme == scheme) & (means.folder == folder)].set_index("pattern")
            points = patterns.difference_points.dropna()
            largest = None if points.empty else points.abs().idxmax()
            mean = estimate_mean(None, runs.groupby("seed").difference_points.mean().dropna().tolist())
            rows.append(
                {
                    "scheme": scheme,
                    "folder": folder,
                    "conditions": self.conditions[folder],
                    "patterns": len(patterns),
                    "seeds": int(runs.seed.nunique()),
                    "runs": len(runs),
                    "invalid": int(self.invalid.get((scheme, folder), 0)),
                    "share": patterns.ratio.mean(),
                    "difference_points": mean.mean,
                    "low_points": mean.low,
                    "high_points": mean.high,
                    "largest_points": None if largest is None else points[largest],
                    "largest_pattern": largest,
                }
            )
        return rows


def compare(folders: Sequence[Path]) -> Comparison:
    """Compare the folders with the first. Raises ValueError, one sentence, if that is impossible."""
    from pandas import concat

    sweeps = _read(folders)
    rows = concat([make_frame(sweep).assign(folder=name) for name, sweep in sweeps.items()], ignore_index=True)
    rows = rows[rows.counts]
    own_rows = rows[rows.scheme != CONTROL]
    patterns, schemes = (
        _split_by_presence({name: own_rows[own_rows.folder == name] for name in sweeps}, column) for column in BAR
    )
    left_out = [f"not run in every folder: {_list_some(alone)}" for _, alone in (patterns, schemes) if alone]
    rows = rows[rows.pattern.isin(patterns[0]) & rows.scheme.isin([*schemes[0], CONTROL])]
    shares = rows.ratio.notna().groupby([rows[column] for column in (*BAR, "seed")]).transform("sum")
    # Only where all folders have a valid share of this pattern, scheme and seed is the same experiment compared.
    rows = rows.assign(everywhere=shares == len(sweeps))
    paired = _compare_paired(rows[rows.everywhere & (rows.scheme != CONTROL)], next(iter(sweeps)))
    settings = {
        name: _collect_settings(sweep, set(paired[BAR].itertuples(index=False))) for name, sweep in sweeps.items()
    }
    first, *further = settings.values()
    differ = [name for name in first if any(values[name] != first[name] for values in further)]
    conditions = {folder: {name_option(name): values[name] for name in differ} for folder, values in settings.items()}
    alike = {name_option(name): value for name, value in first.items() if name not in differ}
    usual = RunSpec("ecmp", "stride:1", time="real" if first["time"] == "real" else "virtual")
    told = {
        name_option(name): value
        for name, value in first.items()
        if name not in differ and (name in _ALWAYS_TOLD or value != getattr(usual, name, value))
    }
    mixed = describe_mixture(run for sweep in sweeps.values() for run in sweep.runs).rstrip(".")
    uncounted = [
        note for name, sweep in sweeps.items() for note in _note_left_out(name, sweep, rows[rows.folder == name])
    ]
    invalid = (~rows.valid).groupby([rows.scheme, rows.folder]).sum().to_dict()
    notes = tuple(filter(None, [mixed, *left_out, *uncounted]))
    clean = make_local_path_remover(run for sweep in sweeps.values() for run in sweep.tries)
    emulators = {run.emulated_by for sweep in sweeps.values() for run in sweep.runs}
    return Comparison(conditions, paired, invalid, alike, told, notes, tuple(sorted(emulators)), clean)


def _read(folders: Sequence[Path]) -> dict[str, Sweep]:
    """The sweeps of two or more different folders, of networks of the same size, by their names in tables."""
    if len(folders) < 2:
        raise ValueError("a comparison needs two folders or more")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ValueError("a folder is given twice")
    sweeps, sizes = {}, {}
    for name, folder in zip(_name_folders(folders), folders, strict=True):
        sweeps[name] = sweep = load_sweep(folder)
        if not sweep.runs:
            why = "".join(f": {file.path} {file.reason}" for file in sweep.skipped[:1])
            raise ValueError(f"{folder} has no readable run (run.json){why}")
        if not any(run.valid and run.scheme == CONTROL for run in sweep.runs):
            raise ValueError(f"{folder} has no valid run of the control ({CONTROL}), which shares of the control need")
        sizes[sweep.runs[0].spec.k] = name
    if len(sizes) > 1:
        in_words = ", ".join(f"-k {k} in {name}" for k, name in sizes.items())
        raise ValueError(f"networks of different size cannot be compared: {in_words}")
    return sweeps


def _name_folders(folders: Sequence[Path]) -> list[str]:
    """What folders are called in tables and on pages, which others read: their last part, and of folders that share it
    as many parts below the current folder as tell them apart, or else their places in the order given."""
    current_folder = Path.cwd().resolve()
    parts = [
        path.relative_to(current_folder).parts or (path.name,) if path.is_relative_to(current_folder) else (path.name,)
        for path in (folder.resolve() for folder in folders)
    ]
    names = []
    for number, own in enumerate(parts):
        other_parts = [path for place, path in enumerate(parts) if place != number]
        ends = (
            "/".join(own[-length:]) for length in range(1, len(own) + 1) if not _has_ending(other_parts, own[-length:])
        )
        names.append(next(ends, f"{own[-1]} ({number + 1})"))
    return [name if name.isprintable() else ascii(name) for name in names]


def _has_ending(names: Iterable[tuple[str, ...]], end: tuple[str, ...]) -> bool:
    return any(name[-len(end) :] == end for name in names)


def _split_by_presence(rows: Mapping[str, Any], column: str) -> tuple[set[str], set[str]]:
    """The patterns or schemes that every folder has, and the others; ValueError if there are none. ``rows``: by folder,
    without the control."""
    names = {folder: set(group[column]) for folder, group in rows.items()}
    common = set.intersection(*names.values())
    if not common:
        subject = "scheme but the control" if column == "scheme" else column
        present = "; ".join(f"{folder} has {_list_some(has)}" for folder, has in names.items())
        raise ValueError(f"no {subject} is in every folder: {present}")
    return common, set.union(*names.values()) - common


def _compare_paired(rows: Any, first: str) -> Any:
    """The lines ``paired`` of a `Comparison`."""
    if rows.empty:
        raise ValueError("no pattern has a valid run of a scheme and of the control of the same seed in every folder")
    points = 100 * (rows.ratio - rows.groupby([*BAR, "seed"]).ratio.transform("first"))
    rows = rows.assign(difference_points=points.where(rows.folder != first))
    names = [*order_schemes(rows.scheme), *order_patterns(rows.pattern)]
    order = {name: place for place, name in enumerate(names)}
    return rows.sort_values(["scheme", "pattern"], key=lambda column: column.map(order), kind="stable")


def _collect_settings(sweep: Sweep, bars: Collection[tuple[str, str]]) -> dict[str, Value]:
    """The settings of the runs of these patterns and schemes, by their names in run.json, except those that belong to
    the pattern. Several values are joined into one text."""
    values: dict[str, dict[Value, None]] = {}
    for run in sweep.runs:
        if (run.pattern, run.scheme) in bars:
            for name, value in run.settings.items():
                values.setdefault(name, {})[value] = None
    return {
        name: next(iter(several)) if len(several) == 1 else ", ".join(sorted(map(format_setting, several)))
        for name, several in values.items()
        if name not in OF_THE_PATTERN
    }


def _note_left_out(name: str, sweep: Sweep, rows: Any) -> list[str]:
    """Sentences on the runs of a folder that do not count, and on the files that were left out."""
    reasons = np.select(
        [~rows.valid, rows.ratio.isna(), ~rows.everywhere],
        [
            rows.verdict + ", and never counted",
            "valid, but without a valid control of the same trial",
            "valid, but not of that seed in every folder",
        ],
        "",
    )
    counts = sorted(Counter(filter(None, reasons.tolist())).items())
    sentences = [f"{number} run{'s are' if number != 1 else ' is'} {reason}" for reason, number in counts]
    for reason, number in Counter(file.reason for file in sweep.skipped).most_common():
        sentences.append(f"{number} run.json left out: {reason}")
    return [f"{name}: {sentence}" for sentence in sentences]


def _list_some(names: Iterable[str]) -> str:
    short_names = [shorten_name(name) for name in order_patterns(names)]
    more = len(short_names) - _MAX_NAMED
    return ", ".join(short_names[:_MAX_NAMED] or ["none"]) + (f" and {more} more" if more > 0 else "")
