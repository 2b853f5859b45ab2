"""The commands of `hedera hull`. Slow imports wait until a command runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from hedera.options import Command, field_options, in_words, json_option, names_option, options, parallel, to_write
from studies.hull.build import NotInstalled
from studies.hull.parameters import SCHEMES, VARIANTS, Parameters, Quantity, unit_of, written

if TYPE_CHECKING:
    from studies.hull.suites import Suite

KEPT = Path("results/runs/hull")
"""Where results of single runs are kept; not in git."""
SAMPLE, QUICK = KEPT / "full", KEPT / "quick"
"""Where pictures and CSV go, in full and with --quick."""
SEEDS, QUICK_SEEDS = 5, 2
QUICK_SHARE = 0.12
"""The share of the full simulated time, with --quick."""


class _CannotRun(click.ClickException):
    exit_code = 3


def guarded(function: Command) -> Command:
    """Errors in one sentence; status 3 with what to install when the machine lacks something."""

    @in_words
    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except NotInstalled as error:
            raise _CannotRun(str(error)) from error

    return checked


def parameters(function: Command) -> Command:
    """An option for every parameter; the command gets them as ``parameters``, and as ``named`` those that the command
    line names."""

    @wraps(function)
    def gathered(*args: Any, **kwargs: Any) -> Any:
        context = click.get_current_context()
        chosen = {each.name: kwargs.pop(each.name) for each in fields(Parameters) if each.name in kwargs}
        named = frozenset(n for n in chosen if context.get_parameter_source(n) is ParameterSource.COMMANDLINE)
        return function(*args, parameters=Parameters(**chosen), named=named, **kwargs)

    kinds = {each.name: Quantity(unit) for each in fields(Parameters) if (unit := unit_of(each.name))}
    add = field_options(Parameters, kinds=kinds, shown=lambda name, value: written(value, name))
    command: Command = add(gathered)
    return command


kept = click.option(
    "--results",
    "keep",
    default=KEPT,
    type=click.Path(path_type=Path),
    show_default=True,
    help="Folder of the runs' results; runs that are there are not made again.",
)


def _known(names: Collection[str]) -> Callable[[str], str]:
    def known(name: str) -> str:
        if name not in names:
            raise ValueError(f"there is no {name!r}; there are {', '.join(names)}")
        return name

    return known


compared = options(
    names_option(
        "--variants", VARIANTS, _known(VARIANTS),
        "reproduction: as the report's authors built it (--no-sack, and the pacer behind the host's queue); "
        "conforming: with the given parameters, by default TCP by its RFCs and the pacer in front. Comma-separated.",
    ),
    names_option("--schemes", SCHEMES, _known(SCHEMES), f"Comma-separated: {', '.join(SCHEMES)}."),
)  # fmt: skip
"""The options of figures and tables that compare schemes, as both variants."""

_SUITE = ("parameters", "named", "keep", "as_json", "jobs", "cluster", "variants", "schemes")


def experiment(function: Callable[..., None]) -> Command:
    """The decorator of a figure or table, which gets a `studies.hull.suites.Suite`."""

    @wraps(function)
    def gathered(*, quick: bool, seeds: int | None, out: Path | None, **given: Any) -> None:
        from studies.hull.suites import Suite

        own = {name: given.pop(name) for name in _SUITE if name in given}
        share, folder = (QUICK_SHARE, out or QUICK) if quick else (1.0, out or SAMPLE)
        seeds = seeds or (QUICK_SEEDS if quick else SEEDS)
        function(Suite(seeds=seeds, share=share, folder=to_write(folder), **own), **given)

    add = options(
        click.option("--quick", is_flag=True, help="Shorter and fewer runs: the trend in a few minutes."),
        click.option(
            "--seeds",
            type=click.IntRange(1),
            help=f"Number of seeds: 1, 2, and so on (default: {SEEDS}; quick: {QUICK_SEEDS}).",
        ),
        click.option(
            "--out",
            type=click.Path(path_type=Path),
            help=f"Folder for the picture and CSV (default: {SAMPLE}; with --quick {QUICK}).",
        ),
        kept,
        json_option,
        parallel,
    )
    return guarded(parameters(add(gathered)))


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
    from studies.hull import report, suites

    study = suites.STUDIES[key]._replace(**other)
    name = study.title.lower().replace(" ", "")
    rows, reduced = suite.compare(name, study)
    picture = report.compared(rows, key, suite, suite.folder / f"{name}.png")
    report.conclude(study, rows, reduced, picture, suite.as_json)


@figure.command("1")
@compared
@click.option("--seconds", default=2.0, show_default=True, help="Measured time of every run.")
@experiment
def figure_1(suite: Suite, seconds: float) -> None:
    """Queueing latency and goodput against 2 to 8 endless flows (1b; with --link-delay 100us: 1c).

    As in the authors' experiment, packets have 600 bytes of payload and phantom queues drain at 90 %, unless
    you give --segment-bytes or --drain.
    """
    from studies.hull.experiment import STATIC_DRAIN, static_parameters

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
    from studies.hull.run import parse, run_scenario

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
    from studies.hull.experiment import Experiment, static_parameters
    from studies.hull.report import as_object, in_sentences
    from studies.hull.run import run_many

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
