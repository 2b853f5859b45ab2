import pytest

from plots.compare_sweeps import compare
from plots.trials import difference
from tests.plots.sweeps import run_document, store

FOUR = ("published:stride1", "published:stride2", "published:stride4", "random")


def sweep(folder, shares, trials=1, first_seed=1, **settings):
    """A sweep from {(pattern, scheme): share in %, or for each trial one; None: invalid}, and its control."""
    patterns = {pattern for pattern, _ in shares}
    for (pattern, scheme), share in ({(p, "nonblocking"): 100 for p in patterns} | shares).items():
        for trial in range(1, trials + 1):
            own = share[trial - 1] if isinstance(share, list) else share
            bad = {"verdict": "invalid", "reasons": ["too slow"]} if own is None else {}
            changes = {"bisection_mbps": 1.5 * (own or 7), "seed": first_seed + trial - 1, **bad}
            document = run_document(pattern, scheme, trial, **changes)
            document["spec"] |= settings
            store(folder, document)
    return folder


def ecmp(*percents):
    return {(pattern, "ecmp"): percent for pattern, percent in zip(FOUR, percents, strict=False)}


def test_differences_are_paired_over_patterns_and_have_student_s_interval(tmp_path):
    a = sweep(tmp_path / "a", ecmp(90, 70, 60, 80))
    b = sweep(tmp_path / "b", ecmp(91, 64, 58, 80), link_mbps=100.0, mtu=9000)
    found = compare([a, b])
    first, second = found.rows()
    assert (first["share"], first["difference_points"], first["low_points"]) == (pytest.approx(0.75), None, None)
    assert first["conditions"] == {"--bw": 10.0, "--mtu": 1500}
    assert second["conditions"] == {"--bw": 100.0, "--mtu": 9000}
    expected = difference(None, [1, -6, -2, 0])
    assert second["share"] == pytest.approx(0.7325)
    points = [second[f"{name}_points"] for name in ("difference", "low", "high")]
    assert points == pytest.approx([expected.mean, expected.low, expected.high])
    assert (second["largest_points"], second["largest_pattern"]) == (pytest.approx(-6), "published:stride2")
    assert (second["patterns"], second["runs"], second["invalid"]) == (4, 4, 0)
    assert found.alike["--queue"] == 50
    assert "--bw" not in found.alike
    assert found.notes == ()


def test_what_not_all_have_is_left_out_and_said(tmp_path):
    a = sweep(tmp_path / "a", ecmp(90, 70, 60) | {(FOUR[0], "hedera-sa"): 95, (FOUR[0], "random"): 70})
    b = sweep(tmp_path / "b", ecmp(91, 64) | {(FOUR[1], "hedera-sa"): 95, ("hotspot", "ecmp"): 50})
    found = compare([a, b])
    assert found.schemes == ["ecmp"]
    assert found.rows()[0]["patterns"] == 2
    assert found.notes == (
        "not run in every folder: stride4, hotspot",
        "not run in every folder: random",
        "without a valid share in every folder: hedera-sa under stride1, hedera-sa under stride2",
        "a: 1 run is valid, but not of that seed in every folder",
        "b: 1 run is valid, but not of that seed in every folder",
    )


def test_invalid_runs_never_count(tmp_path):
    a = sweep(tmp_path / "a", ecmp(90, [70, 72, 71], [60, None, 64]), trials=3)
    b = sweep(tmp_path / "b", ecmp(90, None, [60, 99, 62]), trials=3, congestion_control="reno")
    found = compare([a, b])
    lines = found.frame.set_index(["pattern", "folder"])
    assert set(found.frame.pattern) == {FOUR[0], FOUR[2]}
    assert lines.share[FOUR[2], "b"] == pytest.approx(0.61), "99 has no counterpart"
    assert lines.runs[FOUR[2], "a"] == lines.runs[FOUR[2], "b"] == 2
    assert [row["invalid"] for row in found.rows()] == [1, 3]
    assert "b: 3 runs are invalid, and never counted" in found.notes


def test_all_tries_stand_beside_what_counts(tmp_path):
    """In b half of what was tried under the second pattern was left out, and all under the third."""
    a = sweep(tmp_path / "a", ecmp(90, 70, 60))
    b = sweep(tmp_path / "b", ecmp(90, 70, 60), link_mbps=200.0)
    for pattern, share, attempt in ((FOUR[1], 30, ""), (FOUR[1], 70, "-again"), (FOUR[2], 40, "")):
        bad = {} if attempt else {"verdict": "invalid", "reasons": ["slow"]}
        document = run_document(pattern, "ecmp", 1, bisection_mbps=1.5 * share, **bad)
        document["spec"] |= {"link_mbps": 200.0}
        store(b, document, attempt)
    first, second = compare([a, b]).rows()
    assert (second["patterns"], second["share"], second["difference_points"]) == pytest.approx((2, 0.8, 0))
    assert (first["left_out"], first["all_patterns"], first["all_share"]) == (0, 3, pytest.approx(2.2 / 3))
    assert (second["left_out"], second["all_patterns"], second["all_share"]) == (2, 3, pytest.approx(1.8 / 3))
    assert second["all_difference_points"] == pytest.approx(-40 / 3)
    by_pattern = {row["pattern"]: row for row in compare([a, b]).pattern_rows() if row["folder"] == "b"}
    assert (by_pattern[FOUR[1]]["left_out"], by_pattern[FOUR[1]]["all_share"]) == (1, pytest.approx(0.5))


def test_trials_are_matched_by_their_seeds(tmp_path):
    a = sweep(tmp_path / "a", ecmp([50, 60, 70]), trials=3, first_seed=1)
    b = sweep(tmp_path / "b", ecmp([70, 80, 90]), trials=3, first_seed=3)
    found = compare([a, b])
    assert [(row["runs"], row["share"]) for row in found.rows()] == [(1, pytest.approx(0.7))] * 2
    assert "a: 4 runs are valid, but not of that seed in every folder" in found.notes
    with pytest.raises(ValueError, match="of the same seed in every folder"):
        compare([a, sweep(tmp_path / "c", ecmp(50), first_seed=9)])


@pytest.mark.parametrize(
    ("shares", "settings", "reason"),
    [
        ({("hotspot", "ecmp"): 50}, {}, "no pattern is in every folder: a has stride1, stride2; b has hotspot"),
        ({(FOUR[0], "random"): 50}, {}, "no scheme but the control is in every folder: a has ecmp; b has random"),
        ({(FOUR[0], "ecmp"): None}, {}, "no pattern has a valid run of a scheme"),
        ({(FOUR[0], "ecmp"): 50}, {"k": 6}, "different size cannot be compared: -k 4 in a, -k 6 in b"),
        ({(FOUR[0], "ecmp"): 50, (FOUR[0], "nonblocking"): None}, {}, "b has no valid run of the control"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_sentence(tmp_path, shares, settings, reason):
    a = sweep(tmp_path / "a", ecmp(50, 60))
    with pytest.raises(ValueError, match=reason):
        compare([a, sweep(tmp_path / "b", shares, **settings)])


def test_one_folder_is_no_comparison(tmp_path):
    a = sweep(tmp_path / "a", ecmp(50))
    with pytest.raises(ValueError, match="two folders or more"):
        compare([a])
    with pytest.raises(ValueError, match="given twice"):
        compare([a, tmp_path / "b" / ".." / "a"])


def test_folders_of_one_name_are_told_apart_and_none_obeyed_by_a_terminal(tmp_path):
    a = sweep(tmp_path / "x" / "same", ecmp(50))
    b = sweep(tmp_path / "y" / "same", ecmp(50))
    c = sweep(tmp_path / "z\x1b[2J", ecmp(50))
    found = compare([a, b, c])
    assert list(found.conditions) == [str(a), str(b), "'z\\x1b[2J'"]
    assert found.label(str(a)) == str(a), "nothing differs"
