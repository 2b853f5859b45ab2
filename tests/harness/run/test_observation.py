import pytest

from harness.run import observation
from harness.run.observation import compute_idle_share, measure_clock_offset, parse_processor_ticks

STAT = "cpu  100 0 50 800 10 0 40 0 7 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n"


def test_ticks_count_iowait_as_idle_and_guests_once():
    assert parse_processor_ticks(STAT) == (810, 1000)
    assert compute_idle_share((810, 1000), (860, 1100)) == pytest.approx(0.5)


def test_an_interrupted_reading_of_two_clocks_is_not_believed(monkeypatch):
    """Who waits for a processor between two clocks reads them a while apart."""
    now, steps = [50.0], [0.5, 0.5, 0.5, 0.5]

    def go_on():
        now[0] += steps.pop(0) if steps else 1e-6
        return now[0]

    monkeypatch.setattr(observation.time, "time", lambda: 1000.0 + now[0])
    monkeypatch.setattr(observation.time, "monotonic", go_on)
    assert measure_clock_offset() == pytest.approx(1000, abs=1e-5)
