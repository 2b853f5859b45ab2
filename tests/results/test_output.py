import json

from results.output import as_json, write_csv

THINGS = [
    {"name": "a", "ours_mbps": 1 / 3, "paper_mbps": 12.5},
    {"name": "b", "ours_mbps": float("nan"), "paper_mbps": None},
]


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
