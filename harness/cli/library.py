"""`hedera run`, `hedera simulate` and `hedera sweep` as functions (docs/library.md).

Arguments are the commands' options, with ``_`` for ``-``: numbers, texts, True or False; lists where the command takes
several, and for ``vary`` a list for each option. Nothing is printed. What a command says in one sentence is an
exception with it: UserMistake, UnfitMachine or RunFailed of `harness.errors`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from harness.cli.group import cli
from harness.errors import UserMistake

if TYPE_CHECKING:
    from harness.sweep.vary import Swept
    from record.run import Run
    from simulator.result import Result


def run(scheme: str, traffic: str, **options: Any) -> Run:
    """One run. One that does not count is returned as well, with its verdict."""
    return _done("run", scheme=scheme, traffic=traffic, **options)  # type: ignore[no-any-return]


def simulate(scheme: str, traffic: str, **options: Any) -> Result:
    """One simulation."""
    return _done("simulate", scheme=scheme, traffic=traffic, **options)  # type: ignore[no-any-return]


def sweep(trials: int, seconds: float, **options: Any) -> Swept:
    """A sweep, which goes on where it stopped, with its tables, pictures and pages."""
    found: Swept = _done("sweep", str(trials), str(seconds), **options)
    return found


def _done(*words: str, **options: Any) -> Any:
    said = [word for name, value in options.items() for word in _words(name.replace("_", "-"), value)]
    try:
        with redirect_stdout(io.StringIO()):
            return cli.main([*words, "--quiet", *said], standalone_mode=False)
    except click.ClickException as mistake:
        raise UserMistake(mistake.format_message()) from None


def _words(name: str, value: Any) -> Iterator[str]:
    """An option as on the command line."""
    if isinstance(value, dict):
        yield from (f"--{name}={key}={','.join(map(str, values))}" for key, values in value.items())
    elif isinstance(value, bool):
        yield f"--{name}" if value else f"--no-{name}"
    elif name in ("fail", "disturb") and not isinstance(value, str):
        yield from (f"--{name}={one}" for one in value)
    elif value is not None:
        text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        yield f"--{name}={text}" if len(name) > 1 else f"-{name}{text}"
