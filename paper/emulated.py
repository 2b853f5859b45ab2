"""Flows that come and go, by size class: of a simulation, and of emulated runs beside simulations of the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import msgspec

from hedera.schemes import scheme as scheme_of
from paper.study import Row
from plots.completion import STATISTICS
from plots.load import load_sweep
from results.record import Run
from simulator.config import INCREASE, Config
from traffic.completion import CLASSES, Completion


def cells(
    classes: Sequence[Completion], scheme: str, spec: Any, carried: float, *, emulated: bool = False,
    beside: bool = False, load: float | None = None,
) -> list[Row]:  # fmt: skip
    """A row for each size class under a scheme at a load (`traffic.completion.Completion`).

    ``interval_s``: None for a scheme that has no period. ``detect_s``: how often large flows were looked for, to be
    re-routed at once. ``carried``: the traffic received in the window, as a share of all hosts' links; if it is far
    below ``load``, flows arrive faster than the network serves them, and queue up without end. A load without any
    times was not simulated, because its flows would pile up. ``emulated``: real TCP. ``beside``: an emulated run, or
    the simulation of one; not a point of a curve.
    """
    detect_s = getattr(spec, "detect_s", 0.0) if not beside else 0.0
    schedules = scheme_of(scheme).scheduler is not None
    where = {
        "load": float(spec.traffic.rpartition(",")[2]) if load is None else load, "scheme": scheme,
        "interval_s": spec.interval_s if schedules and not detect_s else None, "detect_s": detect_s or None,
        "carried": carried, "k": spec.k, "emulated": emulated, "beside": beside,
    }  # fmt: skip
    return [{**asdict(one), **where} for one in classes]


def config_of(run: Run, tick_s: float, engine: str = "aimd") -> Config:
    """The simulation of an emulated run, with all settings that both have."""
    both = {field.name for field in fields(Config)} & set(type(run.spec).__struct_fields__)
    settings = {name: getattr(run.spec, name) for name in both}
    increase = INCREASE * run.spec.link_mbps
    return Config(
        run.scheme, run.traffic, seed=run.seed, tick_s=tick_s, engine=engine, increase_mbps=increase, **settings
    )


def beside(folders: Iterable[Path], base: Config) -> list[Row]:
    """The classes of emulated runs, and of a simulation of each with the engine and tick of ``base``.

    Medians over the trials of a scheme at a load, as in `plots.completion`; numbers of flows and of cut-off flows are
    summed. ``folders``: of sweeps or runs, of which only valid runs of ``poisson:SIZES,LOAD`` alone count. ValueError,
    one sentence, for a folder that has none.
    """
    together: dict[tuple[str, str], list[Run]] = {}
    for folder in folders:
        for run in _runs(folder):
            together.setdefault((run.traffic, run.scheme), []).append(run)
    found = [_cells(runs, [_found(run) for run in runs], True) for runs in together.values()]
    found += [_cells(runs, [_simulated(run, base) for run in runs], False) for runs in together.values()]
    return [row for rows in found for row in rows]


def _runs(folder: Path) -> list[Run]:
    runs = [run for run in load_sweep(folder).runs if run.valid and _load(run) is not None and run.completion]
    if not runs:
        raise ValueError(f"{folder} has no valid run of poisson:SIZES,LOAD alone")
    return runs


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


def _cells(runs: Sequence[Run], found: Sequence[Found], emulated: bool) -> list[Row]:
    trials = [[one for classes, _ in found for one in classes if one.size_class == name] for name in CLASSES]
    classes, carried = [_together(same) for same in trials if same], mean(carried for _, carried in found)
    first = runs[0]
    return cells(classes, first.scheme, first.spec, carried, emulated=emulated, beside=True, load=_load(first))


def _together(trials: Sequence[Completion]) -> Completion:
    flows, cut_off = (sum(getattr(one, name) for one in trials) for name in ("flows", "cut_off"))
    one = Completion(trials[0].size_class, flows, cut_off, min(trial.known_share for trial in trials))
    known = [trial for trial in trials if trial.mean_s is not None]
    values = {name: median(getattr(trial, name) for trial in known) for name in STATISTICS} if known else {}
    return replace(one, **values)
