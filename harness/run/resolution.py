"""What ``auto`` comes to: a spec is resolved once, and that is what is run, recorded and compared."""

from __future__ import annotations

import os
from dataclasses import replace

from harness.network.machine import kernel_datapath, require_datapath, require_root
from harness.network.shaping import BUCKET_S, Shape
from harness.run.controller import choose_platform
from harness.run.spec import RunSpec


def resolve(spec: RunSpec) -> RunSpec:
    """The spec without any ``auto``, on this machine and for its traffic.

    Raises UserMistake for traffic that makes no sense, UnfitMachine for what this machine cannot do.
    """
    return on_this_machine(spec, as_root=spec.time == "real" or os.geteuid() == 0).for_its_traffic()


def on_this_machine(spec: RunSpec, as_root: bool) -> RunSpec:
    """With what ``auto`` means for time and platform here; what depends on traffic is left. ``as_root``: whether a
    process of ours is root, which real time takes."""
    time = spec.time
    if time == "auto":
        time = "real" if as_root and kernel_datapath() else "virtual"
    elif time == "real":
        if not as_root:
            require_root()
        require_datapath()
    return replace(spec, time=time, platform=choose_platform(spec.platform))


def shape_of(spec: RunSpec) -> Shape:
    """The rate limit and the queue of every port in a run."""
    return Shape(spec.link_mbps, spec.queue, spec.mtu, spec.marks, 0.0 if spec.time == "virtual" else BUCKET_S)
