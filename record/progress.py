"""What a command or a call tells while it works: lines and bars, in a terminal and in a notebook; and ``--quiet``,
which silences all of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from typing import Any

import click

_SILENT: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def silence(wanted: bool = True) -> Iterator[None]:
    """Tell no progress while the block runs, as with ``--quiet``."""
    token = _SILENT.set(wanted or is_quiet())
    try:
        yield
    finally:
        _SILENT.reset(token)


def is_quiet() -> bool:
    """Whether progress is not told: the present command has ``--quiet``, or `silence` was asked for."""
    return _SILENT.get()


def tell_user(sentence: str) -> None:
    """A line of progress on standard error, unless --quiet."""
    if not is_quiet():
        click.echo(sentence, err=True)


quiet_option = click.option(
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=lambda context, option, wanted: context.with_resource(silence(wanted)),
    help="No progress on standard error: only warnings, and what went wrong.",
)


@contextmanager
def progress_bar(label: str, total: float) -> Iterator[Callable[[float], None]]:
    """A progress bar on standard error; yields a function to call with the amount done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    # The speed is the mean over the last hour, so that the time left follows the machine's load and does not jump.
    with Progress(*columns, console=Console(stderr=True, quiet=is_quiet()), speed_estimate_period=3600.0) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)


def is_in_notebook() -> bool:
    """Whether this process is a notebook's kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def notebook_bar(label: str, total: float) -> Iterator[Callable[[float], None] | None]:
    """In a notebook a bar that fills, and a function to call with the amount done; elsewhere None."""
    if not is_in_notebook():
        yield None
        return
    from IPython.display import HTML, display  # type: ignore[import-not-found]

    def draw(done: float) -> Any:
        return HTML(f'<progress max="{total:g}" value="{done:g}"></progress> {escape(label)}')

    shown, last = display(draw(0), display_id=True), 0

    def fill(done: float) -> None:
        nonlocal last
        if (now := int(100 * done / total)) != last:
            last = now
            shown.update(draw(done))

    yield fill
    shown.update(HTML(""))
