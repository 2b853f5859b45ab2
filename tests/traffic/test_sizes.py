"""Laws of flow sizes: by name, and from files as others have them."""

import numpy as np
import pytest

from tests.refused import refused
from traffic.sizes import find_file, find_size_law


@pytest.mark.parametrize(
    ("name", "mb"),
    [
        ("web-search", 1.711),
        ("data-mining", 12.658),
        ("facebook-hadoop", 0.1204),
        ("alibaba-storage", 0.0409),
        # The source's 780 points have 0.00289: ours are its powers of two, and lines in 1/bytes between them.
        ("google-rpc", 0.0029),
    ],
)
def test_the_empirical_laws_have_their_published_means(name, mb):
    law = find_size_law(name)
    assert law.mean_bytes / 1e6 == pytest.approx(mb, abs=0.0005)
    drawn = law.draw(np.random.default_rng(1), 400_000)
    assert drawn.mean() == pytest.approx(law.mean_bytes, rel=0.05)
    assert (drawn == np.rint(drawn)).all()
    assert drawn.min() >= 1


def test_quantiles_are_linear_between_the_points():
    # 53 % of web searches' flows are below 80 kB, 60 % below 200 kB.
    assert find_size_law("web-search").quantile(np.array([0.0, 0.53, 0.565, 0.6])) == pytest.approx(
        [0, 80_000, 140_000, 200_000]
    )


@pytest.mark.parametrize(("spelling", "mean", "spread"), [("fixed:1500", 1500, 0), ("exponential:1500", 1500, 1500)])
def test_simple_laws(spelling, mean, spread):
    law = find_size_law(spelling)
    drawn = law.draw(np.random.default_rng(2), 200_000)
    assert law.mean_bytes == mean
    assert drawn.mean() == pytest.approx(mean, rel=0.01)
    assert drawn.std() == pytest.approx(spread, rel=0.01)


def test_sizes_scale_and_stay_whole():
    assert find_size_law("fixed:1000").draw(np.random.default_rng(0), 3, 0.0101).tolist() == [10, 10, 10]
    assert find_size_law("fixed:10").draw(np.random.default_rng(0), 2, 0.001).tolist() == [1, 1]


def test_a_law_of_ones_own(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("# mine\nbytes,cumulative_probability\n0,0\n100,0.5\n100,0.5\n300,1\n")
    law = find_size_law(str(path))
    assert law.mean_bytes == 0.5 * 50 + 0.5 * 200
    assert law.quantile(np.array([0.25, 0.75])).tolist() == [50, 200]


HEADER = "bytes,cumulative_probability\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it is empty"),
        ("# nothing\n", "it is empty"),
        (HEADER + "5,1\n", "two points at least"),
        (HEADER + "0,0\n10,0.5\n", "probabilities go from 0 to 1, not from 0 to 0.5"),
        (HEADER + "0,0\n10,0.5\n5,1\n", "line 4 is below the one before it"),
        (HEADER + "0,0\n10,1.5\n", "not from 0 to 1.5"),
        (HEADER + "0,0\n10,1,1\n", "line 3 has not 2 columns"),
        (HEADER + "0,0\nnan,1\n", "line 3, 'nan,1', is no size"),
        (HEADER + "0,0\n0,1\n", "all flows would be empty"),
        ("sizes\n0 0\n", "'sizes', is no size in bytes and a probability; its lines are bytes,cumulative"),
        ("0 0\n10 60\n", "end at 1, or at 100 where they are percent, not at 60"),
        ("0 0\n10 50\n20\n", "line 3, '20', is no size"),
        ("0 0\n10 50\n20 1 100\n", "line 3 has not 2 columns"),
        ("0 0\n10 nan\n20 100\n", "line 2, '10 nan', is no size"),
        ("0 0\n-10 50\n20 100\n", "line 2, '-10 50', is no size"),
        ("# c\n0 0\n10 50\n20 40\n30 100\n", "line 4 is below the one before it"),
        ("0 0\n10 50\n5 100\n", "line 3 is below the one before it"),
        ("0 0\n1e30 100\n", "are more than a flow may have"),
        ("0 0\n" * 200_000, "more than 100,000 lines"),
    ],
)
def test_a_file_that_is_no_distribution(tmp_path, content, message):
    path = tmp_path / "own.csv"
    path.write_text(content)
    with refused(message) as error:
        find_size_law(str(path))
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
        find_size_law(spelling)


PERCENT = """# bytes and the percentage of flows that are at most so large
0 0
10000 15
20000 20
50000 40
200000 60
1000000 70
5000000 90
30000000 100
"""


@pytest.mark.parametrize(
    "content",
    [
        PERCENT,
        "".join(
            f"{size} {float(share) / 100:g} # so many\n"
            for size, share in (line.split() for line in PERCENT.splitlines()[1:])
        ),
        PERCENT.replace(" ", "\t"),
    ],
    ids=["percent", "fraction", "tabs"],
)
def test_bytes_and_percent_or_fraction_as_the_fields_files_have_them(tmp_path, content):
    """By hand, width of each step times its middle: 750 + 750 + 7,000 + 25,000 + 60,000 + 600,000 + 1,750,000."""
    path = tmp_path / "sizes_percent.txt"
    path.write_text(content)
    law = find_size_law(str(path))
    assert law.mean_bytes == pytest.approx(2_443_500, rel=1e-12)
    assert law.quantile(np.array([0, 0.15, 0.3, 0.8, 0.95])).tolist() == pytest.approx(
        [0, 10_000, 35_000, 3_000_000, 17_500_000]
    )


def test_homas_average_in_the_first_line_and_a_first_share(tmp_path):
    """40 % have exactly 100 bytes, the others 100 to 300: 0.4 x 100 + 0.6 x 200."""
    path = tmp_path / "homa.txt"
    path.write_text("999.9\n100   0.4\n300   1.0000\n")
    law = find_size_law(str(path))
    assert law.mean_bytes == pytest.approx(160)
    assert law.quantile(np.array([0.1, 0.39, 0.7])).tolist() == pytest.approx([100, 100, 200])


def test_pfabrics_three_columns_are_packets_of_1460_bytes(tmp_path):
    """15 % have 6 packets, 5 % 6 to 13, 80 % 13 to 33: 0.9 + 0.475 + 18.4 packets."""
    path = tmp_path / "CDF_search.tcl"
    path.write_text("6 1 0\n6 1 0.15\n13 1 0.2\n33 1 1\n")
    law = find_size_law(str(path))
    assert law.mean_bytes == pytest.approx(1460 * 19.775)
    assert law.quantile(np.array([0.1, 0.6])).tolist() == pytest.approx([1460 * 6, 1460 * 23])


def test_a_file_is_known_by_its_name():
    assert find_file("CDF_search.tcl")
    assert find_file("dir/sizes")
    assert find_file("google-rpc") is None
