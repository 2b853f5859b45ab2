"""HULL as its authors built it, and as we build it: every figure and table has these two variants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from packets.parameters import Parameters

VARIANTS: dict[str, dict[str, Any]] = {
    "reproduction": {"sack": False, "pacer_behind": True},
    "conforming": {},
}
"""By name: the changes to the given parameters. *reproduction*: as in the authors' ns-2, TCP without selective
acknowledgements, and the pacer behind the host's queue. *conforming*: TCP by its RFCs, and the pacer where the report
has it."""


def parameters_of(variant: str, given: Parameters) -> Parameters:
    """The parameters of a variant."""
    return replace(given, **VARIANTS[variant])
