"""Adds to `hedera doctor` what studies need beyond what runs need.

The command is imported from here, so that these rows are registered before it runs, and `harness.doctor` does not have
to know who stands above it.
"""

from __future__ import annotations

from harness.cli.machine import doctor
from harness.doctor import Finding, make_optional, register
from studies.hull import packets

__all__ = ["doctor"]


def ns_3() -> Finding:
    """Whether ns-3, on which `hedera hull` simulates packets, is there in a version that is known."""
    item, needed = "ns-3 (hedera hull)", f"optional, {packets.describe_known_versions()}"
    try:
        return make_optional(item, packets.find_ns3_version(), needed)
    except packets.NotInstalled as missing:
        return make_optional(item, "not ready", needed, str(missing))


register(ns_3)
