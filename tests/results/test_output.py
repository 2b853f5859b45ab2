import json
from dataclasses import dataclass

from results.output import Compared, as_json, comparison, wide_console, write_csv


@dataclass(frozen=True)
class Thing:
    name: str
    ours_mbps: float
    paper_mbps: float | None


THINGS = [Thing("a", 1 / 3, 12.5), Thing("b", float("nan"), None)]


def test_csv_has_a_column_per_field(tmp_path):
    assert write_csv(tmp_path / "new" / "things.csv", THINGS).read_text() == (
        "name,ours_mbps,paper_mbps\na,0.333333,12.5\nb,nan,\n"
    )


def test_json_has_an_object_per_row_and_null_for_no_number():
    assert json.loads(as_json(THINGS)) == {
        "rows": [
            {"name": "a", "ours_mbps": 1 / 3, "paper_mbps": 12.5},
            {"name": "b", "ours_mbps": None, "paper_mbps": None},
        ]
    }


def test_paper_against_ours(capsys):
    rows = [Compared("with", 50.0, 55.0, "54 to 56"), Compared("without", None, 1.0)]
    console = wide_console()
    console.print(comparison("In percent", rows, "%"))
    console.print(comparison("In Mb/s", rows, "Mb/s"))
    shown = capsys.readouterr().out
    assert "+5.0 points" in shown
    assert "+10.0 %" in shown
    assert shown.count("no number published") == 2


def test_against_a_published_zero_the_difference_is_a_number(capsys):
    wide_console().print(comparison("Of ten", [Compared("servers", 0.0, 2.5)], "of 10"))
    assert "+2.5" in capsys.readouterr().out
