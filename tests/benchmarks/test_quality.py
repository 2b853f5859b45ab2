from __future__ import annotations

import numpy as np
import pytest

from benchmarks import quality
from hedera.demand import estimate_demands
from traffic.matrix import Matrix
from traffic.patterns import draw


def test_the_best_total_of_a_permutation_is_everything() -> None:
    matrix = draw("published:randbij0", quality.TREE, 1)
    found, bound = quality.best_total(matrix, np.ones(16), seconds=30)
    assert found == pytest.approx(16)
    assert bound == pytest.approx(16)


def test_the_best_total_is_held_by_links() -> None:
    """Three flows of one host at full demand, which no NIC could have: two uplinks carry two of them."""
    matrix = Matrix(np.zeros(3, dtype=int), np.array([4, 8, 12]), 16)
    found, bound = quality.best_total(matrix, np.ones(3), seconds=30)
    assert found == bound == pytest.approx(2)


def test_no_placement_beats_the_best() -> None:
    matrix = draw("published:randx3", quality.TREE, 1)
    demand = estimate_demands(matrix.src, matrix.dst, 16)
    _, bound = quality.best_total(matrix, demand, seconds=30)
    reached = quality.totals(matrix, demand, seed=1)
    assert list(reached) == list(quality.COLUMNS)
    assert all(0.5 * bound < total <= bound * (1 + 1e-6) for total in reached.values())
    assert reached["SA"] > reached["ECMP"]
