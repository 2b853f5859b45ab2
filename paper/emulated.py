"""Emulated runs beside simulated ones with the same settings: completion times by size class."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from statistics import mean, median

import msgspec

from hedera.schemes import scheme as scheme_of
from paper.completion_figure import Cell
from plots.completion import STATISTICS
from plots.load import load_sweep
from results.record import Run, read
from simulator.config import INCREASE, Config
from traffic.completion import CLASSES, Completion


def config_of(run: Run, tick_s: float, engine: str = "aimd") -> Config:
    """The simulation of an emulated run, with all settings that both have."""
    both = {field.name for field in fields(Config)} & set(type(run.spec).__struct_fields__)
    settings = {name: getattr(run.spec, name) for name in both}
    increase = INCREASE * run.spec.link_mbps
    return Config(
        run.scheme,
        run.traffic,
        seed=run.seed,
        tick_s=tick_s,
        engine=engine,
        increase_mbps=increase,
        **settings,
    )


def beside(paths: Iterable[Path], base: Config) -> list[Cell]:
    """The classes of emulated runs, and of a simulation of each with the engine and tick of ``base``.

    Medians over the trials of a scheme at a load, as in `plots.completion`; numbers of flows and of cut-off flows are
    summed. ``paths``: run.json files, and folders of sweeps, of which only valid runs of ``poisson:SIZES,LOAD`` alone
    count. ValueError, one sentence, for a path that has none.
    """
    together: dict[tuple[str, str], list[Run]] = {}
    for path in paths:
        for run in _runs(path):
            together.setdefault((run.traffic, run.scheme), []).append(run)
    cells = [_cells(runs, [_found(run) for run in runs], True) for runs in together.values()]
    cells += [_cells(runs, [_simulated(run, base) for run in runs], False) for runs in together.values()]
    return [cell for found in cells for cell in found]


def _runs(path: Path) -> list[Run]:
    if path.is_dir():
        runs = [run for run in load_sweep(path).runs if run.valid and _load(run) is not None and run.completion]
        if not runs:
            raise ValueError(f"{path} has no valid run of poisson:SIZES,LOAD alone")
        return runs
    try:
        run = read(path)
    except ValueError as error:
        raise ValueError(f"{path} {error}") from None
    if _load(run) is None or not run.completion:
        raise ValueError(f"{path} is not a run of poisson:SIZES,LOAD alone, but of {run.traffic}")
    if not run.valid or run.bisection_mbps is None:
        raise ValueError(f"{path} is an invalid run: {'; '.join(run.reasons)}")
    return [run]


def _load(run: Run) -> float | None:
    share = re.fullmatch(r"poisson:[^+ ]*,([0-9.]+)", run.traffic)
    return float(share[1]) if share else None


Found = tuple[Sequence[Completion], float]
"""The size classes of one run, and the share of the hosts' links that it carried."""


def _found(run: Run) -> Found:
    classes = [Completion(**msgspec.structs.asdict(one)) for one in run.completion]
    return classes, (run.bisection_mbps or 0.0) / run.capacity_mbps


def _simulated(run: Run, base: Config) -> Found:
    from simulator.driver import simulate

    result = simulate(config_of(run, base.tick_s, base.engine))
    return result.completion(), result.bisection_mbps / result.capacity_mbps


def _cells(runs: Sequence[Run], found: Sequence[Found], emulated: bool) -> list[Cell]:
    """One scheme at one load, all trials together."""
    first = runs[0]
    schedules = scheme_of(first.scheme).scheduler is not None
    return [
        Cell(
            **asdict(_together([one for classes, _ in found for one in classes if one.size_class == name])),
            load=_load(first) or 0.0,
            scheme=first.scheme,
            interval_s=first.spec.interval_s if schedules else None,
            carried=mean(carried for _, carried in found),
            k=first.spec.k,
            emulated=emulated,
            beside=True,
        )
        for name in CLASSES
        if any(one.size_class == name for classes, _ in found for one in classes)
    ]


def _together(trials: Sequence[Completion]) -> Completion:
    flows, cut_off = (sum(getattr(one, name) for one in trials) for name in ("flows", "cut_off"))
    one = Completion(trials[0].size_class, flows, cut_off, min(trial.known_share for trial in trials))
    known = [trial for trial in trials if trial.mean_s is not None]
    values = {name: median(getattr(trial, name) for trial in known) for name in STATISTICS} if known else {}
    return replace(one, **values)
