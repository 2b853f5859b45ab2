"""Numbers with units on the command line: 100us, 1.5KB, 950Mb/s."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS = {
    "us": {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6},
    "ms": {"us": 1e-3, "ms": 1.0, "s": 1e3},
    "kb": {"B": 1e-3, "KB": 1.0, "kB": 1.0, "MB": 1e3},
    "mbps": {"Kb/s": 1e-3, "Mb/s": 1.0, "Gb/s": 1e3},
}
"""By the suffix of a field's name: the units that may be given, as multiples of the field's own."""

_WRITTEN = {"us": "us", "ms": "ms", "kb": "KB", "mbps": "Mb/s"}


class Quantity(click.ParamType[float | None]):
    """A number in the unit of a field (``link_delay_us``: us), or with a unit behind it."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self.name = _WRITTEN[unit].lower()

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float | None:
        """The number, in the field's unit."""
        if value is None or isinstance(value, int | float):
            return value
        match = re.fullmatch(r"\s*([0-9.eE+-]+)\s*([A-Za-z/]*)\s*", value)
        factor = _UNITS[self._unit].get(match[2] or _WRITTEN[self._unit]) if match else None
        try:
            number = float(match[1]) if match else None
        except ValueError:
            number = None
        if factor is None or number is None:
            units = ", ".join(_UNITS[self._unit])
            self.fail(f"{value!r} is not a number with one of the units {units}", parameter, context)
        return number * factor


def unit_of(field: str) -> str | None:
    """The suffix of a field's name, when it is a unit."""
    suffix = field.rpartition("_")[2]
    return suffix if suffix in _UNITS else None


def written(value: float, field: str) -> str:
    """A value with its unit, as the option takes it."""
    unit = unit_of(field)
    return f"{value:g}{_WRITTEN[unit] if unit else ''}"
