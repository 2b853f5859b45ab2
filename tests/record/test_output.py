import json

import pytest

from record.output import as_json, read_csv, write_csv

THINGS = [
    {"name": "a", "ours_mbps": 1 / 3, "paper_mbps": 12.5},
    {"name": "b", "ours_mbps": float("nan"), "paper_mbps": None},
]


def test_csv_has_a_column_per_field(tmp_path):
    assert write_csv(tmp_path / "new" / "things.csv", THINGS).read_text() == (
        "name,ours_mbps,paper_mbps\na,0.333333,12.5\nb,nan,\n"
    )


@pytest.mark.parametrize("content", [b"a" * 131_073, b"\xff"])
def test_what_is_no_csv_is_one_sentence(tmp_path, content):
    (tmp_path / "rows.csv").write_bytes(content)
    with pytest.raises(ValueError, match=r"rows\.csv cannot be read"):
        read_csv(tmp_path / "rows.csv")


def test_json_has_an_object_per_row_and_null_for_no_number():
    assert json.loads(as_json(THINGS)) == {
        "rows": [
            {"name": "a", "ours_mbps": 1 / 3, "paper_mbps": 12.5},
            {"name": "b", "ours_mbps": None, "paper_mbps": None},
        ]
    }
