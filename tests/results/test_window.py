import numpy as np
import pytest

from results.window import mean_over


def test_mean_counts_what_the_window_cuts_by_the_part_inside():
    times = np.array([1.0, 2.0, 3.0, 4.0])
    rates = np.array([10.0, 20.0, 30.0, 40.0])
    assert mean_over(times, rates, (1.0, 3.0)) == pytest.approx(25)
    assert mean_over(times, rates, (0.5, 1.5)) == pytest.approx(15)
    assert mean_over(times, rates, (0.0, 0.25)) == pytest.approx(10)


def test_no_sample_inside_is_no_number():
    assert np.isnan(mean_over(np.array([1.0]), np.array([5.0]), (3.0, 4.0)))
    assert np.isnan(mean_over(np.array([]), np.array([]), (0.0, 1.0)))
