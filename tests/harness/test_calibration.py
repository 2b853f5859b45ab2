import pytest

from harness.calibration import RATES, Probe, search


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
@pytest.mark.parametrize("most", RATES)
def test_the_highest_rate_is_found_from_anywhere(first, most):
    assert search(machine_that_carries(most), first)[0] == most


def test_one_disturbance_does_not_count():
    assert search(machine_that_carries(25, flaky=(10.0, 20.0)), 10.0)[0] == 25


def test_a_machine_that_carries_nothing():
    best, probes = search(machine_that_carries(1), 5.0)
    assert best is None
    assert {probe.bw for probe in probes} == {2.0, 3.0, 5.0}
