"""The four schemes that the report compares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scheme:
    """What a scheme switches on. ``mark_kb``: DCTCP's K at switch ports, 0 for none."""

    name: str
    label: str
    dctcp: bool = False
    mark_kb: float = 0.0
    pacer: bool = False
    phantom: bool = False


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("tcp", "TCP, drop tail"),
        Scheme("dctcp-30k", "DCTCP, K = 30 KB", dctcp=True, mark_kb=30.0),
        Scheme("dctcp-6k-pacer", "DCTCP, K = 6 KB, pacer", dctcp=True, mark_kb=6.0, pacer=True),
        Scheme("hull", "HULL: phantom queue, pacer", dctcp=True, pacer=True, phantom=True),
    )
}
"""By name, in the report's order."""


def scheme(name: str) -> Scheme:
    """The scheme of that name; ValueError when there is none."""
    if name not in SCHEMES:
        raise ValueError(f"there is no scheme {name!r}; there are {', '.join(SCHEMES)}")
    return SCHEMES[name]
