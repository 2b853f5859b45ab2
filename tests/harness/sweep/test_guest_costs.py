"""What guests take of the processors: measured, remembered, told. No guest is real here."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from harness import doctor
from harness.errors import UnfitMachine
from harness.run.spec import RunSpec
from harness.sweep import guest_costs, guest_meter, guests
from harness.sweep.guest_costs import ELSEWHERE, Costs, costs, told
from harness.sweep.guest_meter import Meter, measure, used_s
from results.record import decode
from tests.harness.sweep.run_files import run_json
from virtual import kernel
from virtual.errors import Unavailable
from virtual.guest import Progress

SPEC = RunSpec("ecmp", "stride:4", seconds=10, link_mbps=10.0, time="virtual")
COSTS = Costs(10.0, (1000.0, 2000.0), (1.0, 3.0))


@pytest.fixture
def here(monkeypatch, tmp_path):
    """A cache of one's own, and no kernel."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    costs.cache_clear()
    yield tmp_path / "hedera/virtual/costs.json"
    costs.cache_clear()


@pytest.mark.parametrize(
    ("mbps", "mtu", "k", "second_s"),
    [
        (12.0, 1500, 4, 1.0),  # 1000 packets a second
        (18.0, 1500, 4, 2.0),
        (24.0, 1500, 4, 3.0),
        (240.0, 1500, 4, 30.0),  # beyond what was measured packets alone cost
        (1.2, 1500, 4, 1.0),  # below it, time
        (72.0, 9000, 4, 1.0),
        (12.0, 1500, 8, 8.0),  # eight times as many hosts
    ],
)
def test_a_second_costs_by_packets_and_hosts(mbps, mtu, k, second_s):
    spec = replace(SPEC, link_mbps=mbps, mtu=mtu, k=k)
    assert COSTS.per_second(spec) == pytest.approx(second_s)
    assert COSTS.of_run(spec) == pytest.approx(10 * second_s + 10 * k**3 / 64)


def test_where_nothing_was_measured_another_machine_s_are_told(here):
    assert costs() == ELSEWHERE
    assert not costs().measured
    assert told(costs()) == "0.6 s at 10 Mb/s, 2.6 s at 100 Mb/s, 17 s at 1000 Mb/s"
    assert doctor._guest_costs().ok is None


def publish(verdict="ok"):
    """A guest that takes a second of ours to start, and two for each simulated one that it sends."""

    def run_in_guest(spec, folder, ground, hear):
        for stage, simulated in (
            ("starting", 0.0),
            ("sending", 10.0),
            ("sending", 10.0 + spec.seconds),
            ("done", 14.0),
        ):
            hear(stage, Progress(simulated, 0.0))
        return decode(msgspec.json.encode(run_json(verdict)))

    return run_in_guest


def test_what_was_measured_is_remembered_and_told_by_the_doctor(here, monkeypatch):
    clock = iter(range(0, 100, 2))
    monkeypatch.setattr(guest_meter, "used_s", lambda: float(next(clock)))
    monkeypatch.setattr(guests, "run_in_guest", publish())
    heard = []
    made = measure(None, heard.append)
    assert made.measured
    assert len(heard) == len(made.second_s) == 3
    costs.cache_clear()
    assert costs() == made
    assert doctor._guest_costs().found == told(made)
    monkeypatch.setattr(guest_costs, "_identity", lambda: "another kernel")
    costs.cache_clear()
    assert costs() == ELSEWHERE


def test_an_invalid_run_measures_nothing(here, monkeypatch):
    monkeypatch.setattr(guests, "run_in_guest", publish("invalid"))
    with pytest.raises(UnfitMachine, match="could not be measured: it was too slow"):
        measure(None, print)
    assert not here.exists()


@pytest.mark.parametrize("content", ["", "[]", "{", '{"x": 1}', '{"ID": {"around_s": 1}}', '{"ID": null}'])
def test_what_we_did_not_write_is_not_believed(here, monkeypatch, content):
    monkeypatch.setattr(guest_costs, "_identity", lambda: "ID")
    here.parent.mkdir(mode=0o700, parents=True)
    here.write_text(content)
    assert costs() == ELSEWHERE


def test_a_meter_adds_up_what_each_stage_took(monkeypatch):
    clock = iter([1.0, 2.0, 5.0, 4.0])  # the last: a process has ended, and what it took is gone
    monkeypatch.setattr(guest_meter, "used_s", lambda: next(clock))
    meter = Meter()
    for stage, simulated in (("building", 1.0), ("sending", 2.0), ("sending", 6.0), ("finishing", 6.5)):
        meter(stage, Progress(simulated, 0.0))
    assert meter.core_s == {"building": 1.0, "sending": 4.0, "finishing": 0.0}
    assert meter.simulated_s == {"building": 1.0, "sending": 5.0, "finishing": 0.5}


def test_what_children_and_theirs_take_is_counted():
    before = used_s()
    busy = "import time\nwhile time.process_time() < 0.4: pass\nprint('', flush=True)\ntime.sleep(60)"
    grandchild = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"
    command = [sys.executable, "-c", grandchild]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        process.stdout.readline()
        used = used_s() - before
        os.killpg(process.pid, signal.SIGKILL)
    assert 0.35 < used < 5


def test_the_doctor_knows_the_kernel_of_virtual_time(monkeypatch):
    found = kernel.Kernel(Path("linux"), "7.2", "seccomp", "source", "0" * 64)
    for made, ok, words in (
        (found, True, "Linux 7.2, seccomp mode"),
        (replace(found, mode="ptrace"), None, "Linux 7.2, ptrace mode"),
    ):
        monkeypatch.setattr(kernel, "kernel", lambda say, made=made: made)
        finding = doctor._guest_kernel()
        assert (finding.ok, finding.found) == (ok, words)

    def shut(say):
        raise Unavailable("others can write to it")

    monkeypatch.setattr(kernel, "kernel", shut)
    assert (doctor._guest_kernel().ok, doctor._guest_kernel().fix) == (False, "others can write to it")


def test_what_a_guest_can_be_given_is_not_missing(monkeypatch):
    finding = doctor.Finding("iperf", "missing", "any", False, "apt-get install iperf")
    monkeypatch.setattr(doctor.apt, "available", lambda: None)
    assert doctor._of_guests(finding).ok is None

    def none():
        raise Unavailable("no apt")

    monkeypatch.setattr(doctor.apt, "available", none)
    assert doctor._of_guests(finding) == finding
