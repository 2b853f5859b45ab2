"""Shares of the control in a folder: of a sweep with its runs, or of a published summary without runs.

A published summary is a summary.csv, whose medians cannot be split into trials, with the sweep.json that has the
settings of its runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

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
        if CONTROL not in sample.shares().index.unique("scheme"):
            raise ValueError(f"{folder} has no valid run of the control ({CONTROL}), which shares of the control need")
        return sample

    @property
    def bars(self) -> set[Bar]:
        of_runs = {(run.pattern, run.scheme) for run in self.runs}
        return of_runs | {(line.pattern, line.scheme) for line in self.lines}

    @property
    def trials(self) -> set[Trial]:
        control = {(run.pattern, run.trial) for run in self.runs if run.valid and run.scheme == CONTROL}
        return {_trial(run) for run in self.runs if run.valid and (run.pattern, run.trial) in control}

    @property
    def tried(self) -> set[Trial]:
        return {_trial(run) for run in self.tries}

    def shares(self, trials: Collection[Trial] | None = None) -> Any:
        """A frame of every bar with a share of the control, by pattern and scheme: the median ``share`` over so many
        ``runs``; ``trials``: the only ones to count."""
        counted = self.trials if trials is None else self.trials.intersection(trials)
        frame = self._bars([run for run in self.runs if _trial(run) in counted])
        return frame[["share", "runs"]].dropna()

    def every(self, trials: Collection[Trial] | None = None) -> Any:
        """The same of all tries whatever their verdict: ``all_share`` (NaN: no try has a number), and ``left_out``,
        how many are not valid (NaN: a summary that does not say)."""
        return self._bars([run for run in self.tries if trials is None or _trial(run) in trials])[
            ["all_share", "left_out"]
        ]

    def _bars(self, runs: Sequence[Run]) -> Any:
        from pandas import DataFrame

        names = {
            "median_ratio": "share",
            "valid_trials": "runs",
            "all_median_ratio": "all_share",
            "left_out_tries": "left_out",
        }
        if runs:
            frame = summarise(runs).frame
        else:
            frame = DataFrame([msgspec.structs.asdict(line) for line in self.lines], columns=Line.__struct_fields__)
        return frame.set_index(["pattern", "scheme"])[list(names)].rename(columns=names).astype(float)

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
            name: next(iter(values)) if len(values) == 1 else ", ".join(sorted(map(setting_text, values)))
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


def setting_text(value: Value) -> str:
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
