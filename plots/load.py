"""Stored runs, read back: every ``run.json`` below the folder of a sweep.

Nothing found there can stop a figure from being drawn. What cannot be used is listed with the reason.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = 1

# What may differ between the runs of one figure. Runs that differ in anything else are not drawn together.
_VARYING = frozenset({"scheme", "traffic", "trial", "seed", "flows_per_host", "keep"})


@dataclass(frozen=True)
class Rates:
    """Receive rates in Mb/s of all hosts together and of each; ``t``: end of each second since traffic
    start."""

    t: tuple[float, ...]
    total_mbps: tuple[float, ...]
    hosts: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class Flow:
    """One flow: hosts, mean rate in Mb/s, and its paths as (seconds since traffic start, core).

    ``per_second_mbps`` are its rates in the seconds after ``start`` (since traffic start).
    """

    src: int
    dst: int
    mbps: float
    paths: tuple[tuple[float, int], ...]
    start: float = 0.0
    per_second_mbps: tuple[float, ...] = ()


@dataclass(frozen=True)
class Round:
    """One scheduling round: when it was done (seconds since traffic start), large flows seen, flows that
    changed their path, and the milliseconds that polling, computing and installing took (None: not stored).
    """

    t: float
    large: int
    changed: int
    polled_ms: float | None = None
    compute_ms: float | None = None
    install_ms: float | None = None

    @property
    def total_ms(self) -> float | None:
        """Polling, computing and installing together; None when one of them was not stored."""
        if self.polled_ms is None or self.compute_ms is None or self.install_ms is None:
            return None
        return self.polled_ms + self.compute_ms + self.install_ms

    @property
    def began(self) -> float:
        """When the round began, as far as is known."""
        return self.t - (self.total_ms or 0.0) / 1e3


@dataclass(frozen=True)
class Cpu:
    """How idle the processors were, in percent, in the second that ended at each ``t``."""

    t: tuple[float, ...] = ()
    idle_percent: tuple[float, ...] = ()


@dataclass(frozen=True)
class Failure:
    """A moment at which links failed, or were mended: how many flows were hit, and the seconds until the
    controller had moved the last of them and until it carried data again (None: not known, or none)."""

    t: float
    affected: int
    rerouted_s: float | None
    moving_s: float | None


@dataclass(frozen=True)
class Phase:
    """A stretch of a run with the same links ``down``, and the most that flows could receive in it, Mb/s."""

    start: float
    end: float
    down: tuple[str, ...]
    best_mbps: float | None


@dataclass(frozen=True)
class Run:
    """One pattern, one scheme, one trial, as the harness stored it. Rates in Mb/s, times in seconds.

    A run that broke off is invalid, has no bisection bandwidth, and its rates are empty. ``links``: mean rate
    out of each switch port (``SWITCH-ethN``) and out of each host, over the window.
    """

    path: Path
    scheme: str
    traffic: str
    trial: int
    seed: int
    capacity_mbps: float
    bisection_mbps: float | None
    valid: bool
    reasons: tuple[str, ...]
    maxmin_mbps: float | None
    window_s: tuple[float, float]
    spec: Mapping[str, Any]
    rates: Rates
    flows: tuple[Flow, ...]
    rounds: tuple[Round, ...]
    links: Mapping[str, float] = field(default_factory=dict)
    queue_drops: Mapping[str, float] = field(default_factory=dict)
    cpu: Cpu = Cpu()
    started: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    phases: tuple[Phase, ...] = ()

    @property
    def pattern(self) -> str:
        """The traffic, and how it was multiplied and thinned where it was."""
        flows, keep = self.spec.get("flows_per_host", 1), self.spec.get("keep", 1)
        return self.traffic + (f" x{flows}" if flows != 1 else "") + (f" keep {keep:g}" if keep != 1 else "")

    @property
    def seconds(self) -> float:
        """How long the traffic lasted."""
        asked = self.spec.get("seconds")
        return float(asked) if isinstance(asked, int | float) else max((self.window_s[1], *self.rates.t))


@dataclass(frozen=True)
class Skipped:
    """A file that no figure uses, and why."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Sweep:
    """The runs of a folder, one per pattern, scheme and trial, and what was left out."""

    folder: Path
    runs: tuple[Run, ...]
    skipped: tuple[Skipped, ...]


def load_run(path: Path) -> Run:
    """Read one ``run.json``. Raises ValueError with the reason when it is not one that we can use."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ValueError("is not JSON, or was cut off") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"is not a run of schema {SCHEMA}")
    try:
        return _run(path, document)
    except KeyError as error:
        raise ValueError(f"has no {error.args[0]}") from None
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"has a field of the wrong kind: {error}") from None


def load_sweep(folder: str | Path) -> Sweep:
    """All runs below ``folder``, ordered by path.

    Of several tries of one trial the last valid one counts, else the last. Runs whose link rate, length or
    other settings differ from those of the majority are left out. Raises ValueError when there is no such
    folder.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"there is no results folder {folder}")
    runs, skipped = [], []
    for path in sorted(folder.rglob("run.json"), key=lambda p: (p.stat().st_mtime_ns, p)):
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue  # a run that is being written
        try:
            runs.append(load_run(path))
        except ValueError as error:
            skipped.append(Skipped(path, str(error)))
    runs, unlike = _alike(runs)
    runs, older = _one_per_trial(runs)
    return Sweep(
        folder,
        tuple(sorted(runs, key=lambda run: run.path)),
        tuple(sorted([*skipped, *unlike, *older], key=lambda one: one.path)),
    )


def _run(path: Path, document: Mapping[str, Any]) -> Run:
    spec, rates = document["spec"], document.get("rates", {"t": [], "total_mbps": []})
    if not isinstance(spec, dict):
        raise TypeError("spec")
    for name in ("flows_per_host", "keep"):
        _number(spec.get(name, 1))
    valid, bisection = document["verdict"] == "ok", document["bisection_mbps"]
    t, total = _numbers(rates["t"]), _numbers(rates["total_mbps"])
    if len(t) != len(total):
        raise ValueError("rates.t and rates.total_mbps have different lengths")
    start, end = _numbers(document["window_s"])
    return Run(
        path=path,
        scheme=_text(document["scheme"]),
        traffic=_text(document["traffic"]),
        trial=int(document["trial"]),
        seed=int(document["seed"]),
        capacity_mbps=_number(document["capacity_mbps"]),
        bisection_mbps=None if bisection is None and not valid else _number(bisection),
        valid=valid,
        reasons=tuple(_text(reason) for reason in document["reasons"]),
        maxmin_mbps=_optional(document, "maxmin_mbps"),
        window_s=(start, end),
        spec=spec,
        rates=Rates(t, total, {host: _numbers(values) for host, values in rates.get("hosts", {}).items()}),
        flows=tuple(
            Flow(
                int(flow["src"]),
                int(flow["dst"]),
                _number(flow["mbps"]),
                tuple((_number(one["t"]), int(one["core"])) for one in flow.get("paths", ())),
                _number(flow.get("start", 0.0)),
                _numbers(flow.get("per_second_mbps", ())),
            )
            for flow in document.get("flows", ())
        ),
        rounds=tuple(
            Round(
                _number(one["t"]),
                int(one["large"]),
                int(one["changed"]),
                *(_optional(one, f"{part}_ms") for part in ("polled", "compute", "install")),
            )
            for one in document.get("rounds", ())
        ),
        links=_rates_by_name(document.get("links", {})),
        queue_drops=_rates_by_name(document.get("queue_drops", {})),
        cpu=_cpu(document.get("cpu", {})),
        started=_text(document.get("started", "")),
        environment=dict(document.get("environment", {}).items()),
        failures=tuple(
            Failure(
                _number(one["t"]),
                int(one["affected"]),
                _optional(one, "rerouted_s"),
                _optional(one, "moving_s"),
            )
            for one in document.get("failures", ())
        ),
        phases=tuple(
            Phase(
                _number(one["from_s"]),
                _number(one["to_s"]),
                tuple(_text(cable) for cable in one["down"]),
                _optional(one, "best_mbps"),
            )
            for one in document.get("phases", ())
        ),
    )


def _cpu(record: Mapping[str, Any]) -> Cpu:
    t, idle = _numbers(record.get("t", ())), _numbers(record.get("idle_percent", ()))
    if len(t) != len(idle):
        raise ValueError("cpu.t and cpu.idle_percent have different lengths")
    return Cpu(t, idle)


def _rates_by_name(record: Mapping[str, object]) -> dict[str, float]:
    return {name: _number(value) for name, value in record.items()}


def _optional(record: Mapping[str, object], name: str) -> float | None:
    value = record.get(name)
    return None if value is None else _number(value)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a number")
    return float(value)


def _numbers(values: Iterable[object]) -> tuple[float, ...]:
    return tuple(_number(value) for value in values)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _alike(runs: list[Run]) -> tuple[list[Run], list[Skipped]]:
    """The runs with the most frequent settings, and the others."""
    settings = [frozenset((key, repr(run.spec[key])) for key in run.spec.keys() - _VARYING) for run in runs]
    usual = Counter(settings).most_common(1)[0][0] if settings else frozenset()
    alike, unlike = [], []
    for run, own in zip(runs, settings, strict=True):
        if own == usual:
            alike.append(run)
        else:
            differences = ", ".join(f"{key} {value}" for key, value in sorted(own - usual)) or "less said"
            unlike.append(Skipped(run.path, f"has other settings than most runs here: {differences}"))
    return alike, unlike


def _one_per_trial(runs: list[Run]) -> tuple[list[Run], list[Skipped]]:
    chosen: dict[tuple[str, str, int], Run] = {}
    older = []
    for run in runs:  # oldest first
        key = (run.pattern, run.scheme, run.trial)
        before = chosen.get(key)
        if before is not None and before.valid and not run.valid:
            older.append(Skipped(run.path, "another try of this trial is valid"))
            continue
        if before is not None:
            older.append(Skipped(before.path, "the trial was run again"))
        chosen[key] = run
    return list(chosen.values()), older
