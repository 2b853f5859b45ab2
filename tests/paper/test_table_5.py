"""Table 5: annealing is timed."""

from paper import table_5
from tests.paper.commands import run


def test_a_cell_does_all_its_iterations():
    case = next(table_5.compute(seconds=0))
    assert (case["k"], case["flows"], case["iterations"], case["published_ms"]) == (16, 3215, 1000, 2.997)
    assert 0 < case["annealing_ms"] < case["median_ms"]
    assert 0 < case["excess_after"] < case["excess_before"]  # above 0: the search has not ended early


def test_it_takes_no_negative_time():
    assert run(table_5, "--seconds", "-1").exit_code == 2
