"""One run carried out, judged, and published whole."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from harness.errors import RunFailed
from harness.judge.result import describe
from harness.network.footprint import sole_use
from harness.network.machine import choose_datapath, machine, require_root, require_tools
from harness.run.controller import choose_platform
from harness.run.emulation import Emulation, Say
from harness.run.spec import RunSpec
from harness.sweep.store import RESULT, new_run, write_json

SCHEMA = 1
"""Version of run.json."""


def run_experiment(spec: RunSpec, folder: Path, say: Say = lambda stage: None) -> dict[str, Any]:
    """Carry out a run and publish its result in ``folder``; returns the result (see docs/results.md).

    A run that fails on the way is published too, as invalid, with the reason. Raises UserMistake or
    UnfitMachine before anything is built, RunFailed when the machine or ``folder`` is taken.
    """
    require_root()
    require_tools()
    # A mistake of the user comes to light before the machine is taken.
    spec.matrix()
    choose_datapath(spec.datapath)
    choose_platform(spec.platform)
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with sole_use(), new_run(folder) as raw:
        clock = time.monotonic()
        emulation = Emulation(spec, raw, say)
        try:
            emulation.carry_out()
            measured = describe(spec, emulation.datapath, emulation.seen)
        except RunFailed as failure:
            measured = {"bisection_mbps": None, "verdict": "invalid", "reasons": [str(failure)], "flows": []}
        timing = emulation.timing
        timing["total_s"] = time.monotonic() - clock
        timing["overhead_s"] = timing["total_s"] - min(spec.seconds, timing.get("traffic_s", 0.0))
        result = {
            "schema": SCHEMA,
            "scheme": spec.scheme,
            "traffic": spec.traffic,
            "trial": spec.trial,
            "seed": spec.seed,
            "started": started,
            "capacity_mbps": spec.capacity_mbps,
            "window_s": list(spec.window),
            "spec": {
                **spec.as_json(),
                "platform": emulation.platform,
                "datapath": emulation.datapath,
            },
            "matrix": [
                [int(s), int(d)] for s, d in zip(emulation.matrix.src, emulation.matrix.dst, strict=True)
            ],
            **measured,
            "timing": {name: round(value, 3) for name, value in timing.items()},
            "environment": {**machine().as_json(), **emulation.environment},
        }
        write_json(raw / RESULT, result)
    return result
