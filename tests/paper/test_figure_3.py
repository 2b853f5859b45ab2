"""Figure 3: rows, picture and the paper's two numbers."""

from paper import figure_3
from tests.paper.commands import is_png, rows, run_json


def test_its_rows_and_picture(tmp_path):
    found = run_json(figure_3, "-k", 8, "--max-flows", 10, "--seeds", 2, "--jobs", 1, "--out", tmp_path)
    assert {row["model"] for row in rows(tmp_path / "figure3.csv")} == {"worst link", "max-min"}
    assert is_png(tmp_path / "figure3.png")
    assert [row["flows_per_host"] for row in found if row["model"] == "max-min"] == [1, 2, 3, 5, 10]
    assert [row["published_percent"] for row in found[:4]] == [60.8, 60.8, None, None]
    for row in found:
        assert row["lowest_percent"] <= row["loss_percent"] <= row["highest_percent"]
