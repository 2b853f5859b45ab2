"""Figure 10: the suite of patterns under both engines, and what is said of it in words."""

import pytest

from paper import figure_10
from tests.paper.commands import is_png, rows, run

SHORT = ("-k", 4, "--seconds", 12, "--interval", 1, "--jobs", 1)


def test_every_pattern_scheme_and_engine(tmp_path):
    done = run(figure_10, *SHORT, "--iterations", 1000, "--seeds", 3, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    found = rows(tmp_path / "figure10_k4.csv")
    assert len(found) == 2 * 12 * 5 * 3
    hashed = {row["percent_of_full"] for row in found if row["traffic"] == "randbij" and row["scheme"] == "ecmp"}
    assert len(hashed) > 3, "three seeds, two engines"
    assert done.stdout.count("3 seeds, 95 % intervals") == 2
    assert is_png(tmp_path / "figure10_k4.png")
    for engine in ("aimd", "maxmin"):
        assert f"Figure 10 under {engine}" in done.stdout
    assert done.stdout.count("hedera-sa over static hashing, at most") == 2


def made(traffic, *percents, seed=1):
    schemes = ("ecmp", "hedera-gff", "hedera-sa", "nonblocking")
    return [
        {"engine": "aimd", "traffic": traffic, "scheme": scheme, "seed": seed, "percent_of_full": percent}
        for scheme, percent in zip(schemes, percents, strict=True)
    ]


def test_the_sentences_follow_from_the_rows():
    both = made("a", 40, 60, 80, 100) + made("b", 50, 90, 70, 90)
    annealing, first_fit, annealing_gain, first_fit_gain = figure_10.summary(both)
    assert annealing["ours"] == pytest.approx((80 + 100 * 70 / 90) / 2)
    assert "lowest on b (77.8 %)" in annealing["case"]
    assert (first_fit["ours"], first_fit["from"]) == (80, None)
    assert (annealing_gain["ours"], annealing_gain["case"][-4:]) == (pytest.approx(100), "at a")
    assert (first_fit_gain["ours"], first_fit_gain["case"][-4:]) == (pytest.approx(80), "at b")


def test_intervals_are_of_shares_with_the_same_seed():
    """The control's draw cancels: 90 % of it with every seed."""
    found = [row for seed in range(4) for row in made("a", 40, 60, 0.9 * (70 + seed), 70 + seed, seed=seed)]
    annealing = figure_10.summary(found)[0]
    assert [annealing[name] for name in ("ours", "from", "to")] == pytest.approx([90, 90, 90])


def test_other_schemes_can_be_asked_for(tmp_path):
    done = run(figure_10, "--schemes", "hedera-clos,nonblocking", *SHORT, "--seeds", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "over optimal" not in done.stdout
    found = rows(tmp_path / "figure10_k4.csv")
    assert {row["scheme"] for row in found} == {"hedera-clos", "nonblocking"}
    share = {(row["engine"], row["traffic"], row["scheme"]): float(row["percent_of_full"]) for row in found}
    for bijection in ("stride:1", "stride:4", "stride:8", "randbij"):
        # The same rates, at another point of their cycle when the window ends.
        ours, control = (share["aimd", bijection, s] for s in ("hedera-clos", "nonblocking"))
        assert ours == pytest.approx(control, rel=0.01)
        assert share["maxmin", bijection, "hedera-clos"] == share["maxmin", bijection, "nonblocking"]


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--schemes", "hedera-best", "there is no scheme 'hedera-best'"),
        ("--engines", "aimd,tcp", "there is no engine 'tcp'"),
    ],
)
def test_what_does_not_exist_is_refused(option, value, message, tmp_path):
    done = run(figure_10, option, value, *SHORT, "--out", tmp_path)
    assert done.exit_code == 2
    assert message in done.stderr
