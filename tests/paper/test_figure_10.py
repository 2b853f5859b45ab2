"""Figure 10: the suite of patterns, and what the text says of it."""

import pytest

from paper import figure_10
from tests.paper.commands import is_png, rows, run


def test_it_covers_the_suite_and_says_what_the_text_says(tmp_path):
    done = run(figure_10, "-k", 4, "--seconds", 12, "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert len(rows(tmp_path / "figure10_k4.csv")) == 12 * 4
    assert is_png(tmp_path / "figure10_k4.png")
    lines = {line.split("  ")[0].strip(): line for line in done.stdout.splitlines()}
    assert "96.0" in lines["Hedera (better of two) over optimal, mean of patterns"]
    assert "113.0" in lines["Hedera over static hashing, at most"]


def test_the_sentences_follow_from_the_rows():
    share = figure_10.Share
    made = [share("a", "ecmp", 0, 40), share("a", "hedera-gff", 0, 60), share("a", "hedera-sa", 0, 80),
            share("a", "nonblocking", 0, 100), share("b", "ecmp", 0, 50), share("b", "hedera-gff", 0, 90),
            share("b", "hedera-sa", 0, 70), share("b", "nonblocking", 0, 90)]  # fmt: skip
    optimal, gain = figure_10.summary(made)
    assert (optimal.ours, optimal.spread) == (90, "lowest 80.0 (a)")
    assert (gain.ours, gain.spread) == (pytest.approx(100), "at a")


def test_other_schemes_can_be_asked_for(tmp_path):
    asked = ("-k", 4, "--seconds", 12, "--interval", 1, "--jobs", 1, "--out", tmp_path)
    done = run(figure_10, "--schemes", "hedera-clos,nonblocking", *asked)
    assert done.exit_code == 0, done.output
    assert "Hedera (better of two)" not in done.stdout
    made = rows(tmp_path / "figure10_k4.csv")
    assert {row["scheme"] for row in made} == {"hedera-clos", "nonblocking"}
    share = {(row["traffic"], row["scheme"]): float(row["percent_of_full"]) for row in made}
    for bijection in ("stride:1", "stride:4", "stride:8", "randbij"):
        # The same rates, at another point of their cycle when the window ends.
        assert share[bijection, "hedera-clos"] == pytest.approx(share[bijection, "nonblocking"], rel=0.01)
    done = run(figure_10, "--schemes", "hedera-best", *asked)
    assert done.exit_code == 2
    assert "there is no scheme 'hedera-best'" in done.stderr
