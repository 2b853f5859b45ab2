import json

import pytest

from record.output import as_json, make_plain_table, read_csv, write_csv, write_latex

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


def test_a_table_is_latex_with_rules_and_nothing_that_latex_would_read(tmp_path):
    table = make_plain_table("Shares in % of a_b:", "scheme", "95 %", "95 %", left=1)
    table.add_row(r"my\[x].py:C", "90 %", "1 & 2")
    text = write_latex(tmp_path / "t.tex", [table], "Seeds 1, 2; links of 10 Mb/s.").read_text()
    lines = [line.strip() for line in text.splitlines()]
    assert r"\caption{Shares in \% of a\_b. Seeds 1, 2; links of 10 Mb/s.}" in lines
    assert r"\begin{tabular}{lrr}" in lines
    assert r"scheme & 95 \% & 95 \% \\" in lines
    assert r"my[x].py:C & 90 \% & 1 \& 2 \\" in lines
    assert [line for line in lines if line.endswith("rule")] == [r"\toprule", r"\midrule", r"\bottomrule"]
