"""Load against slowdown."""

import pytest

from paper import completion
from tests.paper.commands import is_png, rows, run, run_json

QUICK = ("-k", 4, "--seconds", 1.2, "--tick", 0.001, "--loads", "0.6,0.2", "--jobs", 1)


def test_a_row_per_load_scheme_period_and_class(tmp_path):
    found = run_json(
        completion, *QUICK, "--schemes", "ecmp,hedera-gff", "--intervals", "0.5,0.1", "--detect", 0.01,
        "--out", tmp_path,
    )  # fmt: skip
    assert len(found) == 2 * 3 * 4
    assert [row["load"] for row in found] == [0.2] * 12 + [0.6] * 12
    curves = [(row["scheme"], row["interval_s"]) for row in found[:12:4]]
    assert curves == [("ecmp", None), ("hedera-gff", 0.5), ("hedera-gff", 0.1)]
    assert [row["size_class"] for row in found[:4]] == ["all", "small", "medium", "large"]
    for load in (found[:12], found[12:]):
        assert len({row["flows"] for row in load if row["size_class"] == "all"}) == 1, "the same flows"
    assert all(row["mean_slowdown"] >= 1 for row in found if row["flows"])
    light, heavy = (next(r for r in found if r["load"] == load) for load in (0.2, 0.6))
    assert light["mean_slowdown"] < heavy["mean_slowdown"]
    assert light["carried"] < heavy["carried"]
    assert len(rows(tmp_path / "completion_k4.csv")) == 24
    assert is_png(tmp_path / "completion_k4.png")


def test_in_words(tmp_path):
    done = run(completion, *QUICK, "--schemes", "ecmp", "--sizes", "fixed:200000", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("cut off") == 2
    assert "      - " in done.stdout, "a class without flows"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--loads", "0.5,0"], "--loads takes numbers above 0"),
        (["--loads", "1.5"], "at most 1"),
        (["--loads", "half"], "--loads takes numbers"),
        (["--sizes", "web"], "no law of flow sizes"),
        (["--schemes", "foo"], "no scheme 'foo'"),
        (["--intervals", "0"], "--intervals takes numbers above 0"),
        (["--sizes", "fixed:1", "--loads", "1"], "is the limit"),
    ],
)
def test_mistakes_come_to_light_before_the_first_simulation(options, words, tmp_path):
    done = run(completion, *options, "--out", tmp_path)
    assert done.exit_code == 2
    assert words in done.stderr.replace("\n", " ")
