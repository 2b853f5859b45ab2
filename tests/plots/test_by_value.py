import numpy as np
import pytest
from scipy.stats import ttest_1samp

from plots import by_value
from tests.plots.pictures import spied, texts
from tests.plots.sweeps import store_rates


@pytest.fixture
def figures(monkeypatch):
    return spied(monkeypatch, by_value)


def test_shares_stand_against_the_value_with_intervals_over_trials(tmp_path, figures):
    """A trial counts once: its share is the mean over the patterns that all trials have."""
    rates = {2.0: [[50.0, 60.0, 70.0], [70.0, 60.0, 80.0]], 1.0: [[80.0, 90.0, 85.0], [60.0, 70.0, 65.0]]}
    parts = []
    for period, (one, other) in rates.items():
        own = {("stride:3", "ecmp"): one, ("stride:5", "ecmp"): other, ("stride:6", "ecmp"): [None, 10.0, 10.0]}
        own |= {(pattern, "nonblocking"): [100.0] * 3 for pattern, _ in own}
        store_rates(tmp_path / str(period), own)
        parts.append((tmp_path / str(period), {"interval": period}))
    png, svg = by_value.draw(parts, tmp_path / "all")
    assert png.stat().st_size > 1000
    ((line, _, (whiskers,)),) = figures[0].axes[0].containers
    by_trial = {period: np.mean(both, axis=0) / 100 for period, both in rates.items()}
    assert dict(zip(line.get_xdata(), line.get_ydata(), strict=True)) == pytest.approx(
        {period: shares.mean() for period, shares in by_trial.items()}
    )
    for (period, shares), segment in zip(by_trial.items(), whiskers.get_segments(), strict=True):
        interval = ttest_1samp(shares, 0).confidence_interval(0.95)
        assert segment.tolist() == [[period, pytest.approx(interval.low)], [period, pytest.approx(interval.high)]]
    assert {"interval", "ecmp", "share of the control"} <= texts(svg)
    assert "nonblocking" not in texts(svg)


def test_two_options_and_values_without_a_number_or_a_run_and_no_control(tmp_path, figures):
    """The option with most values is along the axis, the others have a panel for each value."""
    parts = []
    for network in ("leaf-spine:2,2,4", "leaf-spine:4,2,4", "leaf-spine:6,2,4", "fat"):
        for bw in (10.0, 40.0):
            parts.append((tmp_path / network / f"{bw}", {"bw": bw, "topology": network}))
            parts[-1][0].mkdir(parents=True)
            if network != "fat":
                store_rates(parts[-1][0], {("stride:3", "spray"): 120.0})
    _, svg = by_value.draw(parts, tmp_path / "all")
    assert [ax.get_title(loc="left") for ax in figures[0].axes] == ["bw 10", "bw 40"]
    assert {"leaf-spine:2,2,4", "share of all hosts' links"} <= texts(svg)
    assert [line.get_ydata().tolist() for ax in figures[0].axes for line, _, _ in ax.containers] == [[0.75] * 3] * 2
    assert by_value.draw(parts[-1:], tmp_path / "none") == []
