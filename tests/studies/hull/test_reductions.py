"""How much less HULL has: paired by seed, with Student's interval, beside the published; and of times alone."""

from dataclasses import replace

import numpy as np
import pytest

from studies.hull.suites import reductions
from tests.studies.hull.test_run import result


def seeds(*milliseconds):
    """A result for each seed, of queries that all take as long."""
    return [result(query_ms=np.full(3, each)) for each in milliseconds]


FOUND = {
    ("reproduction", background, scheme): seeds(*took_ms)
    for background, scheme, *took_ms in (
        (0, "tcp", 10, 10, 10), (0, "hull", 10, 10, 10), (400, "tcp", 20, 40, 10), (400, "hull", 10, 20, 5),
        (600, "tcp", 100, 50, 10), (600, "hull", 30, 20, 5),
    )
}  # fmt: skip


def made(found, metric="query_completion_ms"):
    return {(row["x"], row["than"]): row for row in reductions("figure4", "x", found, metric, "p99")}


def test_a_reduction_is_paired_by_seed():
    rows = made(FOUND)
    assert list(rows) == [(0, "tcp"), (400, "tcp"), (600, "tcp"), (None, "tcp")]
    half = rows[400, "tcp"]
    assert [half[name] for name in ("percent", "low", "high", "seeds", "by_seed")] == [50, 50, 50, 3, "50 50 50"]
    assert half["published"] == pytest.approx(100 * (1 - 30.8 / 34.4), abs=0.3)
    other = rows[600, "tcp"]  # 70, 60 and 50 %: t of 2 degrees is 4.303, and 10 / sqrt(3) the error
    assert other["percent"] == pytest.approx(60)
    assert (other["low"], other["high"]) == pytest.approx((60 - 24.84, 60 + 24.84), abs=0.01)


def test_the_mean_is_of_the_loads_above_0_and_two_seeds_have_no_interval():
    mean = made(FOUND)[None, "tcp"]
    assert mean["percent"] == pytest.approx(55)
    # by seed 60, 55 and 50 %
    assert (mean["low"], mean["high"]) == pytest.approx((55 - 12.42, 55 + 12.42), abs=0.01)
    two = made({case: results[:2] for case, results in FOUND.items()})[600, "tcp"]
    assert (two["low"], two["high"]) == (None, None)


def test_what_is_no_time_and_what_is_0_has_none():
    assert made(FOUND, "servers_in_time") == {}
    still = {case: [replace(each, queue_us=np.zeros(4)) for each in results] for case, results in FOUND.items()}
    assert made(still, "switch_latency_us") == {}
