import time

import pytest

from harness.run import observation
from harness.run.observation import ClockWatch, ProcessorWatch, clock_offset, idle_share, processor_ticks

STAT = "cpu  100 0 50 800 10 0 40 0 7 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n"


def test_ticks_count_iowait_as_idle_and_guests_once():
    assert processor_ticks(STAT) == (810, 1000)
    assert idle_share((810, 1000), (860, 1100)) == pytest.approx(0.5)


def test_every_second_has_its_idle_share(monkeypatch):
    monkeypatch.setattr(ProcessorWatch, "period_s", 0.05)
    with ProcessorWatch() as processors:
        time.sleep(0.3)
    assert len(processors.times) == len(processors.idle_percent) >= 3
    assert all(0 <= idle <= 100 for idle in processors.idle_percent)


class Clocks:
    """Two clocks that a test sets; the monotonic one goes on by ``step`` with every reading."""

    def __init__(self, monkeypatch, step=1e-6):
        self.epoch, self.now, self.steps = 1000.0, 50.0, [step]
        monkeypatch.setattr(observation.time, "time", lambda: self.epoch + self.now)
        monkeypatch.setattr(observation.time, "monotonic", self._go_on)

    def _go_on(self):
        self.now += self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        return self.now


def test_a_clock_that_is_set_and_set_back_has_been_set(monkeypatch):
    clocks = Clocks(monkeypatch)
    watched = ClockWatch()
    watched.sample()
    assert watched.set_s == pytest.approx(0, abs=1e-5)
    for offset in (1000.004, 980.0, 1000.0):
        clocks.epoch = offset
        watched.sample()
    assert watched.set_s == pytest.approx(-20, abs=1e-5), "the farthest, with its sign"


def test_the_end_of_a_run_is_looked_at_too(monkeypatch):
    clocks = Clocks(monkeypatch)
    with ClockWatch() as watched:
        clocks.epoch += 3
    assert watched.set_s == pytest.approx(3, abs=1e-5)


def test_an_interrupted_reading_of_two_clocks_is_not_believed(monkeypatch):
    """Who waits for a processor between two clocks reads them a while apart."""
    clocks = Clocks(monkeypatch)
    clocks.steps = [0.5, 0.5, 0.5, 0.5, 1e-6]
    assert clock_offset() == pytest.approx(1000, abs=1e-5)


def test_slewing_moves_both_clocks_alike():
    """What the kernel says of them: the monotonic clock is slewed with the other one (clock_gettime(2))."""
    offsets = [clock_offset() for _ in range(100)]
    assert max(offsets) - min(offsets) < 1e-3
