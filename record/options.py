"""What commands share: click options, those of an experiment's fields too, and errors as sentences."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING
from functools import wraps
from pathlib import Path
from typing import Any

import click

from hedera.hashes import HASH_SPELLING, HASHES
from record.spec import options_of

Command = Callable[..., Any]

OUT = Path("results/runs/paper")
_SILENT: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def silence(wanted: bool = True) -> Iterator[None]:
    """Tell no progress while the block runs, as with ``--quiet``."""
    token = _SILENT.set(wanted or quiet())
    try:
        yield
    finally:
        _SILENT.reset(token)


def quiet() -> bool:
    """Whether progress is not told: the present command has ``--quiet``, or `silence` was asked for."""
    return _SILENT.get()


def tell_user(sentence: str) -> None:
    """A line of progress on standard error, unless --quiet."""
    if not quiet():
        click.echo(sentence, err=True)


def in_words(function: Command) -> Command:
    """Turn a user's mistake, or something missing, into one sentence instead of a traceback."""

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        except BrokenPipeError:
            raise  # whoever read the output has enough (`| head`): click ends quietly
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


def to_write(path: Path) -> Path:
    """A file or folder that a command will write. UsageError, before anything is computed, where it cannot be."""
    there = next(one for one in (path, *path.absolute().parents) if one.exists())
    if not os.access(there, os.W_OK) or (there != path and not there.is_dir()):
        raise click.UsageError(f"{path} cannot be written: {there} is no folder that you may write to")
    return path


cluster_option = click.option(
    "--cluster", metavar="ADDRESS", help="Run on the workers of this Dask scheduler, tls://HOST:PORT."
)
hash_option = click.option(
    "--hash",
    metavar=HASH_SPELLING,
    help=f"What switches choose first paths by, as in crc32:5-tuple ({', '.join(HASHES)}: `hedera schemes`).",
)
output = click.option(
    "--out",
    default=OUT,
    type=click.Path(path_type=Path, file_okay=False),
    show_default=True,
    callback=lambda context, option, path: to_write(path),
    help="Folder for the picture and CSV.",
)


quiet_option = click.option(
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=lambda context, option, wanted: context.with_resource(silence(wanted)),
    help="No progress on standard error: only warnings, and what went wrong.",
)
parallel = options(
    click.option("--jobs", type=click.IntRange(1), help="Processes (default: one per core)."),
    cluster_option,
    quiet_option,
)

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")


def seeds_option(default: int) -> Command:
    """``--seeds``, how many seeds a command draws."""
    return click.option(
        "--seeds", default=default, type=click.IntRange(1), show_default=True, help="Number of seeds: 1, 2, and so on."
    )


def names_option(option: str, default: Iterable[str], known: Callable[[str], str], text: str) -> Command:
    """Names, separated by commas, each once; ``known`` raises ValueError for one that does not exist."""

    def read(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
        names = dict.fromkeys(name.strip() for name in value.split(",") if name.strip())
        if not names:
            raise click.BadParameter("name at least one")
        try:
            return tuple(known(name) for name in names)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return click.option(option, default=",".join(default), show_default=True, callback=read, help=text)


def field_options(
    owner: type,
    names: str = "",
    *,
    without: str = "",
    kinds: Mapping[str, click.ParamType[Any]] | None = None,
    shown: Callable[[str, Any], str] | None = None,
    **defaults: Any,
) -> Command:
    """An option for each described field of a dataclass; the command gets the values by the fields' names.

    ``names``: only these fields, in this order; if empty, all but ``without`` (both separated by blanks). ``kinds``:
    click types that replace a field's own. ``shown``: gives a default's text in the help. ``defaults``: those that
    differ from the fields'.
    """

    def made(name: str) -> Command:
        option = known[name]
        default = defaults.get(name, option.default)
        texts: dict[str, Any] = {"metavar": option.metavar, "help": option.help}
        if option.kind is bool:
            return click.option(
                f"{option.name}/--no-{option.name[2:]}", name, default=default, show_default=True, **texts
            )
        if option.kind is tuple:
            return click.option(option.name, name, multiple=True, **texts)
        if default is MISSING:
            return click.option(option.name, name, required=True, **texts)
        kind = (kinds or {}).get(name)
        if kind is None:
            kind = click.Choice(option.choices) if option.choices else click.types.convert_type(option.kind)
        show: bool | str = default is not None if shown is None or default is None else shown(name, default)
        return click.option(option.name, name, default=default, type=kind, show_default=show, **texts)

    known = options_of(owner)
    return options(*map(made, names.split() or [name for name in known if name not in without.split()]))
