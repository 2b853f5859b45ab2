"""Headline claims against their data, and the numbers of Figure 9."""

import re
import shutil

import pytest
from click import ClickException

from plots.stored_sweep import load_sweep
from record.output import read_csv
from studies import claims
from tests.plots.sweeps import store_rates
from tests.studies.commands import run

CLAIMS = read_csv(claims.PROJECT / claims.TABLE)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim['said']} {claim['value']}")
def test_the_data_says_it(claim):
    assert claims.find_fault(claim) == ""
    assert (claims.PROJECT / "results" / claim["data"]).suffix == ".csv"


@pytest.mark.slow
def test_the_command_lists_each_with_its_data_and_its_command():
    done = run(claims)
    # A page that somebody edits has numbers to read again: `hedera claims` fails then, and names them.
    unread = claims.find_unread(claims.PROJECT, claims.find_unheld(claims.PROJECT, CLAIMS))
    assert done.exit_code == bool(unread)
    assert all(one in done.output for one in unread)
    untold = [
        one for one in CLAIMS for name in ("claim", "value", "said", "data", "command") if one[name] not in done.output
    ]
    assert untold == []


@pytest.fixture
def small(tmp_path):
    """A project of one document and one file of data."""
    (tmp_path / "results").mkdir()
    (tmp_path / "results/data.csv").write_text(
        "scheme,seconds,x,y\na,1,2,4\na,2,3,4\nb,1,4,\nb,2,6,\nc,1,1250,\nd,1,1,\nd,2,2,\nd,3,3,\n"
    )
    (tmp_path / "page.md").write_text("It has 2.5 of\nthem, or 62.5 %, and 1,250 of those; of three -0.48 to 4.48.")
    words = {"claim": "Few", "said": "page.md", "words": "It has 2.5 of them, or 62.5 %", "data": "data.csv"}
    return tmp_path, {**words, "column": "x", "where": "scheme=a", "of": "mean", "over": "", "unit": "", "value": "2.5",
                      "tolerance": "", "command": "hedera"}  # fmt: skip


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({}, ""),
        ({"value": "62.5", "over": "y", "unit": "percent"}, ""),
        ({"where": "scheme=a;seconds>1"}, "says 2.5 where data.csv has 3"),
        ({"of": "max"}, "says 2.5 where data.csv has 3"),
        ({"of": "max", "tolerance": "0.5"}, ""),
        ({"over": "scheme=b", "unit": "less"}, "says 2.5 where data.csv has 50"),
        ({"unit": "below"}, "says 2.5 where data.csv has -2.5"),
        ({"words": "It has 2.6 of them"}, "page.md does not say"),
        ({"words": "or 62.5 %"}, "have no 2.5"),
        ({"words": "1,250 of those", "value": "1250", "where": "scheme=c"}, ""),
        # Student's t of two degrees of freedom is 4.303, so three seeds of 1, 2 and 3 have 2 and 2.48 on either side.
        ({"words": "of three -0.48 to 4.48", "value": "-0.48", "where": "scheme=d", "of": "low"}, ""),
        ({"words": "of three -0.48 to 4.48", "value": "4.48", "where": "scheme=d", "of": "high"}, ""),
        ({"words": "of three -0.48 to 4.48", "value": "4.48", "where": "scheme=d", "of": "mean"}, "has 2"),
    ],
)
def test_what_is_wrong_with_a_claim(small, other, told):
    root, claim = small
    found = claims.find_fault(claim | other, root)
    assert told in found
    assert bool(told) == bool(found)


def test_rows_that_do_not_go_together_are_refused(small):
    root, claim = small
    with pytest.raises(ValueError, match="2 rows with scheme=a, and 1 to divide them by"):
        claims.find_fault(claim | {"over": "scheme=b;seconds>1"}, root)


@pytest.mark.slow
def test_the_section_and_the_picture_are_what_is_kept():
    assert claims.find_unsaid(claims.PROJECT) == []


def test_an_invalid_run_in_virtual_time_has_no_second_try(tmp_path):
    """So nothing is said of tries as if there might have been one; the run is among all, and not among the valid."""
    sweep = store_rates(tmp_path, {("published:stride4", "nonblocking"): 150, ("published:stride4", "ecmp"): None})
    told = claims.compose_section(sweep)
    assert "1 of 2 runs valid" in told
    assert "tried" not in told
    assert "Runs of 30 s and a period of 2 s and links of 10 Mb/s" in told, "neither is the paper's"


@pytest.mark.slow
def test_a_section_of_other_runs_is_found_and_written_again(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "results").mkdir()
    shutil.copytree(claims.PROJECT / "results/tutorial", tmp_path / claims.KEPT)
    (tmp_path / claims.FIGURE).write_text(f"before\n{claims.BEGIN}{claims.END}after\n")
    section = claims.compose_section(load_sweep(tmp_path / claims.KEPT)).splitlines()
    assert len(claims.find_unsaid(tmp_path)) == len(section)
    claims.write_section(tmp_path)
    assert claims.find_unsaid(tmp_path) == []
    assert (tmp_path / claims.FIGURE).read_text().startswith("before\n")
    assert {path.name for path in (tmp_path / "docs").iterdir()} == {"figure9.md", "figure9.png"}


def test_an_installed_one_has_no_claims(monkeypatch, tmp_path):
    monkeypatch.setattr(claims, "PROJECT", tmp_path)
    assert "claims are of a clone of the project" in run(claims).output


DERIVED = {"20", "35", "40"}
"""In README's table: the patterns, and the published gains, which are differences of what stands above them."""


def test_every_number_of_the_readme_s_findings_is_held():
    text = (claims.PROJECT / "README.md").read_text(encoding="utf-8")
    table = text[text.index("| question |") : text.index("![Figure 9")]
    numbers = set(re.findall(r"\d+(?:\.\d+)?", re.sub(r"\(\S+\)|\| question .*", "", table)))
    assert numbers - DERIVED == {claim["value"] for claim in CLAIMS if claim["said"] == "README.md"}


NOT_RESULTS = re.compile(
    r"(?m)^    .*$|`[^`]*`|!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)"  # commands, names, pictures, links
    r"|\d[\d,.]* (?:hosts|seeds|patterns|trials|runs|m?s|kB|[MG]b/s|flows? per host)\b|^\| flows per host \|.*$"
    r"|Figure \d+|emulator \d|95 % intervals|threshold of \d+ %|^\| \d+ % of a link|loads? (?:up to )?0\.\d"
    r"|\d+ of 20\b|99th"
)
"""Of the answers: conditions of an experiment, how it is called, and what the section of Figure 9 holds."""


def test_every_number_of_the_answers_is_held():
    text = NOT_RESULTS.sub(" ", (claims.PROJECT / "docs/answers.md").read_text(encoding="utf-8"))
    held = {claim["value"].lstrip("-") for claim in CLAIMS if claim["said"] == "docs/answers.md"}
    assert set(re.findall(r"\d[\d,]*(?:\.\d+)?", text)) == held


@pytest.mark.parametrize("table", claims.MADE_OF_RUNS)
def test_what_is_beside_runs_is_made_again_from_them(tmp_path, table):
    kept = tmp_path / "results/ports/rate-10"
    shutil.copytree(claims.PROJECT / "results/ports/rate-10", kept)
    assert [*claims.find_unlike_sweeps(tmp_path)] == []
    row = change_number(kept / table)
    assert [*claims.find_unlike_sweeps(tmp_path)] == [f"results/ports/rate-10/{table} is not what its runs give: {row}"]


def change_number(table):
    """Change the last digit of the first row, and return that row."""
    rows = table.read_text().splitlines()
    at = max(place for place, character in enumerate(rows[1]) if character.isdigit())
    rows[1] = rows[1][:at] + str((int(rows[1][at]) + 1) % 10) + rows[1][at + 1 :]
    table.write_text("\n".join(rows) + "\n")
    return rows[1]


def test_tables_of_several_sweeps_are_made_again(tmp_path):
    script = tmp_path / "results/tables.sh"
    script.parent.mkdir()
    script.write_text('#!/bin/bash\nprintf "mbps,n\\n10,1\\n" > "$1/shares.csv"\ntouch "$1/not-kept.csv"\n')
    script.chmod(0o755)
    (tmp_path / "results/shares.csv").write_text("mbps,n\n10,1\n")
    assert [*claims.find_unlike_tables(tmp_path)] == []
    assert change_number(tmp_path / "results/shares.csv") == "10,2"
    assert [*claims.find_unlike_tables(tmp_path)] == ["results/shares.csv is not what its runs give: 10,2"]
    script.write_text("#!/bin/bash\necho no runs >&2\nexit 7\n")
    with pytest.raises(ClickException, match="ended with status 7: no runs"):
        [*claims.find_unlike_tables(tmp_path)]


@pytest.mark.slow
def test_the_tables_that_are_kept_are_what_the_kept_runs_give():
    assert [*claims.find_unlike_sweeps(claims.PROJECT), *claims.find_unlike_tables(claims.PROJECT)] == []
