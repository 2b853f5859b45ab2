from dataclasses import replace

import pytest

from harness import doctor
from harness.run.spec import RunSpec
from harness.sweep import calibration
from harness.sweep.calibration import MTUS, Probe, calibrate, first_rate, rate, remembered, search, step_below


def machine_that_carries(most, flaky=()):
    """A machine that carries rates up to ``most``, and fails once at each of ``flaky``."""
    failures = list(flaky)

    def try_rate(rate):
        if rate in failures:
            failures.remove(rate)
            return Probe(rate, 0.5)
        return Probe(rate, 0.99 if rate <= most else 0.8)

    return try_rate


@pytest.mark.parametrize("first", [2.0, 10.0, 100.0, 200.0])
def test_the_highest_rate_is_found_from_anywhere(first):
    for most in (rate(step) for step in range(-2, 30)):
        assert search(machine_that_carries(most), first)[0] == most


def test_there_is_no_highest_rate_below_what_nobody_means():
    assert search(machine_that_carries(1e9), 100.0)[0] == 1e6


def test_the_steps_are_the_same_in_every_decade():
    assert [rate(step) for step in range(-3, 9)] == [0.35, 0.5, 0.75, 1, 1.5, 2, 2.5, 3.5, 5, 7.5, 10, 15]
    assert all(rate(step_below(rate(step))) == rate(step) for step in range(-3, 40))
    assert rate(step_below(60)) == 50


def test_one_disturbance_does_not_count():
    assert search(machine_that_carries(25, flaky=(10.0, 20.0)), 10.0)[0] == 25


def test_a_machine_that_carries_nothing():
    best, probes = search(machine_that_carries(0.2), 2.0)
    assert best is None
    assert {probe.bw for probe in probes} == {0.5, 0.75, 1.0, 1.5, 2.0}


@pytest.mark.parametrize(("k", "mbps"), [(4, 100.0), (6, 25.0), (24, 0.5)])
def test_a_larger_network_is_first_tried_at_a_lower_rate(k, mbps):
    assert first_rate(RunSpec("hedera-sa", "stride:4", k=k)) == mbps


def test_larger_packets_are_first_tried_at_a_higher_rate():
    bases = [RunSpec("hedera-sa", "stride:4", mtu=mtu) for mtu in MTUS]
    assert list(map(first_rate, bases)) == [100, 500]


def test_what_was_measured_is_remembered_for_this_machine_and_shown_by_the_doctor(tmp_path, monkeypatch):
    monkeypatch.setattr(calibration, "MEMORY", tmp_path / "calibration.json")
    monkeypatch.setattr(calibration, "probe", lambda base, bw: Probe(bw, 0.99 if bw <= 150 else 0.9))
    base = RunSpec("hedera-sa", "stride:4")
    assert remembered(base) is None
    assert doctor._calibrated(1500).found == "unknown"
    heard = []
    assert calibrate(base, heard.append) == 150
    assert [probe.bw for probe in heard][-2:] == [200, 200]
    assert remembered(base) == 150
    assert remembered(replace(base, k=6)) is None
    assert remembered(replace(base, mtu=9000)) is None
    assert doctor._calibrated(1500).found == "150 Mb/s"
    assert doctor._calibrated(9000).found == "unknown"


def test_a_run_that_would_not_count_is_not_enough():
    assert Probe(10, 0.97).enough
    assert not Probe(10, 0.97, ("port a carried 12 Mb/s",)).enough
