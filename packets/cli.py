"""The commands `hedera hull figure`, `table`, `sensitivity` and `run`. Slow imports wait until a command runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from hedera.options import json_option, parallel
from packets.options import (
    QUICK,
    SAMPLE,
    asked,
    compared,
    conclude,
    experiment_options,
    guarded,
    kept,
    parameters,
    sample,
)
from packets.parameters import Parameters
from results.output import progress_bar

SEEDS = 5
QUICK_SEEDS = 2
QUICK_SHARE = 0.12
"""The share of the full simulated time, with --quick."""


def _suite(options: dict[str, Any], parameters: Parameters) -> Any:
    from packets.suites import Suite

    seeds = options["seeds"] or (QUICK_SEEDS if options["quick"] else SEEDS)
    chosen = {name: options[name] for name in ("schemes", "variants") if options.get(name)}
    return Suite(parameters, seeds, options["keep"], options["jobs"], options["cluster"], **chosen)


def _share(options: dict[str, Any]) -> float:
    return QUICK_SHARE if options["quick"] else 1.0


def _folder(options: dict[str, Any]) -> Path:
    folder: Path | None = options["out"]
    return folder or (QUICK if options["quick"] else SAMPLE)


@click.group()
def hull() -> None:
    """Simulate HULL by packets: phantom queues, DCTCP and pacing, compared with a report that reproduced it.

    Start with `hedera hull table 2 --quick`. docs/hull.md has the results and their limits.
    """


@hull.group()
def figure() -> None:
    """Reproduce a figure of the report."""


@hull.group()
def table() -> None:
    """Reproduce a table of the report."""


@figure.command("1")
@experiment_options(SEEDS)
@compared
@click.option("--seconds", default=2.0, show_default=True, help="Measured time of every run.")
@guarded
@parameters
def figure_1(parameters: Parameters, seconds: float, **options: Any) -> None:
    """Queueing latency and goodput against 2 to 8 endless flows (1b; with --link-delay 100us: 1c).

    As in the authors' experiment, packets have 600 bytes of payload and phantom queues drain at 90 %, unless
    you give --segment-bytes or --drain.
    """
    from packets import pictures, suites
    from packets.experiment import STATIC_DRAIN, static_parameters

    parameters = static_parameters(parameters, asked())
    name = {5.0: "figure1b", 100.0: "figure1c"}.get(parameters.link_delay_us, "figure1")
    if parameters.drain != STATIC_DRAIN:
        name += f"-drain{100 * parameters.drain:g}"
    found = suites.figure_1(_suite(options, parameters), name, 0.3 if options["quick"] else seconds)
    picture = pictures.figure_1(found.cells, parameters.link_delay_us, _folder(options) / f"{name}.png")
    conclude(f"Figure {name[6:]}", found, "flows", name, picture, options["as_json"])


@table.command("2")
@experiment_options(SEEDS)
@compared
@guarded
@parameters
def table_2(parameters: Parameters, **options: Any) -> None:
    """Queueing latency and completion times of small and large files, at 20, 40 and 60 % load.

    Every seed simulates 276 seconds of each scheme; five seeds make the published 1,380.
    """
    from packets import pictures, suites

    found = suites.table_2(_suite(options, parameters), _share(options))
    picture = pictures.table_2(found.cells, _folder(options) / "table2.png")
    conclude("Table 2", found, "load_percent", "table2", picture, options["as_json"])


@figure.command("4")
@experiment_options(SEEDS)
@compared
@guarded
@parameters
def figure_4(parameters: Parameters, **options: Any) -> None:
    """Web search: queries to ten servers, against background load."""
    _fan_out("search", "figure4", parameters, options)


@figure.command("5")
@experiment_options(SEEDS)
@compared
@guarded
@parameters
def figure_5(parameters: Parameters, **options: Any) -> None:
    """Low-latency search: queries to ten servers that answer in 100 us, against background load."""
    _fan_out("low-latency", "figure5", parameters, options)


def _fan_out(workload: str, name: str, parameters: Parameters, options: dict[str, Any]) -> None:
    from packets import pictures, suites

    found = suites.fan_out(_suite(options, parameters), workload, name, _share(options))
    picture = pictures.fan_out(found.cells, workload, _folder(options) / f"{name}.png")
    conclude(f"Figure {name[6:]}", found, "background_mbps", name, picture, options["as_json"])


@hull.command()
@experiment_options(SEEDS)
@click.option("--load", default=0.2, show_default=True, help="Load of large files, as a share of the link.")
@guarded
@parameters
def sensitivity(parameters: Parameters, load: float, **options: Any) -> None:
    """Vary HULL's parameters one at a time (drain rate, marking threshold, the pacer's): latency against
    throughput."""
    from packets import pictures
    from packets.sensitivity import points, tell

    found = points(_suite(options, parameters), load, _share(options))
    picture = pictures.sensitivity(found, load, _folder(options) / "sensitivity.png")
    tell(found, load, picture, options["as_json"])


@hull.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@guarded
def scenario(file: Path) -> None:
    """Run your own scenario (docs/notes/packet-engine.md), and print the engine's result as one JSON object."""
    from packets.result import parse
    from packets.run import run_scenario

    try:
        built = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} is not JSON: {error}") from error
    head, arrays = parse(run_scenario(built))
    head["arrays"] = {name: values.tolist() for name, values in arrays.items()}
    click.echo(json.dumps(head))


@hull.command()
@sample
@guarded
def page(out: Path) -> None:
    """Write one self-contained page of the figures and tables in a folder, with the published numbers."""
    from packets.page import write

    click.echo(f"written: {write(out)}")


@hull.command()
@click.option("--scheme", required=True, help="tcp, dctcp-30k, dctcp-6k-pacer or hull.")
@click.option("--workload", required=True, help="static, dynamic, search or low-latency.")
@click.option("--load", type=float, help="Large files' share of the client's link (dynamic: 0.2; searches: 0).")
@click.option("--flows", default=2, show_default=True, help="Number of flows of the static workload.")
@click.option("--seconds", default=10.0, show_default=True, help="Measured time.")
@click.option("--seed", default=1, show_default=True, help="The first seed.")
@click.option("--seeds", default=1, type=click.IntRange(1), show_default=True, help="Number of seeds, from --seed on.")
@kept
@json_option
@parallel
@guarded
@parameters
def run(
    parameters: Parameters,
    load: float | None,
    seed: int,
    seeds: int,
    keep: Path,
    as_json: bool,
    jobs: int | None,
    cluster: str | None,
    **fields: Any,
) -> None:
    """Make one run and describe it. With --seeds, make several runs and take their samples together."""
    from packets.experiment import Experiment, static_parameters
    from packets.run import Task, kept_or_run, run_many
    from packets.summary import as_object, in_sentences

    if fields["workload"] == "static":
        parameters = static_parameters(parameters, asked())
    if load is None:
        load = 0.2 if fields["workload"] == "dynamic" else 0.0
    experiments = [
        Experiment(**fields, load=load, seed=each, parameters=parameters) for each in range(seed, seed + seeds)
    ]
    first = experiments[0]
    if seeds > 1 or cluster:
        results = run_many(f"{first.scheme}, {first.workload}", experiments, keep, jobs, cluster)
    else:
        with progress_bar(f"{first.scheme}, {first.workload}", first.seconds) as done:
            results = [kept_or_run(Task(first, keep), done)]
            done(first.seconds)
    found = as_object(first, results)
    if as_json:
        click.echo(json.dumps(found))
    else:
        for sentence in in_sentences(found):
            click.echo(sentence)
    if found["verdict"] != "ok":
        raise click.exceptions.Exit(1)
