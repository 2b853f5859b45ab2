import pytest

from traffic.poisson import Arrivals
from traffic.sizes import find_size_law


def test_arrivals_of_one_seed_stay_what_they_are():
    """The later blocks too, whose numbers depend on how many are drawn at a time."""
    *_, last = Arrivals(16, None, find_size_law("fixed:1000"), 1.0, 1000.0, seed=1).blocks(0.5)
    assert last.src[-3:].tolist() == [3, 2, 6]
    assert last.start_s[-1] == pytest.approx(0.4998582515573067, rel=1e-12)
