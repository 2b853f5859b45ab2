"""A parameter of an experiment, described once, at its field.

A field of a frozen dataclass has its meaning, unit, range or choices, and default. Made from these: the command
line's options (`hedera.options`), the check of a value and its error message, the controller's flags, and the
table of docs/options.md.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

_SUFFIXES = ("_s", "_us", "_ms", "_kb", "_mbps")
"""Units at the end of fields' names; options leave them out."""


@dataclass(frozen=True)
class Parameter:
    """The description of a field, besides its type and default.

    ``help``: a sentence for the command line, without the unit. ``unit``: as written after a number. A number is at
    least ``least`` or greater than ``above``, and at most ``most`` or less than ``below``; never infinite. A word is
    one of ``choices``. ``option``: the option's name (default: from the field's name). ``metavar``: the placeholder
    for the value in the help. ``controller``: whether it is passed to the controller.
    """

    help: str = ""
    unit: str = ""
    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    option: str = ""
    metavar: str | None = None
    controller: bool = False

    def holds(self, value: Any) -> bool:
        """Whether the value is within the range, or one of the choices. None is always possible."""
        if value is None:
            return True
        if self.choices:
            return value in self.choices
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return True
        return abs(value) < math.inf and all(within(value, bound) for _, within, bound in self._bounds())

    @property
    def allowed(self) -> str:
        """The allowed values as text: ``at least 3 and at most 86400 s``; empty if anything is allowed."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        text = " and ".join(f"{words} {_number(bound)}" for words, _, bound in self._bounds())
        return f"{text} {self.unit}" if text and self.unit else text

    def _bounds(self) -> list[tuple[str, Callable[[float, float], bool], float]]:
        found = (
            ("at least", operator.ge, self.least),
            ("above", operator.gt, self.above),
            ("at most", operator.le, self.most),
            ("below", operator.lt, self.below),
        )
        return [(words, within, bound) for words, within, bound in found if bound is not None]


def parameter(default: Any, help: str = "", **known: Any) -> Any:
    """A dataclass field with its description (`Parameter`)."""
    return field(default=default, metadata={"parameter": Parameter(help, **known)})


def narrowed(owner: type, name: str, default: Any, **changes: Any) -> Any:
    """The field ``name`` of another dataclass with a default of its own, and a range that may be narrower."""
    known = replace(parameters_of(owner)[name], **changes)
    return field(default=default, metadata={"parameter": known})


def parameters_of(owner: type) -> dict[str, Parameter]:
    return {each.name: each.metadata["parameter"] for each in fields(owner) if "parameter" in each.metadata}


def option_of(name: str, known: Parameter | None = None) -> str:
    """The option of a field: ``link_delay_us`` is ``--link-delay``, unless it has one of its own."""
    if known is not None and known.option:
        return known.option
    suffix = next((one for one in _SUFFIXES if name.endswith(one)), "")
    return "--" + name.removesuffix(suffix).replace("_", "-")


def check(instance: Any) -> None:
    """ValueError, one sentence, for the first value that is out of its range or not among its choices."""
    for name, known in parameters_of(type(instance)).items():
        value = getattr(instance, name)
        if not known.holds(value):
            raise ValueError(f"{option_of(name, known)} must be {known.allowed}, not {_number(value)}")


def _number(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else repr(value)
