import numpy as np
import pytest
import scipy

from plots import figure9, style
from plots.explorer import find_tree
from plots.published import find_published_share
from plots.stored_sweep import load_sweep
from tests.plots.pictures import bars_of, texts
from tests.plots.sweeps import WIRE, failed, run_document, store, store_rates


def heights(axes):
    return [bar.get_height() for bar in bars_of(axes)]


def test_shares_stand_above_payload_and_published_bars_beside_ours(tmp_path):
    """stride:4 has the flows of the paper's stride4; the published ECMP stands beside the first and last static one."""
    for pattern in ("published:stride4", "stride:4"):
        for scheme, rate in (("nonblocking", 150.0), ("ecmp", 60.0), ("spanning-tree", 39.0), ("hedera-sa", 141.0)):
            store(tmp_path, run_document(pattern, scheme, bisection_mbps=rate))
    (figure,) = figure9.draw_figures(load_sweep(tmp_path))
    shares, payload = map(heights, figure.axes)
    assert shares == pytest.approx([0.4, 3482 / 12465, 0.26, 3482 / 12465, 0.94, 11720 / 12465] * 2)
    scale = (160 * 1448 / 1514) / (16_000 * 1448 / 1538)  # the payload that full links carry
    ecmp = 3482 * scale
    ours = [150 / WIRE, 12465 * scale, 60 / WIRE, ecmp, 39 / WIRE, ecmp, 141 / WIRE, 11720 * scale]
    assert payload == pytest.approx(ours * 2, abs=1e-3)


def test_an_invalid_bar_looks_invalid(tmp_path):
    store(tmp_path, run_document("randbij", "nonblocking", bisection_mbps=150.0))
    store(tmp_path, run_document("randbij", "ecmp", bisection_mbps=60.0, verdict="invalid", reasons=["slow"]))
    store(tmp_path, failed(traffic="randbij", scheme="random"))
    store(tmp_path, run_document("randbij", "hedera-sa", verdict="not judged", reasons=["too short"]))
    sweep = load_sweep(tmp_path)
    (figure,) = figure9.draw_figures(sweep)
    shares, payload = (bars_of(axes) for axes in figure.axes)
    for bar, height in zip((*shares, *payload[1:]), [*[1] * 3, *[160 * 1448 / 1514] * 3], strict=True):
        assert bar.get_hatch()
        assert bar.get_facecolor()[:3] == (1, 1, 1)
        assert bar.get_height() == pytest.approx(height), "it stands for no number"
    crosses = [line for line in figure.axes[0].lines if line.get_color() == style.INVALID for _ in line.get_xdata()]
    assert len(crosses) == 3
    assert any("no valid trial" in text for text in texts(figure9.draw(sweep, tmp_path / "chart")[1]))


def test_the_caption_tells_where_bars_have_more_trials_than_others(tmp_path):
    sweep = store_rates(tmp_path, {("stride:3", "nonblocking"): [100.0] * 3, ("stride:3", "ecmp"): [60.0]})
    assert "bar: median of 1 to 3 trials" in figure9.describe_conditions(sweep.runs)


@pytest.mark.parametrize("trials", [2, 3, 9, 10])
def test_whiskers_are_intervals_of_few_trials_and_percentiles_of_many(tmp_path, trials):
    """And none of two. Every control has 100 Mb/s, so a share is a rate."""
    rates = [50.0 + 3 * (trial % 4) + trial for trial in range(trials)]
    sweep = store_rates(tmp_path, {("stride:3", "nonblocking"): [100.0] * trials, ("stride:3", "ecmp"): rates})
    (figure,) = figure9.draw_figures(sweep)
    whiskers = [line.get_segments()[0][:, 1] for line in figure.axes[0].collections]
    words = figure9.describe_conditions(sweep.runs)
    if trials == 2:
        assert whiskers == []
        assert "whisker" not in words
        return
    half = scipy.special.stdtrit(trials - 1, 0.975) * np.std(rates, ddof=1) / trials**0.5
    interval = [np.mean(rates) - half, np.mean(rates) + half]
    assert whiskers[0] * 100 == pytest.approx(interval if trials < 10 else np.percentile(rates, [5, 95]))
    assert f"whisker: {'95 % interval of the mean' if trials < 10 else '5th to 95th percentile'}" in words


FEW = {"published:stride4": 50, "published:stride8": 70, "published:hotspot": 80, "published:randbij0": 60}


def test_families_stand_beside_published_ones_and_ecmp_has_a_gap(tmp_path):
    """A family's bar is the mean over its patterns; the last group is the mean of all."""
    rates = {}
    for pattern, rate in FEW.items():
        rates |= {(pattern, "nonblocking"): [100.0] * 3, (pattern, "spanning-tree"): [rate / 2] * 3}
        rates |= {(pattern, "ecmp"): [rate - 5.0, rate, rate + 5.0], (pattern, "mine.py:Mine"): [rate + 10] * 3}
    (ax,) = figure9.draw_figures(store_rates(tmp_path, rates))[0].axes
    groups = [
        [round(bar.get_height(), 4) for bar in bars_of(ax) if abs(bar.get_x() + bar.get_width() / 2 - at) < 0.5]
        for at in range(4)
    ]
    ecmp = [find_published_share(pattern, "ecmp") for pattern in FEW]
    stride = [0.30, round(np.mean(ecmp[:2]), 4), 0.6, 0.7]
    assert groups[0] == stride, "spanning-tree, the published ECMP, ecmp with nothing after it, mine"
    assert groups[3] == [0.325, round(np.mean(ecmp), 4), 0.65, 0.75]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["stride", "randbij", "hotspot", "mean of all"]
    half = scipy.special.stdtrit(2, 0.975) * 0.05 / 3**0.5
    assert ax.collections[0].get_segments()[0][:, 1].tolist() == pytest.approx([0.6 - half, 0.6 + half])


@pytest.mark.parametrize(("patterns", "drawn"), [(FEW, True), (list(FEW)[1:], False), ([*FEW, "stride:3"], False)])
def test_a_sweep_of_published_families_has_two_pictures_of_bars(tmp_path, patterns, drawn):
    """Not where each family has one pattern, or a pattern is none of the published ones."""
    sweep = store_rates(tmp_path, {(p, scheme): 60.0 for p in patterns for scheme in ("nonblocking", "ecmp")})
    files = figure9.draw(sweep, tmp_path / "figure9")
    assert [file.name for file in files if file.suffix == ".png"] == ["figure9.png", *["figure9-patterns.png"] * drawn]


def test_another_network_stands_beside_no_published_bar_and_on_no_fat_tree(tmp_path):
    for topology in (None, "leaf-spine:4,2,4"):
        for scheme in ("nonblocking", "ecmp", "hedera-gff"):
            store(tmp_path / str(topology), run_document("stride:4", scheme, settings={"topology": topology}))
        sweep = load_sweep(tmp_path / str(topology))
        (figure,) = figure9.draw_figures(sweep)
        outlines = [bar for axes in figure.axes for bar in bars_of(axes) if bar.get_facecolor()[:3] == (1, 1, 1)]
        assert (not outlines) == (topology is not None)
        assert (find_tree(sweep.runs) is None) == (topology is not None)
        assert figure9.describe_conditions(sweep.runs).startswith(topology or "k=4")
