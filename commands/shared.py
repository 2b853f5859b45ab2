"""What the commands share: errors in words, options, progress, the table at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

    from commands.comparison import Row

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


output = click.option(
    "--out",
    default=OUT,
    type=click.Path(path_type=Path),
    show_default=True,
    help="Folder for picture and CSV.",
)
parallel = options(
    click.option("--jobs", type=click.IntRange(1), help="Processes (default: one per core)."),
    click.option("--cluster", metavar="ADDRESS", help="Run on this Dask scheduler instead, tcp://HOST:PORT."),
)


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


def run_tasks(
    label: str,
    function: Callable[[Task], Answer],
    tasks: Sequence[Task],
    jobs: int | None = None,
    cluster: str | None = None,
) -> list[Answer]:
    """`commands.pool.run_all` under a progress bar."""
    from commands.pool import run_all

    with progress_bar(label, len(tasks)) as done:
        return run_all(function, tasks, jobs=jobs, cluster=cluster, progress=done)


def wide_console() -> Console:
    """Standard output; a file or a pipe, which has no width of its own, gets one that tables fit in."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=130)


def conclude(title: str, rows: Sequence[Row], unit: str, files: Sequence[Path], digits: int = 1) -> None:
    """The end of every command: where the files are, and paper against ours."""
    from commands.comparison import table

    console = wide_console()
    console.print(table(title, rows, unit, digits))
    console.print("written: " + "  ".join(str(file) for file in files), highlight=False, soft_wrap=True)
