"""Figure 11: curves over time."""

from paper import figure_11
from tests.paper.commands import is_png, rows, run, run_json

SHORT = ("-k", 4, "--arrivals", 1, "--jobs", 1)


def test_it_is_a_series_over_time(tmp_path):
    found = run_json(figure_11, *SHORT, "--seeds", 2, "--seconds", 12, "--mean-size", 20, "--out", tmp_path)
    assert len(found) == len(rows(tmp_path / "figure11_k4.csv")) == 5 * 24 * 2
    curve = [row for row in found if (row["scheme"], row["seed"]) == ("nonblocking", 2)]
    assert [row["seconds"] for row in curve[:3]] == [0.25, 0.75, 1.25]
    assert curve[-1]["gbps"] > 0
    assert is_png(tmp_path / "figure11_k4.png")


def test_it_counts_the_flows_of_the_schemes_asked_for(tmp_path):
    asked = ("--seconds", 6, "--mean-size", 2, "--schemes", "hedera-clos,ecmp")
    done = run(figure_11, *SHORT, *asked, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "completed" in done.stdout
    assert {row["scheme"] for row in rows(tmp_path / "figure11_k4.csv")} == {"hedera-clos", "ecmp"}
