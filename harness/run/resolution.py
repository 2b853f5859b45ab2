"""What ``auto`` comes to: a spec is resolved once, and that is what is run, recorded and compared."""

from __future__ import annotations

import os
from dataclasses import replace

from harness.network.machine import require_datapath
from harness.network.shaping import BUCKET_S, Shape
from harness.run.controller import choose_platform
from harness.run.spec import RunSpec


def resolve(spec: RunSpec) -> RunSpec:
    """The spec without any ``auto``, on this machine and for its traffic.

    Raises UserMistake for traffic that makes no sense, UnfitMachine for what this machine cannot do.
    """
    return on_this_machine(spec).for_its_traffic()


def on_this_machine(spec: RunSpec) -> RunSpec:
    """With what ``auto`` means for time and platform here; what depends on traffic is left."""
    time = time_of(spec)
    if time == "real":
        require_datapath()
    return replace(spec, time=time, platform=choose_platform(spec.platform))


def time_of(spec: RunSpec) -> str:
    """``real`` or ``virtual``."""
    if spec.time == "auto":
        return "real" if os.geteuid() == 0 else "virtual"
    return spec.time


def shape_of(spec: RunSpec) -> Shape:
    """The rate limit and the queue of every port in a run."""
    return Shape(spec.link_mbps, spec.queue, spec.mtu, spec.marks, 0.0 if spec.time == "virtual" else BUCKET_S)
