"""What ``auto`` comes to: a spec is resolved once, and that is what is run, recorded and compared."""

from __future__ import annotations

from dataclasses import replace

from harness.network.machine import choose_datapath
from harness.run.controller import choose_platform
from harness.run.spec import RunSpec


def resolve(spec: RunSpec) -> RunSpec:
    """The spec without any ``auto``, on this machine and for its traffic.

    Raises UserMistake for traffic that makes no sense, UnfitMachine for what this machine cannot do.
    """
    return on_this_machine(spec).for_its_traffic()


def on_this_machine(spec: RunSpec) -> RunSpec:
    """With what ``auto`` means for the platform and the datapath here; what depends on traffic is left."""
    return replace(spec, platform=choose_platform(spec.platform), datapath=choose_datapath(spec.datapath))
