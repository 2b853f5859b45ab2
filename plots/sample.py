"""Shares of the control in a folder: of a sweep with its runs, or of a published summary without runs.

A published summary is a summary.csv, whose medians cannot be split into trials, with the sweep.json that has the
settings of its runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from hedera.schemes import CONTROL
from plots.load import Skipped, load_sweep
from plots.summary import summarise
from plots.table import Line, read_csv
from results.parts import Settings
from results.record import NOT_JUDGED, Run, read_settings

Read = TypeVar("Read")
Bar = tuple[str, str]
"""Pattern and scheme."""
Trial = tuple[str, str, int]
"""Pattern, scheme and seed."""
Value = bool | int | float | str | tuple[str, ...] | None
"""Of a setting."""
OF_THE_PATTERN = ("flows_per_host", "keep")
_OF_THE_TRAFFIC = ("new_flows", "large_flows")


@dataclass(frozen=True)
class Share:
    """A share of the control: the median over ``trials`` of run / control of the same trial."""

    median: float
    trials: int


@dataclass(frozen=True)
class Every:
    """All tries of a bar, whatever their verdict: their median share of the control (None: no try has a number), and
    how many of them are not valid. Both are None for an older summary, which does not say."""

    median: float | None
    left_out: int | None


@dataclass(frozen=True)
class Sample:
    """Runs, or the lines of a summary and the settings of its sweep. ``name``: the folder's name in tables;
    ``tries``: all runs, including those replaced by another try."""

    folder: Path
    name: str
    runs: tuple[Run, ...]
    tries: tuple[Run, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    lines: tuple[Line, ...] = ()
    common: Settings | None = None

    @classmethod
    def read(cls, folder: Path, name: str) -> Sample:
        """Read a folder: its runs, if there are any, else its summary. Raises ValueError, one sentence, if it has
        neither, or no control."""
        sweep = load_sweep(folder)
        sample = cls(folder, name, sweep.runs, sweep.tries, sweep.skipped)
        if not sweep.runs:
            for path, reason in ((one.path, one.reason) for one in sweep.skipped):
                raise ValueError(f"{folder} has no readable run: {path} {reason}")
            if not (folder / "summary.csv").exists():
                raise ValueError(f"{folder} has neither runs (run.json) nor a summary.csv")
            lines = _named(read_csv, folder / "summary.csv")
            sample = cls(folder, name, (), (), (), lines, _named(read_settings, folder / "sweep.json"))
        if not any(scheme == CONTROL for _, scheme in sample.shares()):
            raise ValueError(f"{folder} has no valid run of the control ({CONTROL}), which shares of the control need")
        return sample

    @property
    def bars(self) -> set[Bar]:
        """All bars that were run, valid or not."""
        of_runs = {(run.pattern, run.scheme) for run in self.runs}
        return of_runs | {(line.pattern, line.scheme) for line in self.lines}

    @property
    def trials(self) -> set[Trial]:
        """The valid runs with a valid control."""
        control = {(run.pattern, run.trial) for run in self.runs if run.valid and run.scheme == CONTROL}
        return {_trial(run) for run in self.runs if run.valid and (run.pattern, run.trial) in control}

    def shares(self, trials: Collection[Trial] | None = None) -> dict[Bar, Share]:
        """The share of every bar that has one; ``trials``: the only runs to count."""
        if not self.runs:
            return {
                (line.pattern, line.scheme): Share(line.median_ratio, line.valid_trials)
                for line in self.lines
                if line.median_ratio is not None
            }
        counted = self.trials if trials is None else self.trials.intersection(trials)
        runs = [run for run in self.runs if _trial(run) in counted]
        bars = summarise(runs).bars if runs else {}
        return {key: Share(bar.ratio.median, bar.valid) for key, bar in bars.items() if bar.ratio}

    @property
    def tried(self) -> set[Trial]:
        """All trials with a try."""
        return {_trial(run) for run in self.tries}

    def every(self, trials: Collection[Trial] | None = None) -> dict[Bar, Every]:
        """All tries of each bar; ``trials``: the only ones to count."""
        if not self.runs:
            return {
                (line.pattern, line.scheme): Every(line.all_median_ratio, line.left_out_tries) for line in self.lines
            }
        tries = [run for run in self.tries if trials is None or _trial(run) in trials]
        bars = summarise(tries).bars if tries else {}
        every = {key: bar.every for key, bar in bars.items()}
        return {key: Every(one.ratio.median if one.ratio else None, one.left_out) for key, one in every.items()}

    def uncounted(self, bars: Collection[Bar], *verdicts: str) -> Counter[Bar]:
        """How many trials of each of these bars have one of these verdicts; without verdicts: any except ``ok``."""
        asked = verdicts or ("invalid", NOT_JUDGED)
        found = Counter((run.pattern, run.scheme) for run in self.runs if run.verdict in asked)
        for line in self.lines:
            counts = {"invalid": line.invalid_trials, NOT_JUDGED: line.not_judged_trials}
            found[line.pattern, line.scheme] += sum(counts.get(verdict, 0) for verdict in asked)
        return Counter({bar: number for bar, number in found.items() if number and bar in bars})

    def settings(self, bars: Collection[Bar]) -> dict[str, Value]:
        """The settings of the runs of these bars, by their names in run.json, except those that belong to the
        pattern.

        Several values are joined into one text. Settings that a summary's sweep.json leaves open are left out: the
        value of ``auto``, and settings in which its runs may differ.
        """
        if self.common is not None:
            open_ = {name for name in _OF_THE_TRAFFIC if getattr(self.common, name) == "auto"} | {"scale_sizes"}
            return {name: value for name, value in _plain(self.common).items() if name not in open_}
        found: dict[str, dict[Value, None]] = {}
        for run in self.runs:
            if (run.pattern, run.scheme) in bars:
                for name, value in _plain(run.spec).items():
                    found.setdefault(name, {})[value] = None
        return {
            name: next(iter(values)) if len(values) == 1 else ", ".join(sorted(map(said, values)))
            for name, values in found.items()
        }

    def says(self, bars: Collection[Bar], trials: Collection[Trial] | None) -> list[str]:
        """Sentences on the runs of these bars that do not count, and on the files that were left out."""
        sentences = []
        if not self.runs:
            sentences.append(f"{self.name}: a summary without runs, so trials are not matched by their seeds")
        for verdict in ("invalid", NOT_JUDGED):
            if number := self.uncounted(bars, verdict).total():
                sentences.append(f"{self.name}: {_runs(number)} {verdict}, and never counted")
        inside = {_trial(run) for run in self.runs if run.valid and (run.pattern, run.scheme) in bars}
        if alone := len(inside - self.trials):
            sentences.append(f"{self.name}: {_runs(alone)} valid, but without a valid control of the same trial")
        if trials is not None and (others := len((inside & self.trials).difference(trials))):
            sentences.append(f"{self.name}: {_runs(others)} valid, but not of that seed in every folder")
        for reason, number in Counter(one.reason for one in self.skipped).most_common():
            sentences.append(f"{self.name}: {number} run.json left out: {reason}")
        return sentences


def said(value: Value) -> str:
    """The value of a setting, as typed on the command line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if value is None else str(value)


def _plain(settings: Settings) -> Mapping[str, Value]:
    return {k: v for k, v in msgspec.structs.asdict(settings).items() if k not in OF_THE_PATTERN}


def _trial(run: Run) -> Trial:
    return run.pattern, run.scheme, run.seed


def _runs(number: int) -> str:
    return f"{number} run" + ("s are" if number != 1 else " is")


def _named(read: Callable[[Path], Read], path: Path) -> Read:
    """The content of a file; a ValueError gets the file's name added."""
    try:
        return read(path)
    except ValueError as error:
        raise ValueError(f"{path} {error}") from None
