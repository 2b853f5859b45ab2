"""What the packet simulator takes, by scheme: processor seconds of one core per simulated second."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row, child
from packets.build import engine
from packets.experiment import Experiment, scenario
from packets.parameters import SCHEMES
from packets.result import parse

SECONDS, REPEATS = 2.0, 3


def rows(whole: bool) -> Iterator[Row]:
    """Every scheme with 8 endless flows, and with dynamic traffic at 60 %; the least of a few runs each. All that was
    simulated counts: static flows settle first, and files are waited for."""
    with tempfile.TemporaryDirectory() as folder:
        asked, result = Path(folder, "scenario.json"), Path(folder, "result")
        for scheme in SCHEMES if whole else ("tcp", "hull"):
            for name, experiment in (
                ("8 endless flows", Experiment(scheme, "static", flows=8, seconds=SECONDS)),
                ("dynamic, 60 %", Experiment(scheme, "dynamic", load=0.6, seconds=SECONDS)),
            ):
                asked.write_text(json.dumps(scenario(experiment, experiment.traffic())), encoding="utf-8")
                used = [child([engine(), asked, result]) for _ in range(REPEATS)]
                simulated_s = float(parse(result.read_bytes())[0]["simulated_s"])
                core_s = min(one.ru_utime + one.ru_stime for one in used)
                yield Row(f"packets, {scheme}, {name}: core seconds per simulated second", core_s / simulated_s, "s")
