import numpy as np
import pytest
from scipy.special import stdtrit

from plots import figure9, figure9_families, style
from plots.figures import bars
from plots.load import load_sweep
from plots.shares import published_share
from plots.summary import summarise
from tests.plots.pictures import bars_of, spied, texts
from tests.plots.sweeps import WIRE, failed, run_document, store, store_rates


def test_shares_stand_above_payload_and_published_bars_beside_ours(tmp_path, monkeypatch):
    """stride:4 has the flows of the paper's stride4; the published ECMP stands beside the first and last static one."""
    for pattern in ("published:stride4", "stride:4"):
        for scheme, rate in (("nonblocking", 150.0), ("ecmp", 60.0), ("spanning-tree", 39.0), ("hedera-sa", 141.0)):
            store(tmp_path, run_document(pattern, scheme, bisection_mbps=rate))
    figures = spied(monkeypatch, figure9)
    figure9.draw(load_sweep(tmp_path).runs, tmp_path / "a")
    shares, payload = ([patch.get_height() for c in axes.containers for patch in c] for axes in figures[0].axes)
    assert shares == pytest.approx([0.4, 3482 / 12465, 0.26, 3482 / 12465, 0.94, 11720 / 12465] * 2)
    scale = (160 * 1448 / 1514) / (16_000 * 1448 / 1538)  # the payload that full links carry
    ecmp = 3482 * scale
    ours = [150 / WIRE, 12465 * scale, 60 / WIRE, ecmp, 39 / WIRE, ecmp, 141 / WIRE, 11720 * scale]
    assert payload == pytest.approx(ours * 2, abs=1e-3)


@pytest.mark.parametrize(("time", "words"), [("real", "30 s per run"), ("virtual", "30 s of virtual time per run")])
def test_a_picture_says_whether_its_time_was_virtual(tmp_path, time, words):
    document = run_document("stride:4", "nonblocking")
    document["spec"]["time"] = time
    store(tmp_path, document)
    _, svg = figure9.draw(load_sweep(tmp_path).runs, tmp_path / "chart")
    assert f"k=4, links of 10 Mb/s, {words}; one trial" in texts(svg)


def test_an_invalid_bar_looks_invalid(tmp_path, monkeypatch):
    store(tmp_path, run_document("randbij", "nonblocking", bisection_mbps=150.0))
    store(tmp_path, run_document("randbij", "ecmp", bisection_mbps=60.0, verdict="invalid", reasons=["slow"]))
    store(tmp_path, failed(traffic="randbij", scheme="random"))
    store(tmp_path, run_document("randbij", "hedera-sa", verdict="not judged", reasons=["too short"]))
    figures = spied(monkeypatch, figure9)
    files = figure9.draw(load_sweep(tmp_path).runs, tmp_path / "chart")
    bars = bars_of(figures[0])
    shares, payload = bars[:3], bars[4:]
    for bar, height in zip((*shares, *payload), [*[1] * 3, *[160 * 1448 / 1514] * 3], strict=True):
        assert bar.get_hatch()
        assert bar.get_facecolor()[:3] == (1, 1, 1)
        assert bar.get_height() == pytest.approx(height), "it stands for no number"
    crosses = [line for line in figures[0].axes[0].lines if line.get_marker() == "x"]
    assert [line.get_color() for line in crosses] == [style.INVALID] * 3
    assert any("no valid trial" in text for text in texts(files[1]))


@pytest.mark.parametrize("trials", [2, 3, 9, 10])
def test_whiskers_are_intervals_of_few_trials_and_percentiles_of_many(tmp_path, monkeypatch, trials):
    """And none of two. Every control has 100 Mb/s, so a share is a rate."""
    rates = [50.0 + 3 * (trial % 4) + trial for trial in range(trials)]
    store_rates(tmp_path, {("stride:3", "nonblocking"): [100.0] * trials, ("stride:3", "ecmp"): rates})
    figures = spied(monkeypatch, figure9)
    _, svg = figure9.draw(load_sweep(tmp_path).runs, tmp_path / "chart")
    whiskers = [line.get_segments()[0][:, 1] for line in figures[0].axes[0].collections]
    said = next(text for text in texts(svg) if text.startswith("k=4"))
    if trials == 2:
        assert whiskers == []
        assert "whisker" not in said
        return
    half = stdtrit(trials - 1, 0.975) * np.std(rates, ddof=1) / trials**0.5
    interval = [np.mean(rates) - half, np.mean(rates) + half]
    assert whiskers[0] * 100 == pytest.approx(interval if trials < 10 else np.percentile(rates, [5, 95]))
    assert ("95 % interval" in said) == (trials < 10)


FEW = {"published:stride4": 50, "published:stride8": 70, "published:hotspot": 80, "published:randbij0": 60}


def test_families_stand_beside_published_ones_and_ecmp_has_a_gap(tmp_path, monkeypatch):
    """A family's bar is the mean over its patterns; the last group is the mean of all."""
    rates = {}
    for pattern, rate in FEW.items():
        rates |= {(pattern, "nonblocking"): [100.0] * 3, (pattern, "spanning-tree"): [rate / 2] * 3}
        rates |= {(pattern, "ecmp"): [rate - 5.0, rate, rate + 5.0], (pattern, "mine.py:Mine"): [rate + 10] * 3}
    runs = store_rates(tmp_path, rates)
    figures = spied(monkeypatch, figure9_families)
    summary = summarise(runs)
    assert figure9_families.applies(summary)
    _, svg = figure9_families.draw(runs, summary, tmp_path / "chart")
    (ax,) = figures[0].axes
    heights = [
        [round(bar.get_height(), 4) for bar in bars_of(figures[0]) if abs(bar.get_center()[0] - at) < 0.5]
        for at in range(4)
    ]
    ecmp = [published_share(pattern, "ecmp") for pattern in FEW]
    stride = [0.30, round(np.mean(ecmp[:2]), 4), 0.6, 0.7]
    assert heights[0] == stride, "spanning-tree, the published ECMP, ecmp with nothing after it, mine"
    assert heights[3] == [0.325, round(np.mean(ecmp), 4), 0.65, 0.75]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["stride", "randbij", "hotspot", "mean of all"]
    whiskers = [line.get_segments()[0] for line in ax.collections]
    half = stdtrit(2, 0.975) * 0.05 / 3**0.5
    assert [segment[:, 1].tolist() for segment in whiskers[:1]] == [pytest.approx([0.6 - half, 0.6 + half])]
    assert any("its ECMP after spanning-tree" in text for text in texts(svg))


@pytest.mark.parametrize(("patterns", "drawn"), [(FEW, True), (list(FEW)[1:], False), ([*FEW, "stride:3"], False)])
def test_a_sweep_of_published_families_has_two_pictures_of_bars(tmp_path, patterns, drawn):
    """Not where each family has one pattern, or a pattern is none of the published ones."""
    store_rates(tmp_path, {(p, scheme): 60.0 for p in patterns for scheme in ("nonblocking", "ecmp")})
    files = bars(load_sweep(tmp_path), tmp_path / "figure9")
    assert [file.name for file in files if file.suffix == ".png"] == ["figure9.png", *["figure9-patterns.png"] * drawn]
