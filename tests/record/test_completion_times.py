import numpy as np
import pytest

from record.completion_times import CLASSES, summarise_by_class


def test_classes_and_statistics():
    size = np.array([1.0, 100_000, 100_001, 9_999_999, 10_000_000, 3e7])
    seconds = np.array([1.0, 3, 2, 4, 10, 20])
    found = summarise_by_class(size, seconds, np.full(6, 2.0), np.ones(6, dtype=bool))
    assert tuple(one.size_class for one in found) == tuple(CLASSES)
    assert [one.flows for one in found] == [6, 2, 2, 2]
    every, small, medium, large = found
    assert (small.mean_s, small.median_s) == (2.0, 2.0)
    assert small.mean_slowdown == (1 + 1.5) / 2, "no flow is faster than alone"
    assert (medium.mean_slowdown, large.mean_slowdown) == (1.5, 7.5)
    assert every.p99_s == pytest.approx(np.percentile(seconds, 99))
    assert {(one.cut_off, one.known_share) for one in found} == {(0, 1.0)}


def test_flows_cut_off_count_with_their_bound_and_say_what_is_known():
    seconds = np.arange(1.0, 101.0)
    ended = np.ones(100, dtype=bool)
    ended[[89, 95]] = False
    (every, *_) = summarise_by_class(np.ones(100), seconds, np.ones(100), ended)
    assert (every.flows, every.cut_off) == (100, 2)
    assert every.known_share == pytest.approx(0.89)
    assert every.mean_s == seconds.mean()
    # Whatever the two turn out to be, percentiles below the share stay and the others can only grow.
    seconds[[89, 95]] = 1000.0
    (later, *_) = summarise_by_class(np.ones(100), seconds, np.ones(100), np.ones(100, dtype=bool))
    assert later.median_s == every.median_s
    assert later.p95_s > every.p95_s
    assert later.mean_s > every.mean_s


def test_a_class_without_flows_has_no_statistics():
    large = summarise_by_class(np.ones(2), np.ones(2), np.ones(2), np.ones(2, dtype=bool))[-1]
    assert (large.flows, large.mean_s, large.p99_slowdown) == (0, None, None)
