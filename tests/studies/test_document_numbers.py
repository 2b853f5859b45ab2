"""Numbers of the documents: each that changes is noticed, and claims are found for those that have data."""

import random
import shutil
from pathlib import Path

import pytest

from record.output import read_csv, write_csv
from studies import claims, document_numbers
from tests.studies.commands import run

CLAIMS = read_csv(claims.PROJECT / claims.TABLE)


@pytest.fixture
def documents(tmp_path):
    """This project's documents, data and claims in a folder of their own, its numbers read."""
    for page in document_numbers.list_pages(claims.PROJECT):
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(claims.PROJECT / page, tmp_path / page)
    for name in {claim["data"] for claim in CLAIMS}:
        (tmp_path / "results" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "results" / name).symlink_to(claims.PROJECT / "results" / name)
    claims.take_as_read(tmp_path, claims.find_unheld(tmp_path, CLAIMS))
    assert claims.find_unread(tmp_path, claims.find_unheld(tmp_path, CLAIMS)) == []
    return tmp_path


def other(spelled, draws):
    """A number of as many digits, which is not this one."""
    place = draws.choice([i for i, one in enumerate(spelled) if one.isdigit()])
    return spelled[:place] + draws.choice([d for d in "123456789" if d != spelled[place]]) + spelled[place + 1 :]


@pytest.mark.slow
def test_each_of_fifty_numbers_that_change_is_noticed(documents):
    """One at a time, drawn from all pages; figure9.md's made part is held against its sweep by `claims.find_unsaid`."""
    draws = random.Random(83)
    texts = {page: (documents / page).read_text() for page in document_numbers.list_pages(documents)}
    every = [(page, one) for page, text in texts.items() for one in document_numbers.NUMBER.finditer(text)]
    made = texts[claims.FIGURE].find(claims.BEGIN), texts[claims.FIGURE].find(claims.END)
    every = [(page, one) for page, one in every if page != claims.FIGURE or not made[0] < one.start() < made[1]]
    assert len(every) > 3000
    for page, one in draws.sample(every, 50):
        text, spelled = texts[page], other(one[0], draws)
        (documents / page).write_text(text[: one.start()] + spelled + text[one.end() :])
        mine = [claim for claim in CLAIMS if claim["said"] == page]
        told = [
            *filter(None, (claims.find_fault(claim, documents) for claim in mine)),
            *claims.find_unread(documents, claims.find_unheld(documents, CLAIMS)),
        ]
        assert told, f"{page}: {one[0]} became {spelled}"
        (documents / page).write_text(text)
    assert claims.find_unread(documents, claims.find_unheld(documents, CLAIMS)) == []


def test_what_has_changed_is_named_with_its_words():
    now = document_numbers.find_numbers("It has 2.5 of them, and 31 % of 1,000.")
    assert [one.spelled for one in now] == ["2.5", "31", "1,000"]
    assert [*document_numbers.describe_changed_numbers("a.md", now, "2.5 31 1,000")] == []
    (told,) = document_numbers.describe_changed_numbers("a.md", now, "2.5 30 1,000")
    assert told.startswith("a.md says 31, which nobody has read, instead of 30")
    assert "of them, and 31 %" in told
    assert len([*document_numbers.describe_changed_numbers("a.md", now, "2.5 1,000")]) == 1
    assert len([*document_numbers.describe_changed_numbers("a.md", now[:2], "2.5 31 1,000")]) == 1


def test_names_and_hashes_are_no_numbers():
    assert document_numbers.find_numbers("revision 634faac1, stride4, k4, 10s, v0.8.0") == []


def test_a_claim_holds_its_number_and_no_other():
    text = document_numbers.flatten("| a | 2.5 | 3 |\n| b | 2.5 | 4 |")
    claim = {"words": "| b | 2.5 | 4 |", "value": "2.5"}
    assert [one.spelled for one in document_numbers.find_not_held(text, [claim])] == ["2.5", "3", "4"]
    assert document_numbers.find_not_held(text, [claim])[0].offset < text.index("b")


@pytest.fixture
def page(tmp_path):
    (tmp_path / "results/x").mkdir(parents=True)
    rows = [
        {"scheme": scheme, "beyond": beyond, "mean": mean, "low": low, "high": high}
        for scheme, beyond, mean, low, high in (
            ("ecmp", "", 61.24, 60.1, 62.4), ("ecmp", "tree", 3.2, 1.0, 5.4), ("gff", "", 61.24, 60.1, 62.4)
        )
    ]  # fmt: skip
    write_csv(tmp_path / "results/x/seeds.csv", rows)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/page.md").write_text(
        "# Shares\n\n| ecmp | 61.2 (60.1 to 62.4) |\n\nOver a tree +3.2 (1.0 to 5.4) points, "
        "61.2 (60.1 to 62.4) of somebody, 7.0 (6.0 to 8.0) from [elsewhere](../results/x/seeds.csv).\n"
    )
    return tmp_path


def test_claims_are_found_where_one_row_has_a_number_with_its_interval(page):
    known = [dict.fromkeys(CLAIMS[0], "") | {"data": "x/seeds.csv", "command": "./test.sh 5 20"}]
    found = claims.propose_claims(page, "docs/page.md", known)
    assert [(row["value"], row["column"], row["where"]) for row in found] == [
        ("61.2", "mean", "scheme=ecmp;beyond="),  # it is the row's word that decides between two
        ("60.1", "low", "scheme=ecmp;beyond="),
        ("62.4", "high", "scheme=ecmp;beyond="),
        ("3.2", "mean", "beyond=tree"),
        ("1.0", "low", "beyond=tree"),
        ("5.4", "high", "beyond=tree"),
    ]
    assert {row["claim"] for row in found} == {"Shares"}
    assert [claims.find_fault(row, page) for row in found] == [""] * 6
    assert claims.propose_claims(page, "docs/page.md", [*known, *found]) == []


def test_an_unknown_page_is_told(tmp_path: Path):
    done = run(claims, "--find", "docs/nowhere.md")
    assert done.exit_code == 2
    assert "docs/nowhere.md is none of README.md, docs/ and results/*/README.md" in done.output
