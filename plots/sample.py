"""Shares of the control in a folder: of a sweep with its runs, or of a published summary without runs.

A published summary is a summary.csv, whose medians cannot be split into trials, with the sweep.json that has the
settings of its runs.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from hedera.parameter import option_of
from hedera.schemes import CONTROL
from plots.load import Skipped, load_sweep
from plots.summary import BAR, bars_of, tries_of
from results.parts import Count, Mbps, Name, Positive, Settings
from results.record import NOT_JUDGED, content, read_settings

Bar = tuple[str, str]
"""Pattern and scheme."""
Trial = tuple[str, str, int]
"""Pattern, scheme and seed."""
Value = bool | int | float | str | tuple[str, ...] | None
"""Of a setting."""
OF_THE_PATTERN = ("flows_per_host", "keep")
_OF_THE_TRAFFIC = ("new_flows", "large_flows")


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A bar in a summary.csv: trials by verdict, and the median share of the control (None: there is none); the share
    over all tries, and how many tries were left out (None: the file does not say)."""

    pattern: Name
    scheme: Name
    valid_trials: Count
    invalid_trials: Count
    not_judged_trials: Count = 0
    median_ratio: Positive | None = None
    left_out_tries: Count | None = None
    all_median_ratio: Mbps | None = None


@dataclass(frozen=True)
class Sample:
    """``name``: the folder's name in tables. ``bars``: a frame by pattern and scheme with the columns of `Line`.
    ``tries``: a row for each run (`plots.summary.tries_of`) with its ``key``, a `Trial`; None: there are no runs.
    ``settings_of``: of the runs with their bars, or of all of a summary."""

    name: str
    bars: Any
    tries: Any
    settings_of: Sequence[tuple[Bar, Settings]]
    skipped: Sequence[Skipped] = ()

    @property
    def trials(self) -> set[Trial]:
        """Those that are valid, and their control is."""
        return set(self.tries.key[self.tries.ratio.notna()])

    def shares(self, trials: Collection[Trial] | None, tried: Collection[Trial] | None) -> Any:
        """A frame by pattern and scheme: the median ``share`` of the control over so many ``runs`` (NaN: none);
        ``all_share``, the same over all tries whatever their verdict, and ``left_out``, how many of these are not valid
        (NaN: a summary that does not say); ``invalid``, how many trials do not count. ``trials`` and ``tried``: the
        only ones to count, of those with a share and of all."""
        uncounted = self.bars.invalid_trials + self.bars.not_judged_trials
        if self.tries is None:
            names = {"median_ratio": "share", "valid_trials": "runs"}
            names |= {"all_median_ratio": "all_share", "left_out_tries": "left_out"}
            return self.bars[list(names)].rename(columns=names).astype(float).assign(invalid=uncounted)
        counted = self.tries[self.tries.ratio.notna()]
        every = self.tries if tried is None else self.tries[self.tries.key.isin(tried)]
        if trials is not None:
            counted = counted[counted.key.isin(trials)]
        shares = counted.groupby(BAR).ratio.agg(share="median", runs="size")
        of_all = every.assign(left_out=~every.valid).groupby(BAR)
        found = of_all.agg(all_share=("all_ratio", "median"), left_out=("left_out", "sum"))
        return found.join(shares, how="outer").assign(invalid=uncounted)

    def settings(self, bars: Collection[Bar]) -> dict[str, Value]:
        """The settings of the runs of these bars, by their names in run.json, except those that belong to the
        pattern.

        Several values are joined into one text. Settings that a summary's sweep.json leaves open are left out: the
        value of ``auto``, and settings in which its runs may differ.
        """
        found: dict[str, dict[Value, None]] = {}
        for bar, settings in self.settings_of:
            if self.tries is None or bar in bars:
                for name, value in msgspec.structs.asdict(settings).items():
                    found.setdefault(name, {})[value] = None
        left_out = set(OF_THE_PATTERN)
        if self.tries is None:
            left_out |= {"scale_sizes"} | {name for name in _OF_THE_TRAFFIC if "auto" in found[name]}
        return {
            name: next(iter(values)) if len(values) == 1 else ", ".join(sorted(map(setting_text, values)))
            for name, values in found.items()
            if name not in left_out
        }

    def says(self, bars: Collection[Bar], trials: Collection[Trial] | None) -> list[str]:
        """Sentences on the runs of these bars that do not count, and on the files that were left out."""
        sentences = []
        if self.tries is None:
            sentences.append("a summary without runs, so trials are not matched by their seeds")
        own = self.bars[self.bars.index.isin(bars)]
        for verdict, number in (("invalid", own.invalid_trials.sum()), (NOT_JUDGED, own.not_judged_trials.sum())):
            if number:
                sentences.append(f"{_runs(number)} {verdict}, and never counted")
        if self.tries is not None:
            valid = self.tries[self.tries.counts & self.tries.valid].set_index(BAR)
            inside = set(valid.key[valid.index.isin(bars)])
            if alone := len(inside - self.trials):
                sentences.append(f"{_runs(alone)} valid, but without a valid control of the same trial")
            if trials is not None and (others := len((inside & self.trials).difference(trials))):
                sentences.append(f"{_runs(others)} valid, but not of that seed in every folder")
        for reason, number in Counter(one.reason for one in self.skipped).most_common():
            sentences.append(f"{number} run.json left out: {reason}")
        return [f"{self.name}: {sentence}" for sentence in sentences]


def read(folder: Path, name: str) -> Sample:
    """Read a folder: its runs, if there are any, else its summary. Raises ValueError, one sentence, if it has neither,
    or no control."""
    sweep = load_sweep(folder)
    if sweep.runs:
        tries = tries_of(sweep.runs, sweep.tries)
        tries["key"] = list(zip(tries.pattern, tries.scheme, tries.seed, strict=True))
        settings = [((run.pattern, run.scheme), run.spec) for run in sweep.runs]
        sample = Sample(name, bars_of(tries), tries, settings, sweep.skipped)
    else:
        for one in sweep.skipped:
            raise ValueError(f"{folder} has no readable run: {one.path} {one.reason}")
        if not (folder / "summary.csv").exists():
            raise ValueError(f"{folder} has neither runs (run.json) nor a summary.csv")
        sample = _of_summary(folder, name)
    if CONTROL not in sample.bars.index[sample.bars.median_ratio.notna()].unique("scheme"):
        raise ValueError(f"{folder} has no valid run of the control ({CONTROL}), which shares of the control need")
    return sample


def _of_summary(folder: Path, name: str) -> Sample:
    from pandas import DataFrame

    path = folder / "summary.csv"
    try:
        lines = read_csv(path)
        path = folder / "sweep.json"
        common = read_settings(path)
    except ValueError as error:
        raise ValueError(f"{path} {error}") from None
    frame = DataFrame(map(msgspec.structs.asdict, lines), columns=Line.__struct_fields__).set_index(BAR)
    return Sample(name, frame, None, [(("", ""), common)])


def read_csv(path: Path) -> tuple[Line, ...]:
    """The bars of a summary.csv, which is not trusted. Raises ValueError with the reason, one sentence."""
    try:
        rows = list(csv.DictReader(io.StringIO(content(path).decode(), newline="")))
        given = [{name: cell for name, cell in row.items() if cell} for row in rows]
        lines = msgspec.convert(given, tuple[Line, ...], strict=False)
    except (UnicodeDecodeError, csv.Error, msgspec.ValidationError) as error:
        raise ValueError(f"is not a summary of a sweep: {ascii(str(error))[1:-1][:300]}") from None
    if len({(line.pattern, line.scheme) for line in lines}) < len(lines):
        raise ValueError("is not a summary of a sweep: a bar is in it twice")
    return lines


def option_name(setting: str) -> str:
    """The option of the command line for a setting in run.json."""
    return {"link_mbps": "--bw", "k": "-k"}.get(setting, option_of(setting))


def setting_text(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if value is None else str(value)


def _runs(number: int) -> str:
    return f"{number} run" + ("s are" if number != 1 else " is")
