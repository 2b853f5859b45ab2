"""What commands share: click options, and errors as sentences."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from commands.output import QUIET
from workers.cluster import KEYS, ClusterAddress

Command = Callable[..., Any]

OUT = Path("results/simulated")


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


def _scheduler(context: click.Context, parameter: click.Parameter, address: str | None) -> ClusterAddress | None:
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
        help="Run on the workers of this Dask scheduler, tls://HOST:PORT.",
    ),
    keys_option,
)
output = click.option(
    "--out",
    default=OUT,
    type=click.Path(path_type=Path, file_okay=False),
    show_default=True,
    help="Folder for the picture and CSV.",
)


def _keep_quiet(context: click.Context, parameter: click.Parameter, quiet: bool) -> None:
    context.meta[QUIET] = quiet


quiet_option = click.option(
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_keep_quiet,
    help="No progress on standard error: only warnings, and what went wrong.",
)
parallel = options(
    click.option("--jobs", type=click.IntRange(1), help="Processes (default: one per core)."),
    cluster_options,
    quiet_option,
)

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")


def seeds_option(default: int) -> Command:
    """The option --seeds."""
    return click.option(
        "--seeds",
        default=default,
        type=click.IntRange(1),
        show_default=True,
        help="Number of seeds: 1, 2, and so on.",
    )
