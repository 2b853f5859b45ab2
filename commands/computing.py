"""Commands that compute rows: what carries out their tasks, where their files go, how rows are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from commands.options import OUT, Command, in_words, json_option, options, output, parallel
from commands.output import conclude, progress_bar, write_csv

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from rich.table import Table

Task = TypeVar("Task")
Answer = TypeVar("Answer")


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


@dataclass(frozen=True)
class Computing:
    """The options that all such commands share.

    ``out``: the folder of its files. ``as_json``: rows go to standard output. ``jobs``, ``cluster``: as in
    `workers.pool.run_all`.
    """

    out: Path = OUT
    as_json: bool = False
    jobs: int | None = None
    cluster: str | None = None

    def runner(self, label: str) -> Runner:
        """Carries out tasks under a progress bar."""

        def run(function: Callable[[Task], Answer], tasks: Sequence[Task]) -> list[Answer]:
            return run_tasks(label, function, tasks, self.jobs, self.cluster)

        return run

    def csv(self, name: str, rows: Sequence[DataclassInstance]) -> Path:
        """Write rows to ``name``.csv."""
        return write_csv(self.out / f"{name}.csv", rows)

    def png(self, name: str) -> Path:
        """Where a picture goes."""
        return self.out / f"{name}.png"

    def conclude(self, rows: Sequence[DataclassInstance], told: Sequence[Table | str], files: Sequence[Path]) -> None:
        """As `commands.output.conclude`."""
        conclude(rows, told, files, self.as_json)


def computed(function: Command) -> Command:
    """The decorator of such a command, which gets the shared options as ``asked``."""

    @wraps(function)
    def gathered(out: Path, as_json: bool, jobs: int | None, cluster: str | None, **own: Any) -> Any:
        return function(asked=Computing(out, as_json, jobs, cluster), **own)

    decorated: Command = options(output, json_option, parallel, in_words)(gathered)
    return decorated
