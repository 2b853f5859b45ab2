"""HULL as its authors built it, and as we do: the two settings that every figure and table is made with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from packets.parameters import Parameters

VARIANTS: dict[str, dict[str, Any]] = {
    "reproduction": {"sack": False, "pacer_behind": True},
    "conforming": {},
}
"""By name: what is other than the parameters as they are given. *reproduction*: what the authors' ns-2 did, TCP
without selective acknowledgements and the pacer behind the host's queue. *conforming*: TCP as its RFCs have it, and
the pacer where the report describes it."""


def parameters_of(variant: str, given: Parameters) -> Parameters:
    """The parameters of a variant."""
    return replace(given, **VARIANTS[variant])
