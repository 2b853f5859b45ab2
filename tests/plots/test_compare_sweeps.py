import numpy as np
import pytest
import scipy

from plots import compare_sweeps
from plots.compare_sweeps import VariedSweep, compare, draw_by_value
from plots.paired_tests import estimate_mean
from tests.plots.pictures import texts
from tests.plots.sweeps import run_document, store, store_rates

FOUR = ("published:stride1", "published:stride2", "published:stride4", "random")


def sweep(folder, shares, trials=1, first_seed=1, **settings):
    """A sweep from {(pattern, scheme): share in %, or for each trial one; None: invalid}, and its control."""
    patterns = {pattern for pattern, _ in shares}
    for (pattern, scheme), share in ({(p, "nonblocking"): 100 for p in patterns} | shares).items():
        for trial in range(1, trials + 1):
            own = share[trial - 1] if isinstance(share, list) else share
            bad = {"verdict": "invalid", "reasons": ["too slow"]} if own is None else {}
            changes = {"bisection_mbps": 1.5 * (own or 7), "seed": first_seed + trial - 1, **bad}
            store(folder, run_document(pattern, scheme, trial, settings=settings, **changes))
    return folder


def ecmp(*percents):
    return {(pattern, "ecmp"): percent for pattern, percent in zip(FOUR, percents, strict=False)}


def test_differences_are_paired_and_have_student_s_interval_over_seeds(tmp_path):
    """By seed +1 and -6, -1 and -2, +3 and -1: the means of the seeds are -2.5, -1.5 and +1."""
    a = sweep(tmp_path / "a", ecmp([90, 88, 86], [70, 65, 60]), trials=3)
    b = sweep(tmp_path / "b", ecmp([91, 87, 89], [64, 63, 59]), trials=3, link_mbps=100.0, mtu=9000)
    found = compare([a, b])
    first, second = found.rows()
    assert (first["share"], first["difference_points"], first["low_points"]) == (pytest.approx(0.765), None, None)
    assert first["conditions"] == {"--bw": 10.0, "--mtu": 1500}
    assert second["conditions"] == {"--bw": 100.0, "--mtu": 9000}
    expected = estimate_mean(None, [-2.5, -1.5, 1])
    assert second["share"] == pytest.approx(0.755)
    points = [second[f"{name}_points"] for name in ("difference", "low", "high")]
    assert points == pytest.approx([expected.mean, expected.low, expected.high])
    assert (second["largest_points"], second["largest_pattern"]) == (pytest.approx(-3), "published:stride2")
    assert [second[what] for what in ("patterns", "seeds", "runs", "invalid")] == [2, 3, 6, 0]
    assert found.alike["--queue"] == 50
    assert "--bw" not in found.alike
    assert found.notes == ()


def test_what_not_all_have_is_left_out_and_said(tmp_path):
    a = sweep(tmp_path / "a", ecmp(90, 70, 60) | {(FOUR[0], "hedera-sa"): 95, (FOUR[0], "random"): 70})
    b = sweep(tmp_path / "b", ecmp(91, 64) | {(FOUR[1], "hedera-sa"): 95, ("hotspot", "ecmp"): 50})
    found = compare([a, b])
    assert [(row["scheme"], row["patterns"]) for row in found.rows()] == [("ecmp", 2)] * 2
    assert found.notes == (
        "not run in every folder: stride4, hotspot",
        "not run in every folder: random",
        "a: 1 run is valid, but not of that seed in every folder",
        "b: 1 run is valid, but not of that seed in every folder",
    )


def test_invalid_runs_never_count(tmp_path):
    a = sweep(tmp_path / "a", ecmp(90, [70, 72, 71], [60, None, 64]), trials=3)
    b = sweep(tmp_path / "b", ecmp(90, None, [60, 99, 62]), trials=3, congestion_control="reno")
    found = compare([a, b])
    shares = found.paired.groupby(["pattern", "folder"]).ratio
    assert set(found.paired.pattern) == {FOUR[0], FOUR[2]}
    assert shares.mean()[FOUR[2], "b"] == pytest.approx(0.61), "99 has no counterpart"
    assert shares.size()[FOUR[2], "a"] == shares.size()[FOUR[2], "b"] == 2
    assert [row["invalid"] for row in found.rows()] == [1, 3]
    assert "b: 3 runs are invalid, and never counted" in found.notes


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
        ({(FOUR[0], "nonblocking"): 100}, {}, "no pattern is in every folder: a has stride1, stride2; b has none"),
        ({(FOUR[0], "ecmp"): None}, {}, "no pattern has a valid run of a scheme"),
        ({(FOUR[0], "ecmp"): 50}, {"k": 6}, "different size cannot be compared: -k 4 in a, -k 6 in b"),
        ({(FOUR[0], "ecmp"): 50, (FOUR[0], "nonblocking"): None}, {}, "b has no valid run of the control"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_sentence(tmp_path, shares, settings, reason):
    a = sweep(tmp_path / "a", ecmp(50, 60))
    with pytest.raises(ValueError, match=reason):
        compare([a, sweep(tmp_path / "b", shares, **settings)])


def test_shares_stand_against_the_value_with_intervals_over_trials(tmp_path):
    """A trial counts once: its share is the mean over the patterns that all trials have."""
    rates = {2.0: [[50.0, 60.0, 70.0], [70.0, 60.0, 80.0]], 1.0: [[80.0, 90.0, 85.0], [60.0, 70.0, 65.0]]}
    parts = []
    for period, (one, other) in rates.items():
        own = {("stride:3", "ecmp"): one, ("stride:5", "ecmp"): other, ("stride:6", "ecmp"): [None, 10.0, 10.0]}
        own |= {(pattern, "nonblocking"): [100.0] * 3 for pattern, _ in own}
        parts.append((store_rates(tmp_path / str(period), own), {"interval": period}))
    swept = VariedSweep(tmp_path, tuple(parts))
    table, png, svg = swept.write()
    assert [line.partition(",")[0] for line in table.read_text().splitlines()] == ["interval", *"222222", *"111111"]
    assert png.stat().st_size > 1000
    assert repr(swept) == f"<36 runs in {tmp_path}, by interval: 3 patterns, 2 schemes, 34 runs valid>"
    assert set(swept.to_frame().interval) == {1.0, 2.0}
    ((line, _, (whiskers,)),) = swept.plot().axes[0].containers
    by_trial = {period: np.mean(both, axis=0) / 100 for period, both in rates.items()}
    assert dict(zip(line.get_xdata(), line.get_ydata(), strict=True)) == pytest.approx(
        {period: shares.mean() for period, shares in by_trial.items()}
    )
    for (period, shares), segment in zip(by_trial.items(), whiskers.get_segments(), strict=True):
        interval = scipy.stats.ttest_1samp(shares, 0).confidence_interval(0.95)
        assert segment.tolist() == [[period, pytest.approx(interval.low)], [period, pytest.approx(interval.high)]]
    assert {"interval", "ecmp", "share of the control"} <= texts(svg)
    assert "nonblocking" not in texts(svg)


def test_folders_of_one_name_are_told_apart_and_none_obeyed_by_a_terminal(tmp_path):
    a = sweep(tmp_path / "x" / "same", ecmp(50))
    b = sweep(tmp_path / "y" / "same", ecmp(50))
    c = sweep(tmp_path / "z\x1b[2J", ecmp(50))
    found = compare([a, b, c])
    assert list(found.conditions) == ["same (1)", "same (2)", "'z\\x1b[2J'"]
    assert set(map(len, found.conditions.values())) == {0}, "nothing differs"


def test_two_options_and_values_without_a_number_or_a_run_and_no_control(tmp_path):
    """The option with most values is along the axis, the others have a panel for each value."""
    parts = []
    for network in ("leaf-spine:2,2,4", "leaf-spine:4,2,4", "leaf-spine:6,2,4", "fat"):
        for bw in (10.0, 40.0):
            (folder := tmp_path / network / f"{bw}").mkdir(parents=True)
            rates = {} if network == "fat" else {("stride:3", "spray"): 120.0}
            parts.append((store_rates(folder, rates), {"bw": bw, "topology": network}))
    figure = draw_by_value(parts)
    assert [ax.get_title(loc="left") or ax.get_title() for ax in figure.axes] == ["bw 10", "bw 40"]
    assert figure.axes[0].get_xticklabels()[0].get_text() == "leaf-spine:2,2,4"
    assert [line.get_ydata().tolist() for ax in figure.axes for line, _, _ in ax.containers] == [[0.75] * 3] * 2
    assert draw_by_value(parts[-1:]) is None


def test_the_name_that_it_had_before_is_there_for_one_release():
    with pytest.warns(DeprecationWarning, match="VariedSweep"):
        assert compare_sweeps.Sweeps is compare_sweeps.VariedSweep
