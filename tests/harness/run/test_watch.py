import subprocess
import time

import numpy as np
import pytest

from harness.run.watch import ProcessorWatch, idle_share, mean_over, processor_ticks, waited_s

STAT = "cpu  100 0 50 800 10 0 40 0 7 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n"


def test_ticks_count_iowait_as_idle_and_guests_once():
    assert processor_ticks(STAT) == (810, 1000)


def test_idle_share_is_of_the_time_between_two_readings():
    assert idle_share((810, 1000), (860, 1100)) == pytest.approx(0.5)


def test_mean_counts_what_the_window_cuts_by_the_part_inside():
    times = np.array([1.0, 2.0, 3.0, 4.0])
    rates = np.array([10.0, 20.0, 30.0, 40.0])
    assert mean_over(times, rates, (1.0, 3.0)) == pytest.approx(25)
    assert mean_over(times, rates, (0.5, 1.5)) == pytest.approx(15)
    assert mean_over(times, rates, (0.0, 0.25)) == pytest.approx(10)


def test_no_sample_inside_is_no_number():
    assert np.isnan(mean_over(np.array([1.0]), np.array([5.0]), (3.0, 4.0)))
    assert np.isnan(mean_over(np.array([]), np.array([]), (0.0, 1.0)))


def test_a_process_that_sleeps_waits_for_no_processor(monkeypatch):
    monkeypatch.setattr(ProcessorWatch, "period_s", 0.05)
    sleeper = subprocess.Popen(["sleep", "10"])
    try:
        with ProcessorWatch({"sleeper": sleeper.pid}) as watch:
            time.sleep(0.3)
    finally:
        sleeper.kill()
        sleeper.wait()
    assert len(watch.times) == len(watch.idle_percent) == len(watch.waiting_percent["sleeper"]) >= 3
    assert all(0 <= idle <= 100 for idle in watch.idle_percent)
    assert sum(watch.waiting_percent["sleeper"][1:]) < 5
    assert waited_s(sleeper.pid) == 0, "it is gone"
