"""What the packet simulator's benchmark divides by what."""

import json
import resource
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import packets as benchmark
from packets.schemes import SCHEMES


def test_every_scheme_is_loaded_with_long_flows_and_with_files(tmp_path):
    made = benchmark.loads(tmp_path, 0.1)
    assert len({load.name for load in made}) == 2 * len(SCHEMES)
    for load in made:
        assert json.loads(load.scenario.read_text(encoding="utf-8"))["hosts"][0] == "client"


def test_processor_time_is_divided_by_all_that_was_simulated(tmp_path, monkeypatch):
    """Not by the measured time alone: static flows settle first, and files are waited for."""
    load = benchmark.Load("some", tmp_path / "0.json")
    load.result.write_bytes(json.dumps({"simulated_s": 2.5, "arrays": []}).encode() + b"\n")
    assert load.simulated_s() == 2.5
    monkeypatch.setattr(benchmark, "loads", lambda *_: [load])
    monkeypatch.setattr(benchmark, "engine", lambda: tmp_path)
    monkeypatch.setattr(benchmark, "core_s", lambda *_: 5.0)
    answer = CliRunner().invoke(benchmark.main, [])
    assert answer.exit_code == 0, answer.output
    assert answer.output.split()[-2:] == ["0.50", "2.00"]


@pytest.mark.parametrize("code", [0, 1])
def test_the_least_of_a_few_runs_counts_and_a_failed_one_is_an_error(tmp_path, code):
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nexit {code}\n", encoding="utf-8")
    program.chmod(0o755)
    load = benchmark.Load("some", tmp_path / "0.json")
    if code:
        with pytest.raises(benchmark.subprocess.CalledProcessError):
            benchmark.core_s(program, load)
    else:
        assert 0 <= benchmark.core_s(program, load) < np.inf


def test_a_program_that_takes_no_time_takes_none(tmp_path, monkeypatch):
    """4.94 + 1.84 - 4.94 - 1.84 is less than nothing in floating point."""
    usage = resource.struct_rusage((4.94, 1.84, *[0] * 14))
    monkeypatch.setattr(resource, "getrusage", lambda _: usage)
    program = Path("/bin/true")
    assert benchmark.core_s(program, benchmark.Load("some", tmp_path / "0.json")) == 0
