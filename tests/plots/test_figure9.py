import itertools

import pytest
from matplotlib.path import Path

from plots import figure9, style
from plots.load import load_sweep
from results.published import FIGURE_9
from tests.plots.pictures import bars_of, spied, texts
from tests.plots.sweeps import WIRE, failed, run_document, store, write_sweep


def test_bars_have_the_height_and_colour_of_their_median(tmp_path, monkeypatch):
    for scheme, rate in (("nonblocking", 150.0), ("ecmp", 60.0), ("hedera-sa", 141.0)):
        store(tmp_path, run_document("stride:4", scheme, bisection_mbps=rate))
    figures = spied(monkeypatch, figure9)
    runs = load_sweep(tmp_path).runs
    figure9.draw(runs, tmp_path / "a")
    figure9.draw(runs, tmp_path / "b", normalised=True)
    absolute, shares = map(bars_of, figures)
    assert [bar.get_height() for bar in absolute] == pytest.approx([150 / WIRE, 60 / WIRE, 141 / WIRE], abs=1e-3)
    assert [bar.get_height() for bar in shares] == [1.0, 0.4, 0.94]
    assert not any(bar.get_hatch() for bar in absolute)
    assert len({bar.get_facecolor() for bar in absolute}) == 3


@pytest.mark.parametrize(("time", "words"), [("real", "30 s per run"), ("virtual", "30 s of virtual time per run")])
def test_a_picture_says_whether_its_time_was_virtual(tmp_path, time, words):
    document = run_document("stride:4", "nonblocking")
    document["spec"]["time"] = time
    store(tmp_path, document)
    _, svg = figure9.draw(load_sweep(tmp_path).runs, tmp_path / "chart")
    assert f"k=4, links of 10 Mb/s, {words}; one trial" in texts(svg)


def test_an_invalid_bar_looks_invalid(tmp_path, monkeypatch):
    store(tmp_path, run_document("stride:4", "nonblocking", bisection_mbps=150.0))
    store(tmp_path, run_document("stride:4", "ecmp", bisection_mbps=60.0, verdict="invalid", reasons=["slow"]))
    store(tmp_path, failed(traffic="stride:4", scheme="random"))
    figures = spied(monkeypatch, figure9)
    files = figure9.draw(load_sweep(tmp_path).runs, tmp_path / "chart")
    _, ecmp, broken = bars_of(figures[0])
    for bar in (ecmp, broken):
        assert bar.get_hatch()
        assert bar.get_facecolor()[:3] == (1, 1, 1)
        assert bar.get_height() == pytest.approx(160 * 1448 / 1514), "it stands for no number"
    crosses = [line for line in figures[0].axes[0].lines if line.get_marker() == "x"]
    assert [line.get_color() for line in crosses] == [style.INVALID] * 2
    assert "invalid: no valid trial" in texts(files[1])


def test_a_bar_that_was_not_judged_looks_like_that_and_not_like_an_invalid_one(tmp_path, monkeypatch):
    store(tmp_path, run_document("stride:4", "nonblocking", bisection_mbps=150.0))
    unjudged = {"verdict": "not judged", "reasons": ["too short"]}
    store(tmp_path, run_document("stride:4", "ecmp", bisection_mbps=60.0, **unjudged))
    figures = spied(monkeypatch, figure9)
    runs = load_sweep(tmp_path).runs
    files = figure9.draw(runs, tmp_path / "chart")
    _, bar = bars_of(figures[0])
    assert bar.get_hatch()
    (mark,) = [line for line in figures[0].axes[0].lines if line.get_color() == style.INVALID]
    assert isinstance(mark.get_marker(), Path), "a question mark's outline"
    shown = texts(files[1])
    assert "not judged" in shown
    assert "invalid: no valid trial" not in shown
    store(tmp_path, run_document("stride:4", "ecmp", 2, verdict="invalid", reasons=["slow"]))
    shown = texts(figure9.draw(load_sweep(tmp_path).runs, tmp_path / "chart")[1])
    assert "invalid: no valid trial" in shown


def test_without_a_valid_control_no_share_is_drawn(tmp_path, monkeypatch):
    store(tmp_path, run_document("stride:4", "nonblocking", verdict="invalid", reasons=["slow"]))
    store(tmp_path, run_document("stride:4", "ecmp"))
    figures = spied(monkeypatch, figure9)
    figure9.draw(load_sweep(tmp_path).runs, tmp_path / "chart", normalised=True)
    assert all(bar.get_hatch() for bar in bars_of(figures[0]))


def test_missing_and_partly_invalid_bars_are_told_apart(tmp_path):
    write_sweep(tmp_path, ["stride:4", "stride:8"], ["nonblocking", "ecmp"], trials=2)
    store(tmp_path, run_document("stride:4", "ecmp", 1, verdict="invalid", reasons=["slow"]))
    store(tmp_path, run_document("stride:4", "random", 1))
    shown = texts(figure9.draw(load_sweep(tmp_path).runs, tmp_path / "chart")[1])
    assert {"not run", "some trials do not count, left out"} <= shown
    assert "invalid: no valid trial" not in shown


def test_published_marks(tmp_path, monkeypatch):
    write_sweep(tmp_path, ["published:stride4", "stride:4"], ["nonblocking", "ecmp", "hedera-gff"])
    figures = spied(monkeypatch, figure9)
    runs = load_sweep(tmp_path).runs
    figure9.draw(runs, tmp_path / "a")
    figure9.draw(runs, tmp_path / "b", normalised=True)
    absolute, shares = (
        [
            round(lines.get_segments()[0][0][1], 3)
            for lines in figure.axes[0].collections
            if lines.get_linewidth()[0] == 1.7
        ]
        for figure in figures
    )
    there, here = 16_000 * 1448 / 1538, 160 * 1448 / 1514  # the payload that full links carry
    assert absolute == pytest.approx([12465 / there * here, 3482 / there * here, 11790 / there * here], abs=1e-3)
    assert shares == [0.279, 0.946]


@pytest.mark.parametrize(("patterns", "rows"), [(1, 1), (2, 1), (5, 1), (6, 2), (20, 4)])
def test_many_patterns_are_split_over_rows_and_nothing_overlaps(tmp_path, monkeypatch, patterns, rows):
    names = list(FIGURE_9)[:patterns]
    write_sweep(tmp_path, [f"published:{name}" for name in names])
    store(tmp_path, run_document(f"published:{names[0]}", "ecmp", verdict="invalid", reasons=["slow"]))
    figures = spied(monkeypatch, figure9)
    figure9.draw(load_sweep(tmp_path).runs, tmp_path / "chart")
    axes = figures[0].axes
    assert len(axes) == rows
    labels = [label.get_text() for ax in axes for label in ax.get_xticklabels()]
    assert labels == names
    figures[0].canvas.draw()
    for ax in axes:  # no label touches its neighbour
        boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
        assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
    legend = figures[0].legends[0].get_window_extent()
    assert legend.x0 > 0
    assert legend.x1 < figures[0].bbox.x1
    assert legend.y1 < min(ax.get_window_extent().y0 for ax in axes)


def test_the_users_own_matplotlib_settings_change_nothing(tmp_path):
    import matplotlib as mpl

    write_sweep(tmp_path, ["stride:4"], ["nonblocking", "ecmp"])
    runs = load_sweep(tmp_path).runs
    ours = figure9.draw(runs, tmp_path / "a")[0].read_bytes()
    with mpl.rc_context({"font.size": 30, "axes.grid": True, "savefig.dpi": 20}):
        assert figure9.draw(runs, tmp_path / "b")[0].read_bytes() == ours
        assert mpl.rcParams["font.size"] == 30
