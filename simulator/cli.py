"""The command `hedera simulate`.

Everything slow to import (numba, matplotlib) is imported by the command that needs it, when it runs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from msgspec.structs import asdict

from hedera.schemes import with_hash
from record.files import write_whole
from record.options import complete_schemes, field_options, hash_option, in_words, json_option
from record.progress import progress_bar, quiet_option, tell_user
from simulator.config import Config

if TYPE_CHECKING:
    from simulator.result import Result


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
@click.option(
    "--against",
    metavar="LIST",
    help="Schemes, separated by commas, to simulate with the same seeds: how they differ, paired by seed, with 95 % "
    "intervals from three --trials on.",
    shell_complete=complete_schemes,
)
@json_option
@quiet_option
@in_words
def simulate(
    as_json: bool, record: Path | None, trials: int, against: str | None, scheme: str, hash: str | None, **fields: Any
) -> Any:
    """Run the paper's flow-level simulator: once, in some trials, or beside other schemes.

    Example: hedera simulate --scheme hedera-gff --against ecmp,hedera-sa --traffic randbij --trials 5
    """
    config = Config(with_hash(scheme, hash), **fields)
    if record is not None and (trials > 1 or against):
        raise ValueError("--record writes the flows of one run: without --trials and --against")
    if record is not None:
        from simulator.config import MAX_FLOWS
        from traffic.flowfile import record_flows

        flows = record_flows(config.workload().bounded(MAX_FLOWS).blocks())
        write_whole(record, flows)
        click.echo(f"{flows.count(chr(10)) - 1:,} flows written to {record}", err=True)

    if config.scaling_in_words:
        tell_user(config.scaling_in_words)
    if against:
        return _run_against(config, against, hash, trials, as_json)
    if trials > 1:
        return _run_trials(config, trials, as_json)

    from simulator.driver import Simulation

    if as_json:
        result = Simulation(config).run()
        click.echo(json.dumps(result.as_json()))
        return result
    simulation = Simulation(config)
    with progress_bar(f"{config.scheme}  {config.traffic}", config.seconds) as done:
        result = simulation.run(done)
    what = _describe(config)
    if (collective := result.collective()) is not None:
        from record.completion_times import describe as collective_in_words

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
    for entry in result.completion():
        if entry.flows:
            click.echo(
                f"{entry.size_class:>7}: {entry.flows:,} flows began in the window, {entry.cut_off:,} cut off; "
                f"slowdown {entry.mean_slowdown:.2f}, median {entry.median_slowdown:.2f}, 99th {entry.p99_slowdown:.2f}"
            )
    return result


def _describe(config: Config) -> str:
    return f"{config.scheme}, {_describe_traffic(config)}:"


def _describe_traffic(config: Config) -> str:
    return f"{config.traffic}, {config.topology or f'k={config.k}'}"


def _run_trials(config: Config, trials: int, as_json: bool) -> Any:
    """Some runs, each with a seed of its own: means and Student's intervals over seeds."""
    from plots.completion_times import PERCENTILES, average_over_seeds, format_interval, make_percentile_table
    from plots.style import describe_interval_seeds
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
    (mean,) = average_over_seeds(rows, ("bisection_mbps", "completion_s"))
    classes = [asdict(entry) for result in results for entry in result.completion()]
    by_class = average_over_seeds(classes, PERCENTILES)
    if as_json:
        first, means = results[0].as_json(), {name: mean[name] for name in mean if name.endswith(("mbps", "_s"))}
        same = {name: first[name] for name in ("scheme", "traffic", "capacity_mbps", "verdict", "reasons", "engine")}
        runs = [result.as_json() for result in results]
        click.echo(json.dumps({**same, "trials": trials, **means, "completion": by_class, "runs": runs}))
        return results
    over = describe_interval_seeds(trials)
    if (collective := results[0].collective()) is not None:
        ended = sum(row["completion_s"] is not None for row in rows)
        after = f", after {format_interval(mean, 'completion_s')} s" * bool(ended)
        click.echo(
            f"{_describe(config)} done in {ended} of {trials} seeds{after}; "
            f"{collective.least_s:.6g} s are the least possible"
        )
    if collective is None or np.isinf(results[0].size_bytes).any():
        click.echo(f"{_describe(config)} bisection bandwidth {format_interval(mean, 'bisection_mbps')} Mb/s, {over}")
    if by_class:
        conclude([], [make_percentile_table(f"FCT by size class, {over}", by_class)], [], False)
    return results


def _run_against(config: Config, against: str, hash: str | None, trials: int, as_json: bool) -> Any:
    """The scheme and others, each simulated with the same seeds: what each reached, and how the scheme differs."""
    from plots.completion_times import average_over_seeds, format_interval
    from plots.paired_tests import compare_schemes, make_difference_rows
    from plots.style import describe_interval_seeds, make_table
    from record.output import conclude, make_plain_table
    from record.tasks import run_tasks
    from simulator.driver import simulate

    others = [with_hash(name.strip(), hash, others=True) for name in against.split(",")]
    others = [name for name in dict.fromkeys(others) if name != config.scheme]
    if not others:
        raise ValueError("--against names no other scheme than --scheme")
    configs = [
        replace(config, scheme=name, seed=config.seed + n) for name in (config.scheme, *others) for n in range(trials)
    ]
    results = run_tasks(f"{len(configs)} simulations  {config.traffic}", simulate, configs)
    click.echo(f"{_describe_traffic(config)}, {describe_interval_seeds(trials)}", err=as_json)
    means = make_plain_table("means", "measure", "scheme", "mean", left=2)
    rows: list[dict[str, Any]] = []
    for measure, values in _list_measures(results).items():
        for scheme, of_seeds in values.items():
            whole = {"size_class": "", "flows": 1, "cut_off": 0}
            (mean,) = average_over_seeds([whole | {measure: value} for value in of_seeds.dropna()], [measure])
            means.add_row(measure, str(scheme), format_interval(mean, measure))
        pairs = compare_schemes(values, [(config.scheme, other) for other in others])
        rows += make_difference_rows(pairs, patterns=False, measure=measure)
    conclude(rows, [means, make_table("differences, paired by seed", rows)], [], as_json)
    return results


def _list_measures(results: Sequence[Result]) -> dict[str, Any]:
    """What tells schemes apart under this traffic, by its name with its unit: the bandwidth of flows that last, how
    long a collective took, and the median and 99th percentile of completion times by size class. A frame each, with a
    row for each seed, as `compare_schemes` takes it, and a column for each scheme."""
    from pandas import DataFrame

    rows = []
    for result in results:
        measured: dict[str, float | None] = {}
        if (collective := result.collective()) is not None:
            measured["completion_s"] = collective.completion_s
        if np.isinf(result.size_bytes).any():
            measured["bisection_mbps"] = result.bisection_mbps
        for flows in result.completion():
            if flows.flows:
                measured |= {f"{flows.size_class}_{name}": getattr(flows, name) for name in ("median_s", "p99_s")}
        of_result = {"pattern": result.config.traffic, "trial": result.config.seed, "scheme": result.config.scheme}
        rows += [of_result | {"measure": name, "value": value} for name, value in measured.items()]
    frame = DataFrame(rows).astype({"value": float})
    return {
        str(measure): of_measure.pivot(index=["pattern", "trial"], columns="scheme", values="value")
        for measure, of_measure in frame.groupby("measure", sort=False)
    }
