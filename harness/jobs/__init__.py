"""Runs carried out: in guests, by the one process that is root, or on a cluster; judged, stored, tried once more."""

from harness.jobs.carry_out import (
    RESULT,
    Carrier,
    Planned,
    UnderWay,
    alone_in,
    carry_out_all,
    make_slug,
    require_writable,
)
from harness.jobs.guests import GuestImage, Guests, Workers, prepare

__all__ = [
    "RESULT",
    "Carrier",
    "GuestImage",
    "Guests",
    "Planned",
    "UnderWay",
    "Workers",
    "alone_in",
    "carry_out_all",
    "make_slug",
    "prepare",
    "require_writable",
]  # fmt: skip
