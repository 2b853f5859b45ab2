from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedera.maxmin import max_min_rates
from tests.hedera.reference import plain_max_min


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True), max_size=15),
    st.lists(st.integers(0, 8), min_size=6, max_size=6),
)
def test_agrees_with_fractions(paths: list[list[int]], capacity: list[int]) -> None:
    links = np.full((len(paths), 4), -1, dtype=np.int32)
    for flow, path in enumerate(paths):
        links[flow, 4 - len(path) :] = path
    exact = plain_max_min(paths, [Fraction(c) for c in capacity])
    assert max_min_rates(links, capacity) == pytest.approx([float(r) for r in exact], abs=1e-9)


def test_a_flow_without_links_has_no_limit() -> None:
    assert max_min_rates([[-1, -1], [0, -1]], [2.0]).tolist() == [np.inf, 2.0]


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="shape"):
        max_min_rates([0, 1], [1.0, 1.0])
    with pytest.raises(ValueError, match="not negative"):
        max_min_rates([[0]], [-1.0])
    with pytest.raises(IndexError, match="not one of the 1 links"):
        max_min_rates([[1]], [1.0])
