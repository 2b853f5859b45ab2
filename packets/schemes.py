"""The four schemes that the report compares, and the two variants of HULL that every figure and table has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from packets.parameters import Parameters


@dataclass(frozen=True)
class Scheme:
    """What a scheme switches on. ``mark_kb``: DCTCP's K at switch ports, 0 for none."""

    name: str
    label: str
    colour: str
    dctcp: bool = False
    mark_kb: float = 0.0
    pacer: bool = False
    phantom: bool = False


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("tcp", "TCP, drop tail", "#e69f00"),
        Scheme("dctcp-30k", "DCTCP, K = 30 KB", "#56b4e9", dctcp=True, mark_kb=30.0),
        Scheme("dctcp-6k-pacer", "DCTCP, K = 6 KB, pacer", "#009e73", dctcp=True, mark_kb=6.0, pacer=True),
        Scheme("hull", "HULL: phantom queue, pacer", "#0072b2", dctcp=True, pacer=True, phantom=True),
    )
}
"""By name, in the report's order."""

VARIANTS: dict[str, dict[str, Any]] = {"reproduction": {"sack": False, "pacer_behind": True}, "conforming": {}}
"""By name: the changes to the given parameters. *reproduction*: as in the authors' ns-2, TCP without selective
acknowledgements, and the pacer behind the host's queue. *conforming*: TCP by its RFCs, and the pacer where the report
has it."""


def parameters_of(variant: str, given: Parameters) -> Parameters:
    return replace(given, **VARIANTS[variant])
