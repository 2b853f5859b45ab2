"""What commands share: click options, those of an experiment's fields too, what a shell completes of their values, and
errors as sentences."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from hedera.hashes import HASH_SPELLING, HASHES
from record.errors import UserMistake
from record.progress import quiet_option
from record.spec import list_options

Command = Callable[..., Any]
Completing = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
"""Gives the values of an option that begin as what is typed."""

OUT = Path("results/runs/paper")


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
    nearest = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not os.access(nearest, os.W_OK) or (nearest != path and not nearest.is_dir()):
        raise click.UsageError(f"{path} cannot be written: {nearest} is no folder that you may write to")
    return path


# --- values that a shell completes ------------------------------------------------------------------------------------


def _list_schemes() -> Iterable[str]:
    from hedera.schemes import SCHEMES

    return SCHEMES


def _list_traffic() -> Iterable[str]:
    """Names of patterns up to their parameters, and all published ones."""
    from traffic.patterns import PUBLISHED, REPLICATION
    from traffic.workload import SPELLINGS

    for spelling in SPELLINGS:
        name, colon, parameters = spelling.partition(":")
        if name in ("published", "replication"):
            yield from (f"{name}:{each}" for each in (PUBLISHED if name == "published" else REPLICATION))
        elif name.replace("-", "").isalpha():
            yield name + colon if parameters else name


def complete_names(names: Callable[[], Iterable[str]], several: bool = False) -> Completing:
    """Completes one of these names. ``several``: names separated by commas, each once. A file's name is completed as a
    file."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, _, last = incomplete.rpartition(",") if several else ("", "", incomplete)
        taken = before.split(",") if before else []
        matching = [name for name in names() if name.startswith(last) and name not in taken]
        if matching or ("/" not in last and not last.startswith(".")):
            return [CompletionItem(",".join([*taken, name])) for name in matching]
        return [CompletionItem(last, type="file")]

    return complete


COMPLETED_FIELDS = {"scheme": complete_names(_list_schemes), "traffic": complete_names(_list_traffic)}
"""What completes an option that is made of such a field."""
complete_schemes = complete_names(_list_schemes, several=True)
complete_patterns = complete_names(_list_traffic, several=True)


# --- options of several commands --------------------------------------------------------------------------------------

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


parallel = options(
    click.option("--jobs", type=click.IntRange(1), help="Processes (default: one per core)."),
    cluster_option,
    quiet_option,
)

# --- pictures ---------------------------------------------------------------------------------------------------------

FORMATS = ("png", "svg", "pdf")
LATEX = "tex"
"""The format of tables that ``--format`` takes beside those of pictures."""
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
"""Units of a width; a point is TeX's, as \\the\\columnwidth tells it."""
_WIDTHS_IN = (2.0, 24.0)


@dataclass(frozen=True)
class Pictures:
    """How pictures are wanted: in which ``formats`` (none: each command's own), and how wide in inches (None: as wide
    as they are on a screen); and whether tables are wanted as LaTeX, too."""

    formats: tuple[str, ...] = ()
    width_in: float | None = None
    latex: bool = False

    @property
    def asked(self) -> bool:
        return bool(self.formats) or self.width_in is not None


_AS_ON_SCREEN = Pictures()
_PICTURES: ContextVar[Pictures] = ContextVar("pictures", default=_AS_ON_SCREEN)


def get_pictures() -> Pictures:
    """How the present command's pictures are wanted."""
    return _PICTURES.get()


@contextmanager
def drawing(wanted: Pictures) -> Iterator[None]:
    """Pictures are drawn so while the block runs."""
    token = _PICTURES.set(wanted)
    try:
        yield
    finally:
        _PICTURES.reset(token)


def parse_inches(width: str | float) -> float:
    """A width in inches: of a number, which is in inches already, or of ``3.3in``, ``84mm``, ``8.4cm``, ``240pt``."""
    text = str(width).strip()
    unit = next((unit for unit in _INCHES if text.endswith(unit)), "")
    try:
        value = float(text.removesuffix(unit)) * _INCHES.get(unit, 1.0)
    except ValueError:
        value = 0.0
    low, high = _WIDTHS_IN
    if not low <= value <= high:
        raise UserMistake(f"a width is a length from {low:g} to {high:g} inches, as 3.3in, 84mm or 240pt; not {text!r}")
    return value


def _parse_formats(text: str) -> dict[str, Any]:
    names = tuple(dict.fromkeys(name.strip().lower().lstrip(".") for name in text.split(",")))
    if wrong := [name for name in names if name not in (*FORMATS, LATEX)]:
        raise UserMistake(
            f"a format is one of {', '.join(FORMATS)} for pictures and {LATEX} for tables, separated by commas; not "
            f"{wrong[0]!r}"
        )
    return {"formats": tuple(name for name in names if name != LATEX), "latex": LATEX in names}


def _picture_option(name: str, metavar: str, text: str, read: Callable[[str], dict[str, Any]]) -> Command:
    def settle(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
        if value is not None:
            context.with_resource(drawing(replace(get_pictures(), **read(value))))

    return click.option(name, metavar=metavar, expose_value=False, callback=settle, help=text)


picture_options = options(
    _picture_option(
        "--format",
        "LIST",
        "Of pictures: pdf, svg and png; tex: tables as LaTeX (booktabs). Separated by commas.",
        _parse_formats,
    ),
    _picture_option(
        "--width",
        "LENGTH",
        "Of pictures, for a printed page: 3.3in (a column), 7in (both), 84mm, 240pt. Text has 8 points, and "
        "hatches and dashes tell what colours tell.",
        lambda text: {"width_in": parse_inches(text)},
    ),
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

    complete = complete_schemes if option == "--schemes" else None
    return click.option(
        option, default=",".join(default), show_default=True, callback=read, help=text, shell_complete=complete
    )


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
            return click.option(option.name, name, required=True, shell_complete=COMPLETED_FIELDS.get(name), **texts)
        kind = (kinds or {}).get(name)
        if kind is None:
            kind = click.Choice(option.choices) if option.choices else click.types.convert_type(option.kind)
        show: bool | str = default is not None if shown is None or default is None else shown(name, default)
        texts["shell_complete"] = COMPLETED_FIELDS.get(name)
        return click.option(option.name, name, default=default, type=kind, show_default=show, **texts)

    known = list_options(owner)
    return options(*map(made, names.split() or [name for name in known if name not in without.split()]))
