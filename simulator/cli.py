"""The command `hedera simulate`.

Everything slow to import (numba, matplotlib) is imported by the command that needs it, when it runs.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from msgspec.structs import asdict

from hedera.schemes import with_hash
from record.files import write_whole
from record.options import field_options, hash_option, in_words, json_option
from record.progress import progress_bar, quiet_option
from simulator.config import Config


@click.command()
@field_options(Config, "scheme traffic")
@hash_option
@field_options(Config, without="scheme traffic")
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the flows to this CSV file, for --traffic file:PATH.",
)
@click.option("--trials", default=1, show_default=True, type=click.IntRange(1), help="Runs, with seeds from --seed on.")
@json_option
@quiet_option
@in_words
def simulate(as_json: bool, record: Path | None, trials: int, scheme: str, hash: str | None, **fields: Any) -> Any:
    """Run the paper's flow-level simulator, once or in some trials."""
    config = Config(with_hash(scheme, hash), **fields)
    if trials > 1 and record is not None:
        raise ValueError("--record writes the flows of one run: without --trials")
    if record is not None:
        from simulator.config import MAX_FLOWS
        from traffic.flowfile import recorded

        flows = recorded(config.workload().bounded(MAX_FLOWS).blocks())
        write_whole(record, flows)
        click.echo(f"{flows.count(chr(10)) - 1:,} flows written to {record}", err=True)

    if trials > 1:
        return _trials(config, trials, as_json)

    from simulator.driver import Simulation

    if as_json:
        result = Simulation(config).run()
        click.echo(json.dumps(result.as_json()))
        return result
    simulation = Simulation(config)
    with progress_bar(f"{config.scheme}  {config.traffic}", config.seconds) as done:
        result = simulation.run(done)
    what = _what(config)
    if (collective := result.collective()) is not None:
        from record.completion_times import in_words as collective_in_words

        click.echo(f"{what} {collective_in_words(collective)}")
    if collective is None or np.isinf(result.size_bytes).any():
        share = result.bisection_mbps / result.capacity_mbps
        click.echo(
            f"{what} bisection bandwidth {result.bisection_mbps:,.1f} Mb/s, {share:.1%} of {result.capacity_mbps:,.0f}"
        )
    if bound := result.bound_mbps:
        share = result.bisection_mbps / bound
        click.echo(f"the network's own bound for this traffic is {bound:,.1f} Mb/s: {share:.1%}")
    if np.isinf(result.size_bytes).all():
        return result
    if result.completion_s.size:
        mean, slowest = result.completion_s.mean(), result.completion_s.max()
        click.echo(
            f"{result.completion_s.size:,} flows completed, {mean:.6g} s on average, the slowest {slowest:.6g} s"
        )
    for one in result.completion():
        if one.flows:
            click.echo(
                f"{one.size_class:>7}: {one.flows:,} flows began in the window, {one.cut_off:,} cut off; "
                f"slowdown {one.mean_slowdown:.2f}, median {one.median_slowdown:.2f}, 99th {one.p99_slowdown:.2f}"
            )
    return result


def _what(config: Config) -> str:
    return f"{config.scheme}, {config.traffic}, {config.topology or f'k={config.k}'}:"


def _trials(config: Config, trials: int, as_json: bool) -> Any:
    """Some runs, each with a seed of its own: means and Student's intervals over seeds."""
    from plots.completion_times import PERCENTILES, in_words, over_seeds, percentiles
    from record.output import conclude
    from record.tasks import run_tasks
    from simulator.driver import simulate

    configs = [replace(config, seed=config.seed + n) for n in range(trials)]
    results = run_tasks(f"{config.scheme}  {config.traffic}", simulate, configs)
    rows = []
    for result in results:
        collective, whole = result.collective(), {"size_class": "", "flows": 1, "cut_off": 0}
        rows.append(
            whole | {"bisection_mbps": result.bisection_mbps, "completion_s": collective and collective.completion_s}
        )
    (mean,) = over_seeds(rows, ("bisection_mbps", "completion_s"))
    classes = [asdict(one) for result in results for one in result.completion()]
    by_class = over_seeds(classes, PERCENTILES)
    if as_json:
        first, means = results[0].as_json(), {name: mean[name] for name in mean if name.endswith(("mbps", "_s"))}
        same = {name: first[name] for name in ("scheme", "traffic", "capacity_mbps", "verdict", "reasons", "engine")}
        runs = [result.as_json() for result in results]
        click.echo(json.dumps({**same, "trials": trials, **means, "completion": by_class, "runs": runs}))
        return results
    over = f"{trials} seeds, 95 % intervals" if trials > 2 else f"{trials} seeds"
    if (collective := results[0].collective()) is not None:
        ended = sum(row["completion_s"] is not None for row in rows)
        after = f", after {in_words(mean, 'completion_s')} s" * bool(ended)
        click.echo(
            f"{_what(config)} done in {ended} of {trials} seeds{after}; "
            f"{collective.least_s:.6g} s are the least possible"
        )
    if collective is None or np.isinf(results[0].size_bytes).any():
        click.echo(f"{_what(config)} bisection bandwidth {in_words(mean, 'bisection_mbps')} Mb/s, {over}")
    if by_class:
        conclude([], [percentiles(f"FCT by size class, {over}", by_class)], [], False)
    return results
