"""What the commands share: errors in words, options, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

from workers.cluster import KEYS, ClusterAddress

Task = TypeVar("Task")
Answer = TypeVar("Answer")
Command = Callable[..., Any]

OUT = Path("results/simulated")


def in_words(function: Command) -> Command:
    """Turn what the user got wrong, or what is missing, into one sentence instead of a traceback."""

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        except (OSError, RuntimeError) as error:
            raise click.ClickException(str(error)) from error

    return guarded


def options(*options: Command) -> Command:
    """Several click options as one decorator, shown in the order given."""

    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _scheduler(
    context: click.Context, parameter: click.Parameter, address: str | None
) -> ClusterAddress | None:
    """``--cluster`` with the folder of ``--keys``, which click has read before it."""
    try:
        return None if address is None else ClusterAddress(address, keys_of(context))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def keys_of(context: click.Context) -> Path:
    """The folder that ``--keys`` names."""
    folder: Path = context.meta[_KEYS]
    return folder


def _keep_keys(context: click.Context, parameter: click.Parameter, folder: Path) -> None:
    context.meta[_KEYS] = folder


_KEYS = "workers.keys"
keys_option = click.option(
    "--keys",
    type=click.Path(path_type=Path, file_okay=False),
    default=KEYS,
    show_default=True,
    is_eager=True,
    expose_value=False,
    callback=_keep_keys,
    help="Folder of the cluster's keys, for tls://.",
)
cluster_options = options(
    click.option(
        "--cluster",
        metavar="ADDRESS",
        callback=_scheduler,
        help="Run on the workers of this Dask scheduler instead, tls://HOST:PORT.",
    ),
    keys_option,
)
output = click.option(
    "--out",
    default=OUT,
    type=click.Path(path_type=Path, file_okay=False),
    show_default=True,
    help="Folder for picture and CSV.",
)
parallel = options(
    click.option("--jobs", type=click.IntRange(1), help="Processes (default: one per core)."),
    cluster_options,
)


json_option = click.option(
    "--json", "as_json", is_flag=True, help="The rows as one JSON object on standard output."
)


computed = options(output, json_option, parallel, in_words)
"""Of a command that computes rows and writes a CSV and a picture."""


def seeds_option(default: int) -> Command:
    """The option --seeds."""
    return click.option(
        "--seeds",
        default=default,
        type=click.IntRange(1),
        show_default=True,
        help="How many: 1, 2, and so on.",
    )


@contextmanager
def progress_bar(label: str, total: float) -> Iterator[Callable[[float], None]]:
    """A progress bar on standard error; yields what to call with the amount done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)


class Runner(Protocol):
    """Something that calls a function with every task, and gives the answers in the order of the tasks."""

    def __call__(self, function: Callable[[Task], Answer], tasks: Sequence[Task]) -> list[Answer]: ...  # noqa: D102


def in_turn(function: Callable[[Task], Answer], tasks: Sequence[Task]) -> list[Answer]:
    """The plainest `Runner`: one after the other, in this process."""
    return [function(task) for task in tasks]


def run_tasks(
    label: str,
    function: Callable[[Task], Answer],
    tasks: Sequence[Task],
    jobs: int | None = None,
    cluster: str | None = None,
) -> list[Answer]:
    """`workers.pool.run_all` under a progress bar."""
    from workers.pool import run_all

    with progress_bar(label, len(tasks)) as done:
        return run_all(function, tasks, jobs=jobs, cluster=cluster, progress=done)


def runner(label: str, jobs: int | None = None, cluster: str | None = None) -> Runner:
    """`run_tasks` as a `Runner`."""

    def run(function: Callable[[Task], Answer], tasks: Sequence[Task]) -> list[Answer]:
        return run_tasks(label, function, tasks, jobs, cluster)

    return run
