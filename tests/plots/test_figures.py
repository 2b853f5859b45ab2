import itertools
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

import plots
from plots import figure9, rates, style
from plots.load import load_sweep
from results.published import FIGURE_9
from tests.plots.sweeps import SCHEMES, broken, failed, run_document, store, write_sweep


def texts(svg):
    return {
        "".join(node.itertext()) for node in ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")
    }


def spied(monkeypatch, module):
    """The figures that a module saves, kept as objects to look into."""
    figures = []

    def save(figure, path, formats=("png",)):
        figures.append(figure)
        return style.save(figure, path, formats)

    monkeypatch.setattr(module, "save", save)
    return figures


def bars_of(figure):
    return [patch for ax in figure.axes for container in ax.containers for patch in container.patches]


def test_write_all(tmp_path):
    write_sweep(tmp_path, ["published:stride4", "staggered:0.2,0.3"], trials=2)
    files = plots.write_all(tmp_path)
    assert [str(file.relative_to(tmp_path / "figures")) for file in files] == [
        "figure9.png", "figure9.svg", "figure9-normalised.png", "figure9-normalised.svg", "summary.csv", "summary.md",
        "rates/published_stride4-trial-1.png", "rates/published_stride4-trial-2.png",
        "rates/staggered_0.2,0.3-trial-1.png", "rates/staggered_0.2,0.3-trial-2.png",
    ]  # fmt: skip
    for file in files:
        assert file.stat().st_size > 300
        if file.suffix == ".png":
            assert file.read_bytes().startswith(b"\x89PNG")
    shown = texts(files[1])
    assert {"stride4", "staggered:0.2,0.3", "hedera-sa", "nonblocking (control)"} <= shown
    assert not any("invalid" in text for text in shown)


def test_the_same_runs_give_the_same_files(tmp_path):
    write_sweep(tmp_path, ["published:stride4"], ["nonblocking", "ecmp"], trials=2)
    before = {file: file.read_bytes() for file in plots.write_all(tmp_path)}
    for file in before:
        file.unlink()
    assert {file: file.read_bytes() for file in plots.write_all(tmp_path)} == before


def test_rates_are_drawn_again_only_when_a_run_is_newer(tmp_path):
    write_sweep(tmp_path, ["stride:4"], ["nonblocking", "ecmp"])
    sheet = plots.write_all(tmp_path)[-1]
    os.utime(sheet, (2e9, 2e9))
    assert plots.write_all(tmp_path)[-1].stat().st_mtime == 2e9
    os.utime(sheet, (1, 1))
    assert plots.write_all(tmp_path)[-1].stat().st_mtime > 1


def test_no_runs_no_files(tmp_path):
    (tmp_path / "run.json").write_text("{")
    assert plots.write_all(tmp_path) == []
    with pytest.raises(ValueError, match="no results folder"):
        plots.write_all(tmp_path / "missing")


def test_bars_have_the_height_and_colour_of_their_median(tmp_path, monkeypatch):
    for scheme, rate in (("nonblocking", 150.0), ("ecmp", 60.0), ("hedera-sa", 141.0)):
        store(tmp_path, run_document("stride:4", scheme, bisection_mbps=rate))
    figures = spied(monkeypatch, figure9)
    runs = load_sweep(tmp_path).runs
    figure9.draw(runs, tmp_path / "a")
    figure9.draw(runs, tmp_path / "b", normalised=True)
    absolute, shares = map(bars_of, figures)
    assert [bar.get_height() for bar in absolute] == [150.0, 60.0, 141.0]
    assert [bar.get_height() for bar in shares] == [1.0, 0.4, 0.94]
    assert not any(bar.get_hatch() for bar in absolute)
    assert len({bar.get_facecolor() for bar in absolute}) == 3


def test_an_invalid_bar_looks_invalid(tmp_path, monkeypatch):
    store(tmp_path, run_document("stride:4", "nonblocking", bisection_mbps=150.0))
    store(
        tmp_path, run_document("stride:4", "ecmp", bisection_mbps=60.0, verdict="invalid", reasons=["slow"])
    )
    store(tmp_path, failed(traffic="stride:4", scheme="random"))
    figures = spied(monkeypatch, figure9)
    files = figure9.draw(load_sweep(tmp_path).runs, tmp_path / "chart")
    _, ecmp, broken = bars_of(figures[0])
    for bar in (ecmp, broken):
        assert bar.get_hatch()
        assert bar.get_facecolor()[:3] == (1, 1, 1)
        assert bar.get_height() == 160, "it stands for no number"
    crosses = [line for line in figures[0].axes[0].lines if line.get_marker() == "x"]
    assert [line.get_color() for line in crosses] == [style.INVALID] * 2
    assert "invalid: no valid trial" in texts(files[1])


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
    assert {"not run", "some trials invalid, left out"} <= shown
    assert "invalid: no valid trial" not in shown


def test_published_marks(tmp_path, monkeypatch):
    write_sweep(tmp_path, ["published:stride4", "stride:4"], ["nonblocking", "ecmp", "hedera-gff"])
    figures = spied(monkeypatch, figure9)
    runs = load_sweep(tmp_path).runs
    figure9.draw(runs, tmp_path / "a", published=FIGURE_9)
    figure9.draw(runs, tmp_path / "b", normalised=True, published=FIGURE_9)
    absolute, shares = (
        [
            round(lines.get_segments()[0][0][1], 3)
            for lines in figure.axes[0].collections
            if lines.get_linewidth()[0] == 1.7
        ]
        for figure in figures
    )
    assert absolute == [124.65, 34.82, 117.9]  # of 16,000 there, of 160 here
    assert shares == [0.279, 0.946]


@pytest.mark.parametrize(("patterns", "rows"), [(1, 1), (2, 1), (5, 1), (6, 2), (20, 4)])
def test_many_patterns_are_split_over_rows_and_nothing_overlaps(tmp_path, monkeypatch, patterns, rows):
    names = list(FIGURE_9)[:patterns]
    write_sweep(tmp_path, [f"published:{name}" for name in names])
    store(tmp_path, run_document(f"published:{names[0]}", "ecmp", verdict="invalid", reasons=["slow"]))
    figures = spied(monkeypatch, figure9)
    figure9.draw(load_sweep(tmp_path).runs, tmp_path / "chart", published=FIGURE_9)
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


@pytest.mark.parametrize("schemes", [["nonblocking"], ["ecmp"], list(SCHEMES)])
def test_rates_sheets(tmp_path, monkeypatch, schemes):
    write_sweep(tmp_path, ["stride:4"], schemes)
    runs = load_sweep(tmp_path).runs
    control = next((run for run in runs if run.scheme == style.CONTROL), None)
    figures = spied(monkeypatch, rates)
    rates.draw(runs, tmp_path / "rates.png", control)
    axes = figures[0].axes
    assert len(axes) == (6 if len(schemes) == 7 else 1)
    for ax in axes:
        width_of_the_window = {patch.get_width() for patch in ax.patches}
        assert width_of_the_window == {20.0}
    if len(schemes) == 7:
        moved = [line for line in axes[-1].lines if line.get_linewidth() == 1.5]
        assert [line.get_xdata()[0] for line in moved] == [2.0]
        grey = [line for line in axes[0].lines if line.get_color() == style.colour(style.CONTROL)]
        assert list(grey[0].get_ydata()) == list(control.rates.total_mbps)


def test_an_invalid_run_looks_invalid_in_its_rates(tmp_path, monkeypatch):
    store(
        tmp_path,
        run_document("stride:4", "nonblocking", verdict="invalid", reasons=["the machine is too slow"]),
    )
    store(tmp_path, failed(traffic="stride:4", scheme="ecmp"))
    runs = load_sweep(tmp_path).runs
    figures = spied(monkeypatch, rates)
    rates.draw(runs, tmp_path / "rates.png", runs[1])
    assert len(figures[0].axes) == 2
    for ax in figures[0].axes:
        assert ax.get_title(loc="right") == "INVALID"
        assert "Mb/s" not in ax.get_title(loc="left")
    assert figures[0].axes[0].texts[0].get_text() == "the machine is too slow"


def test_failures_are_marked_where_they_happened(tmp_path, monkeypatch):
    figures = spied(monkeypatch, rates)
    store(tmp_path, broken(scheme="hedera-gff"))
    store(tmp_path, run_document(scheme="nonblocking"))
    runs = load_sweep(tmp_path).runs
    control = next(run for run in runs if run.scheme == "nonblocking")
    rates.draw(runs, tmp_path / "rates", control)
    (ax,) = figures[0].axes
    (best,) = [patch for patch in ax.patches if hasattr(patch, "get_data")]
    assert best.get_data().edges.tolist() == [0, 8.01, 16.02, ax.get_xlim()[1]]
    assert best.get_data().values.tolist() == [160, 120, 160]
    assert {line.get_xdata()[0] for line in ax.lines if line.get_color() == style.INVALID} == {8.01, 16.02}
    said = " ".join(text.get_text() for text in ax.texts)
    assert "5 flows hit" in said
    assert "0.034 s" in said
    assert "2 s" in said
    labels = [text.get_text() for text in figures[0].legends[0].get_texts()]
    assert {"links down", "most possible"} <= set(labels)


def test_names_from_files_do_no_harm(tmp_path):
    name = "file:/tmp/$x_{$ a very long name of a file with flows in it.csv"
    store(tmp_path, run_document(name, "ecmp", spec={"k": 4}))
    files = plots.write_all(tmp_path)
    assert "file:$x_{$ a very long..." in texts(files[1])
    assert all(file.is_relative_to(tmp_path) for file in files)


def test_the_users_own_matplotlib_settings_change_nothing(tmp_path):
    import matplotlib as mpl

    write_sweep(tmp_path, ["stride:4"], ["nonblocking", "ecmp"])
    runs = load_sweep(tmp_path).runs
    ours = figure9.draw(runs, tmp_path / "a")[0].read_bytes()
    with mpl.rc_context({"font.size": 30, "axes.grid": True, "savefig.dpi": 20}):
        assert figure9.draw(runs, tmp_path / "b")[0].read_bytes() == ours
        assert mpl.rcParams["font.size"] == 30


def test_colours_are_distinct_and_unknown_schemes_get_one():
    assert len(set(style.COLOURS.values())) == len(style.COLOURS) == 7
    assert style.colour("my-scheme") == style.colour("my-scheme")
    assert style.colour("my-scheme") not in style.COLOURS.values()


def test_plots_imports_neither_harness_nor_simulator_nor_controllers_and_matplotlib_late():
    code = (
        "import sys, plots, plots.load, plots.table; "
        "print([m for m in sys.modules if m.split('.')[0] in ('harness', 'simulator', 'controllers', 'matplotlib')])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
