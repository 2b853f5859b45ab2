import numpy as np
import pytest

from tests.refused import refused
from traffic.poisson import Arrivals, size_law


@pytest.mark.parametrize(("name", "mb"), [("web-search", 1.711), ("data-mining", 12.658)])
def test_the_empirical_laws_have_their_published_means(name, mb):
    law = size_law(name)
    assert law.mean_bytes / 1e6 == pytest.approx(mb, abs=0.0005)
    drawn = law.draw(np.random.default_rng(1), 400_000)
    assert drawn.mean() == pytest.approx(law.mean_bytes, rel=0.03)
    assert (drawn == np.rint(drawn)).all()
    assert drawn.min() >= 1


def test_quantiles_are_linear_between_the_points():
    # 53 % of web searches' flows are below 80 kB, 60 % below 200 kB.
    assert size_law("web-search").quantile(np.array([0.0, 0.53, 0.565, 0.6])) == pytest.approx(
        [0, 80_000, 140_000, 200_000]
    )


@pytest.mark.parametrize(("spelling", "mean", "spread"), [("fixed:1500", 1500, 0), ("exponential:1500", 1500, 1500)])
def test_simple_laws(spelling, mean, spread):
    law = size_law(spelling)
    drawn = law.draw(np.random.default_rng(2), 200_000)
    assert law.mean_bytes == mean
    assert drawn.mean() == pytest.approx(mean, rel=0.01)
    assert drawn.std() == pytest.approx(spread, rel=0.01)


def test_sizes_scale_and_stay_whole():
    assert size_law("fixed:1000").draw(np.random.default_rng(0), 3, 0.0101).tolist() == [10, 10, 10]
    assert size_law("fixed:10").draw(np.random.default_rng(0), 2, 0.001).tolist() == [1, 1]


def test_a_law_of_ones_own(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("# mine\nbytes,cumulative_probability\n0,0\n100,0.5\n100,0.5\n300,1\n")
    law = size_law(str(path))
    assert law.mean_bytes == 0.5 * 50 + 0.5 * 200
    assert law.quantile(np.array([0.25, 0.75])).tolist() == [50, 200]


HEADER = "bytes,cumulative_probability\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "its header must be bytes,cumulative_probability"),
        (HEADER + "5,1\n", "two points at least"),
        (HEADER + "0,0\n10,0.5\n", "probabilities go from 0 to 1, not from 0 to 0.5"),
        (HEADER + "0,0\n10,0.5\n5,1\n", "point 3 is below the one before it"),
        (HEADER + "0,0\n10,1.5\n", "'10,1.5' is no size"),
        (HEADER + "0,0\nnan,1\n", "'nan,1' is no size"),
        (HEADER + "0,0\n0,1\n", "all flows would be empty"),
    ],
)
def test_a_file_that_is_no_distribution(tmp_path, content, message):
    path = tmp_path / "own.csv"
    path.write_text(content)
    with refused(message) as error:
        size_law(str(path))
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("web", "there is no law of flow sizes 'web'; it is one of web-search"),
        ("fixed:0", "whole number of bytes from 1"),
        ("fixed:9999999999999999", "to 10"),
    ],
)
def test_laws_that_there_are_not(spelling, message):
    with pytest.raises(ValueError, match=message):
        size_law(spelling)


def test_arrivals_of_one_seed_stay_what_they_are():
    """The later blocks too, whose numbers depend on how many are drawn at a time."""
    *_, last = Arrivals(16, None, size_law("fixed:1000"), 1.0, 1000.0, seed=1).blocks(0.5)
    assert last.src[-3:].tolist() == [3, 2, 6]
    assert last.start_s[-1] == pytest.approx(0.4998582515573067, rel=1e-12)
