"""The benchmark of virtual time: what it counts, and what it says of a run."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from benchmarks import virtual
from harness.run.experiment import failed_run
from harness.run.spec import RunSpec
from harness.sweep import guest_meter
from virtual.guest import Progress


def test_processor_time_is_that_of_all_processes_below():
    burn = "import time\nwhile time.process_time() < 0.4: pass\n"
    ended = f"import subprocess, sys, time; subprocess.run([sys.executable, '-c', {burn!r}]); print(1, flush=True)"
    before = guest_meter.used_s()
    with subprocess.Popen([sys.executable, "-c", f"{ended}; time.sleep(60)"], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        used = guest_meter.used_s() - before
        process.kill()
    assert 0.35 < used < 5


def test_each_stage_has_its_own_seconds(monkeypatch):
    used = iter([1.0, 4.0, 9.0, 10.0])
    monkeypatch.setattr(guest_meter, "used_s", lambda: next(used))
    meter = guest_meter.Meter()
    for stage, simulated in (("building", 11.0), ("sending", 12.0), ("sending", 22.0), ("finishing", 22.5)):
        meter(stage, Progress(simulated, 0.0))
    assert meter.core_s == {"building": 1.0, "sending": 8.0, "finishing": 1.0}
    assert meter.simulated_s == {"building": 11.0, "sending": 11.0, "finishing": 0.5}


@pytest.mark.parametrize("target", [2.0, None])
def test_a_row_compares_with_the_prototype_and_what_is_aimed_at(target):
    meter = guest_meter.Meter()
    meter.core_s = {"starting": 1.0, "building": 2.5, "sending": 30.0, "finishing": 4.0}
    meter.simulated_s = {"sending": 10.0}
    spec = RunSpec("ecmp", "stride:4", time="virtual").for_its_traffic()
    told = virtual.row(virtual.Case(10, 1500, "ecmp", 6.0, target), meter, failed_run(spec, "it broke off"))
    assert told[6:9] == ["3.00", "0.50", "1.50" if target else ""]
    assert told[9:] == ["3.5", "3", "4.0", "none", "invalid"]


def test_a_case_that_is_none_is_refused_and_names_are_told_apart():
    assert len({case.name for case in virtual.CASES}) == len(virtual.CASES)
    done = CliRunner().invoke(virtual.main, ["k4-10-1500-none"])
    assert done.exit_code == 2
    assert "no case k4-10-1500-none: k4-10-1500-nonblocking" in done.output
