"""How much the simulator's results depend on what the paper leaves open: ticks, periods, iterations, loads.

    python -m benchmarks.simulator_sensitivity [--jobs N] [--out DIR]

Every study changes one choice and keeps the others at the default of the figure or table it is about. The
default is marked with an asterisk. Writes sensitivity.csv and prints it as a table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from hedera.options import OUT
from paper.study import SCHEMES
from results.output import plain_table, wide_console, write_csv
from results.tasks import Computing
from simulator.config import Config
from simulator.driver import simulate
from traffic.published import PUBLISHED


class Study(NamedTuple):
    """One choice: the runs it is tried on, the field that changes, the values it takes, the default's place."""

    name: str
    runs: tuple[Config, ...]
    values: tuple[dict[str, Any], ...]
    default: int


def studies() -> Iterator[Study]:
    published = tuple(Config("ecmp", f"published:{name}") for name in PUBLISHED)
    yield Study("Figure 9: tick [s]", published, _each("tick_s", 0.0001, 0.001, 0.01), 1)
    yield Study("Figure 9: scheduling period [s]", published, _each("interval_s", 0.5, 1.0, 2.0, 5.0, 9.0), 3)
    yield Study("Figure 9: iterations", published, _each("iterations", 100, 1000, 10_000, 100_000), 1)
    scale = (Config("ecmp", "randbij", 32, tick_s=0.01, iterations=100_000),)
    yield Study("Figure 10, randbij: tick [s]", scale, _each("tick_s", 0.002, 0.01, 0.05), 1)
    yield Study("Figure 10, randbij: iterations", scale, _each("iterations", 1000, 10_000, 100_000, 1_000_000), 2)
    time = (Config("ecmp", "randbij", 16, tick_s=0.01, iterations=100_000, arrivals_per_s=0.1, mean_mbytes=1250.0),)
    loads = ((0.05, 1250.0), (0.1, 1250.0), (0.2, 1250.0), (0.01, 12_500.0), (1.0, 125.0))
    yield Study(
        "Figure 11: arrivals [1/s], size [MB]",
        time,
        tuple({"arrivals_per_s": rate, "mean_mbytes": size} for rate, size in loads),
        1,
    )
    yield Study("Figure 11: scheduling period [s]", time, _each("interval_s", 0.1, 1.0, 2.0, 5.0), 3)
    yield Study("Figure 11: tick [s]", time, _each("tick_s", 0.002, 0.01, 0.05), 1)
    random = (Config("ecmp", "random", 16, tick_s=0.01, iterations=100_000),)
    yield Study("Table 3, 1,024 hosts: flows per host", random, _each("flows_per_host", 1, 2, 3, 4, 6), 2)


def _each(field: str, *values: float) -> tuple[dict[str, Any], ...]:
    return tuple({field: value} for value in values)


def summary(config: Config) -> tuple[float, float]:
    """The share of the capacity, percent, and the mean completion time, seconds (nan when none completed)."""
    found = simulate(config)
    times = found.completion_s
    return 100 * found.bisection_mbps / found.capacity_mbps, float(times.mean()) if times.size else float("nan")


@click.command()
@click.option("--jobs", type=click.IntRange(1), help="Processes (default: one per core).")
@click.option("--out", default=OUT, type=click.Path(path_type=Path), show_default=True)
def main(jobs: int | None, out: Path) -> None:
    """Change one choice at a time."""
    cases = [
        (study.name, ", ".join(f"{v:g}" for v in value.values()) + " *" * (n == study.default), scheme, run, value)
        for study in studies()
        for n, value in enumerate(study.values)
        for scheme in SCHEMES
        for run in study.runs
    ]
    configs = [replace(run, scheme=scheme, **value) for _, _, scheme, run, value in cases]
    outcomes = Computing(jobs=jobs).runner("Sensitivity")(summary, configs)
    found: dict[tuple[str, str], dict[str, list[tuple[float, float]]]] = {}
    for (name, choice, scheme, _, _), answer in zip(cases, outcomes, strict=True):
        found.setdefault((name, choice), {}).setdefault(scheme, []).append(answer)
    table = plain_table("", "study", "choice (* default)", "share of the capacity [%]", "completion [s]", left=3)
    rows = []
    for (name, choice), by_scheme in found.items():
        means = {scheme: np.mean(answers, axis=0).tolist() for scheme, answers in by_scheme.items()}
        for scheme, (share, wait) in means.items():
            which = {"study": name, "choice": choice, "scheme": scheme}
            rows.append({**which, "percent": share, "completion_s": wait})
        shares = "  ".join(f"{scheme} {share:.2f}" for scheme, (share, _) in means.items())
        table.add_row(name, choice, shares, " / ".join(f"{wait:.1f}" for _, wait in means.values()))
    write_csv(out / "sensitivity.csv", rows)
    wide_console().print(table)


if __name__ == "__main__":
    main()
