"""Figure 3: rows, picture and the paper's two numbers."""

from paper import figure_3
from tests.paper.commands import is_png, rows, run, run_json

OPTIONS = ("-k", 8, "--max-flows", 10, "--seeds", 2, "--jobs", 1)


def test_it_writes_picture_csv_and_comparison(tmp_path):
    done = run(figure_3, *OPTIONS, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    found = rows(tmp_path / "figure3.csv")
    assert {row["model"] for row in found} == {"worst link", "max-min"}
    assert is_png(tmp_path / "figure3.png")
    assert "60.8" in done.stdout


def test_its_rows_as_json(tmp_path):
    found = run_json(figure_3, *OPTIONS, "--out", tmp_path)
    assert [row["flows_per_host"] for row in found if row["model"] == "max-min"] == [1, 2, 3, 5, 10]
    assert [row["published_percent"] for row in found[:4]] == [60.8, 60.8, None, None]
    for row in found:
        assert row["lowest_percent"] <= row["loss_percent"] <= row["highest_percent"]
