"""Figure 11: curves over time."""

from paper import figure_11
from tests.paper.commands import is_png, rows, run, run_json


def test_it_is_a_series_over_time(tmp_path):
    found = run_json(
        figure_11,
        "--seeds",
        2,
        "-k",
        4,
        "--seconds",
        12,
        "--arrivals",
        1,
        "--mean-size",
        20,
        "--jobs",
        1,
        "--out",
        tmp_path,
    )
    assert len(found) == len(rows(tmp_path / "figure11_k4.csv")) == 5 * 24 * 2
    curve = [row for row in found if (row["scheme"], row["seed"]) == ("nonblocking", 2)]
    assert [row["seconds"] for row in curve[:3]] == [0.25, 0.75, 1.25]
    assert curve[-1]["gbps"] > 0
    assert is_png(tmp_path / "figure11_k4.png")


def test_in_words_it_counts_the_flows(tmp_path):
    done = run(figure_11, "-k", 4, "--seconds", 6, "--arrivals", 1, "--mean-size", 2, "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("flows completed") == 5


def test_other_schemes_can_be_asked_for(tmp_path):
    found = run_json(
        figure_11, "-k", 4, "--seconds", 6, "--schemes", "hedera-clos,ecmp", "--jobs", 1, "--out", tmp_path
    )
    assert {row["scheme"] for row in found} == {"hedera-clos", "ecmp"}
