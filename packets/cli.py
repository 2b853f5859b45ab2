"""The commands of `hedera hull`. Slow imports wait until a command runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedera.options import json_option, parallel
from packets.options import compared, experiment, guarded, kept, parameters
from packets.parameters import Parameters

if TYPE_CHECKING:
    from packets.suites import Suite


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


def _compare(suite: Suite, key: str, **other: Any) -> None:
    from packets import pictures, suites, tables

    study = suites.STUDIES[key]._replace(**other)
    name = study.title.lower().replace(" ", "")
    rows, reduced = suite.compare(name, study)
    picture = pictures.compared(rows, key, suite, suite.folder / f"{name}.png")
    tables.conclude(study, rows, reduced, picture, suite.as_json)


@figure.command("1")
@compared
@click.option("--seconds", default=2.0, show_default=True, help="Measured time of every run.")
@experiment
def figure_1(suite: Suite, seconds: float) -> None:
    """Queueing latency and goodput against 2 to 8 endless flows (1b; with --link-delay 100us: 1c).

    As in the authors' experiment, packets have 600 bytes of payload and phantom queues drain at 90 %, unless
    you give --segment-bytes or --drain.
    """
    from packets.experiment import STATIC_DRAIN, static_parameters

    parameters = static_parameters(suite.parameters, suite.named)
    name = {5.0: "Figure 1b", 100.0: "Figure 1c"}.get(parameters.link_delay_us, "Figure 1")
    if parameters.drain != STATIC_DRAIN:
        name += f"-drain{100 * parameters.drain:g}"
    each_s = dict.fromkeys(range(2, 9), seconds if suite.share == 1 else 0.3)
    _compare(replace(suite, parameters=parameters, share=1.0), "figure1", title=name, seconds=each_s)


@table.command("2")
@compared
@experiment
def table_2(suite: Suite) -> None:
    """Queueing latency and completion times of small and large files, at 20, 40 and 60 % load.

    Every seed simulates 276 seconds of each scheme; five seeds make the published 1,380.
    """
    _compare(suite, "table2")


@figure.command("4")
@compared
@experiment
def figure_4(suite: Suite) -> None:
    """Web search: queries to ten servers, against background load."""
    _compare(suite, "figure4")


@figure.command("5")
@compared
@experiment
def figure_5(suite: Suite) -> None:
    """Low-latency search: queries to ten servers that answer in 100 us, against background load."""
    _compare(suite, "figure5")


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
    named: frozenset[str],
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
    from packets.run import run_many
    from packets.tables import as_object, in_sentences

    if fields["workload"] == "static":
        parameters = static_parameters(parameters, named)
    if load is None:
        load = 0.2 if fields["workload"] == "dynamic" else 0.0
    experiments = [
        Experiment(**fields, load=load, seed=each, parameters=parameters) for each in range(seed, seed + seeds)
    ]
    first = experiments[0]
    label = f"{first.scheme}, {first.workload}"
    found = as_object(first, run_many(label, experiments, keep, jobs, cluster))
    if as_json:
        click.echo(json.dumps(found))
    else:
        for sentence in in_sentences(found):
            click.echo(sentence)
    if found["verdict"] != "ok":
        raise click.exceptions.Exit(1)
