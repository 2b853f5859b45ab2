"""Figure 11: bisection bandwidth over time, with flows that arrive and end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from hedera.options import field_options
from hedera.parameter import parameter
from hedera.schemes import label
from plots.style import colour, scheme_order
from record.tasks import Computing, computed
from simulator.config import Config
from simulator.workload import MAX_FLOWS
from studies.study import Row, at_scale, column, compared, grouped, over_seeds, picture, table, told_seeds
from traffic.flows import Flows, Matrix, columns
from traffic.streams import Stream, generator

if TYPE_CHECKING:
    from simulator.result import Result

STEP_S = 0.5


@dataclass(frozen=True)
class Arriving(Config):
    """Flows of the paper's own making in the place of a matrix: Poisson arrivals, exponential sizes (section 5.5)."""

    arrivals_per_s: float = parameter(
        0.1, "Flows that every sending host starts per second (Poisson).", above=0, option="--arrivals"
    )
    mean_mbytes: float = parameter(1250.0, "Their mean size (exponential)", unit="MB", above=0, option="--mean-size")

    def flows(self) -> tuple[Flows, None]:
        matrix = self.matrix()
        expected = self.arrivals_per_s * self.seconds * matrix.num_hosts
        if expected > MAX_FLOWS:
            raise ValueError(f"{expected:.3g} flows in {self.seconds:g} s are too many; {MAX_FLOWS:,} is the limit")
        rng = generator(self.seed, Stream.SIMULATED_ARRIVALS)
        return poisson(matrix, self.arrivals_per_s, self.mean_mbytes * 1e6, self.seconds, rng), None


def poisson(
    matrix: Matrix, arrivals_per_s: float, mean_bytes: float, seconds: float, rng: np.random.Generator
) -> Flows:
    """Poisson arrivals at every sending host, exponential sizes.

    A host starts ``arrivals_per_s`` flows per second on average, each to one of its receivers in ``matrix``,
    drawn uniformly; sizes have the mean ``mean_bytes``. Flows come in the order of their starts, all of them
    before ``seconds``.
    """
    senders = np.bincount(matrix.src, minlength=matrix.num_hosts)
    mean = arrivals_per_s * seconds / senders[matrix.src]
    flow = np.repeat(np.arange(len(matrix)), rng.poisson(mean))
    start = rng.uniform(0.0, seconds, flow.size)
    order = np.argsort(start, kind="stable")
    flow = flow[order]
    return columns(matrix.src[flow], matrix.dst[flow], start[order], rng.exponential(mean_bytes, flow.size))


def series(result: Result) -> list[Row]:
    """The curve of one simulation, averaged over STEP_S around each time."""
    config = result.config
    step = max(1, round(STEP_S / config.tick_s))
    whole = config.ticks // step * step
    totals = result.total_mbps[:whole].reshape(-1, step).mean(axis=1) / 1000
    width = step * config.tick_s
    return [
        {"seconds": (n + 0.5) * width, "scheme": config.scheme, "seed": config.seed, "gbps": float(t)}
        for n, t in enumerate(totals)
    ]


def draw(rows: Sequence[Row], subtitle: str, path: Path) -> Path:
    """A line per scheme, the mean over seeds, in a band from the lowest to the highest."""
    by_scheme = grouped(rows, "scheme")
    with picture(path, 8.4, 4.4, "Figure 11: bisection bandwidth over time", subtitle) as figure:
        axes = figure.subplots()
        for scheme in sorted(scheme_order(set(by_scheme)), key=lambda scheme: scheme != "nonblocking"):
            by_time = grouped(by_scheme[scheme], "seconds")
            gbps = np.array([column(own, "gbps") for own in by_time.values()])
            times, shade, heavy = list(by_time), colour(scheme), scheme == "nonblocking"
            axes.fill_between(times, gbps.min(axis=1), gbps.max(axis=1), color=shade, alpha=0.18, lw=0)
            axes.plot(times, gbps.mean(axis=1), color=shade, lw=2.6 if heavy else 1.4, label=label(scheme))
        axes.set_xlim(0, rows[-1]["seconds"] + rows[0]["seconds"])
        axes.set_ylim(0)
        axes.set_xlabel("time [s]")
        axes.set_ylabel("bisection bandwidth [Gb/s]")
        axes.legend(loc="lower right")  # where curves that rise from 0 leave room
    return path


@click.command()
@at_scale(k=16)
@field_options(Arriving, "arrivals_per_s mean_mbytes")
@computed
def command(asked: Computing, schemes: tuple[str, ...], seeds: int, **fields: Any) -> None:
    """Simulate bisection bandwidth over time: 1,024 hosts, random bijection, flows that arrive and end."""
    from simulator.driver import simulate

    base = Arriving("ecmp", "randbij", **fields)
    cases = [replace(base, scheme=scheme) for scheme in schemes]
    results = over_seeds(asked.runner(f"Figure 11, k={base.k}"), simulate, cases, seeds)
    rows = [row for own in results for result in own for row in series(result)]
    load = (
        f"{base.tree.num_hosts:,} hosts, {base.arrivals_per_s:g} flows per s and host "
        f"of {base.mean_mbytes:g} MB on average"
    )
    told = []
    for scheme, own in zip(schemes, results, strict=True):
        found = compared(scheme, None, np.array([result.bisection_mbps / 1000 for result in own]))
        times, flows = np.concatenate([r.completion_s for r in own]), sum(r.src.size for r in own)
        took = {"completed": times.size, "of_flows": flows, "mean_s": float(times.mean())}
        told.append({**found, **took, "median_s": float(np.median(times))})
    name = f"figure11_k{base.k}"
    title = f"Figure 11: bisection bandwidth, Gb/s, {load}, {told_seeds(seeds)}"
    files = [asked.csv(name, rows), draw(rows, load, asked.png(name))]
    asked.conclude(rows, [table(title, told)], files)
