"""Claims on traffic that comes and goes, over seeds: mice beside elephants, and a shuffle of short transfers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from hedera.schemes import CONTROL
from paper.claims.claim import EMULATED, Claim, Source, interval_told
from plots.load import load_sweep
from results.record import Run

SWEEP = Source(
    "mice",
    "./test.sh 5 20 --time virtual --patterns 'stride:4 + poisson:fixed:10000,0.05,shuffle:208333' --no-scale-sizes",
    "70 runs, 25 seconds of a processor each",
)
MICE, SHUFFLE = "stride:4 + poisson:fixed:10000,0.05", "shuffle:208333"
Number = Callable[[Run], float]


def _received(run: Run) -> float:
    assert run.bisection_mbps is not None
    return run.bisection_mbps


def _took(of: str) -> Number:
    """How long a run's small flows took, ms."""

    def took(run: Run) -> float:
        small = next(one for one in run.completion if one.size_class == "small")
        return 1000 * float(getattr(small, of))

    return took


def _by_scheme(folder: Path, pattern: str) -> dict[str, dict[int, Run]]:
    """Valid runs by scheme and seed, the control first."""
    runs = [run for run in load_sweep(folder).runs if run.valid and run.pattern.startswith(pattern)]
    names = dict.fromkeys([CONTROL, *(run.scheme for run in runs)])
    return {name: {run.seed: run for run in runs if run.scheme == name} for name in names}


def _over_control(runs: dict[str, dict[int, Run]], scheme: str) -> list[float]:
    control = runs[CONTROL]
    return [100 * _received(run) / _received(control[seed]) for seed, run in runs[scheme].items() if seed in control]


def _beyond(runs: dict[str, dict[int, Run]], scheme: str, number: Number) -> list[float]:
    """Above ECMP with the same seed."""
    ecmp = runs["ecmp"]
    return [number(run) - number(ecmp[seed]) for seed, run in runs[scheme].items() if seed in ecmp]


def _mice(folder: Path) -> Iterator[str]:
    runs = _by_scheme(folder, MICE)
    for scheme, own in runs.items():
        cells = [interval_told(_over_control(runs, scheme)) if scheme != CONTROL else "100"]
        for of in ("median_s", "p99_s"):
            cells.append(interval_told([_took(of)(run) for run in own.values()]))
            cells.append("" if scheme == "ecmp" else interval_told(_beyond(runs, scheme, _took(of)), "+.0f"))
        yield f"| {scheme} | {' | '.join(cells)} |".replace("  ", " ")


def _shuffle(folder: Path) -> Iterator[str]:
    runs = _by_scheme(folder, SHUFFLE)
    control = sum(map(_received, runs[CONTROL].values())) / len(runs[CONTROL])
    for scheme in runs:
        if scheme == CONTROL:
            continue
        gain = [100 * one / control for one in _beyond(runs, scheme, _received)]
        above = "" if scheme == "ecmp" else interval_told(gain, "+.1f")
        yield f"| {scheme} | {interval_told(_over_control(runs, scheme), '.1f')} | {above} |".replace("  ", " ")


CLAIMS = (
    Claim("Mice beside lasting elephants, five seeds", "docs/notes/answers.md", SWEEP, _mice, EMULATED),
    Claim("A shuffle of short transfers, five seeds", "docs/notes/dynamic.md", SWEEP, _shuffle, EMULATED),
)
