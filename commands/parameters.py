"""Command-line options from the fields of an experiment (`hedera.parameter`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import lru_cache
from typing import Any, get_args, get_origin, get_type_hints

import click

from commands.options import Command, options
from hedera.parameter import Parameter, option_of, parameters_of


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
    known = parameters_of(owner)
    chosen = names.split() or [name for name in known if name not in without.split()]
    kinds, fallback = kinds or {}, {each.name: each.default for each in fields(owner)}
    return options(
        *(_option(owner, name, defaults.get(name, fallback[name]), kinds.get(name), shown) for name in chosen)
    )


def _option(
    owner: type,
    name: str,
    default: Any,
    kind: click.ParamType[Any] | None,
    shown: Callable[[str, Any], str] | None,
) -> Command:
    known = parameters_of(owner)[name]
    option, text = option_of(name, known), help_of(known)
    hint = _hints(owner)[name]
    if hint is bool:
        return click.option(f"{option}/--no-{option[2:]}", name, default=default, help=text, show_default=True)
    if get_origin(hint) is tuple:
        return click.option(option, name, multiple=True, metavar=known.metavar, help=text)
    if default is MISSING:
        return click.option(option, name, required=True, metavar=known.metavar, help=text)
    if kind is None:
        plain = next((one for one in get_args(hint) if one is not type(None)), hint)
        kind = click.Choice(known.choices) if known.choices else click.types.convert_type(plain)
    show: bool | str = default is not None if shown is None or default is None else shown(name, default)
    return click.option(option, name, default=default, type=kind, metavar=known.metavar, help=text, show_default=show)


def help_of(known: Parameter) -> str:
    """The help of a field, with its unit."""
    return f"{known.help}, {known.unit}." if known.unit else known.help


@lru_cache
def _hints(owner: type) -> dict[str, Any]:
    return get_type_hints(owner)


def option_table(*backends: tuple[str, type]) -> str:
    """A table in Markdown of every option of experiments: meaning, allowed values, and default by backend.

    ``backends``: name and dataclass of each, in the order of the columns.
    """
    described = []
    for title, owner in backends:
        described.append((title, parameters_of(owner), {each.name: each.default for each in fields(owner)}))
    names = list(dict.fromkeys(name for _, known, _ in described for name in known))
    lines = [
        f"| option | meaning | may be | {' | '.join(title for title, _ in backends)} |",
        "| --- | --- | --- |" + " --- |" * len(backends),
    ]
    for name in names:
        having = [known[name] for _, known, _ in described if name in known]
        allowed = dict.fromkeys(one.allowed for one in having if _numeric_or_choice(one))
        cells = [_default(default[name]) if name in known else "" for _, known, default in described]
        lines.append(
            f"| `{option_of(name, having[0])}` | {help_of(having[0])} | {'; '.join(allowed)} | {' | '.join(cells)} |"
        )
    return "\n".join(lines) + "\n"


def _numeric_or_choice(known: Parameter) -> bool:
    limits = (known.least, known.above, known.most, known.below)
    return bool(known.choices) or any(limit is not None for limit in limits)


def _default(value: Any) -> str:
    if value is MISSING:
        return "needed"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == () else f"{value:g}" if isinstance(value, float) else str(value)
