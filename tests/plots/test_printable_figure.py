"""Pictures for a printed page, laid out and written by matplotlib itself."""

import re
from itertools import pairwise

import pytest
from matplotlib.text import Text

from plots import figure9, rates, report
from plots.pictures import create_figure
from plots.stored_sweep import load_sweep
from plots.style import colour, house_style
from record.options import Pictures, drawing
from tests.commands import asked
from tests.plots.sweeps import KEPT, run_document, store

FAMILIES = ["published:stride1", "published:stride2", "published:rand0", "published:hotspot"]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    for pattern in FAMILIES:
        for scheme in ("nonblocking", "ecmp", "spanning-tree", "hedera-gff", "hedera-sa"):
            store(folder, run_document(pattern, scheme))
    return load_sweep(folder)


def width_in(pdf):
    left, _, right, _ = map(float, re.search(rb"/MediaBox \[([0-9. ]+)\]", pdf)[1].split())
    return (right - left) / 72


@pytest.mark.slow
@pytest.mark.parametrize("width", [3.3, 7.0])
def test_all_pictures_of_a_sweep_fit_a_page_in_text_of_eight_points(sweep, width):
    """Nothing stands outside of the picture, and no two labels of an axis lie upon each other."""
    with house_style():
        trial = [run for run in sweep.runs if run.pattern == FAMILIES[0]]
        drawn = [*figure9.draw_figures(sweep), rates.draw_figure(trial)]
    for figure in drawn:
        figure.lay_out_for_print(width)
        pdf = figure.content("pdf")
        assert width_in(pdf) == pytest.approx(width, abs=0.01)
        assert b"/FontFile2" in pdf, "TrueType, embedded"
        assert b"/Type3" not in pdf
        shown = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
        assert {text.get_fontsize() for text in shown} == {8.0}
        figure.draw_without_rendering()
        ticks = {tick for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for tick in axis.findobj(Text)}
        ticks -= {axis.label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)}
        for text in set(shown) - ticks:  # those of axes are within them; matplotlib keeps some that it does not draw
            box = text.get_window_extent()
            assert -1 <= box.x0 < box.x1 <= figure.bbox.width + 1, text.get_text()
            assert -1 <= box.y0 < box.y1 <= figure.bbox.height + 1, text.get_text()
        for axes in figure.axes:
            boxes = sorted((label.get_window_extent() for label in axes.get_xticklabels()), key=lambda box: box.x0)
            assert not any(one.overlaps(other) for one, other in pairwise(boxes)), "labels of an axis"
            assert axes.get_position().height * figure.get_figheight() > 0.6
        assert not figure.get_suptitle()
        assert "Mb/s" in figure.caption or "stride1" in figure.caption


def test_what_a_colour_tells_a_hatch_or_a_dash_tells_too():
    """The same one in every picture, and in its legend."""
    with house_style():
        figure = create_figure(5, 3)
        bars, lines = figure.subplots(1, 2)
        for place, scheme in enumerate(("ecmp", "hedera-gff", "spanning-tree")):
            bars.bar(place, 1, color=colour(scheme), label=scheme)
            lines.plot([0, 1, 2], [place] * 3, color=colour(scheme))
        shade = lines.axvspan(0, 1, color="#e9f0f7")
        bars.legend()
        figure.lay_out_for_print(3.3)
        hatches = [patch.get_hatch() for patch in bars.patches]
        assert len({*hatches, ""}) == 4
        assert len({(str(line.get_linestyle()), line.get_marker()) for line in lines.lines}) == 3
        assert not shade.get_hatch(), "a shade behind the data is no series"
        (legend,) = figure.legends
        assert [patch.get_hatch() for patch in legend.get_patches()] == hatches
        assert bars.get_legend() is None


@pytest.mark.slow
def test_the_same_runs_give_the_same_file(sweep):
    def made():
        with house_style():
            figure = figure9.draw_by_family(sweep)
        figure.lay_out_for_print(3.3)
        return figure.content("pdf")

    first = made()
    assert made() == first
    assert b"CreationDate" not in first


@pytest.mark.slow
def test_a_reports_pictures_for_print_are_beside_its_own(tmp_path):
    for scheme in ("nonblocking", "ecmp"):
        store(tmp_path, run_document(FAMILIES[0], scheme))
    report.write_all(load_sweep(tmp_path))
    figures = tmp_path / "figures"
    before = {file: file.read_bytes() for file in (tmp_path / "report.html", *figures.rglob("*.*")) if file.is_file()}
    done = asked("report", tmp_path, "--format", "pdf,svg", "--width", "240pt")
    assert done.returncode == 0, done.stderr
    assert {file: file.read_bytes() for file in before} == before
    made = {file for file in figures.rglob("*.*") if file.is_file()} - before.keys()
    rates_of = "rates/published_stride1-trial-1"
    names = [f"{name}.{kind}" for name in ("figure9", rates_of) for kind in ("pdf", "svg")]
    assert made == {figures / "print" / name for name in names}
    assert {str(file) for file in made} <= set(done.stdout.split())
    for file in figures.rglob("*.pdf"):
        assert width_in(file.read_bytes()) == pytest.approx(240 / 72.27, abs=0.01)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--format", "jpg"], "one of png, svg, pdf for pictures and tex for tables, separated by commas; not 'jpg'"),
        (["--width", "0.5in"], "from 2 to 24 inches"),
        (["--width", "wide"], "as 3.3in, 84mm or 240pt; not 'wide'"),
    ],
)
def test_what_is_no_format_or_width_is_named(options, words):
    done = asked("report", KEPT, *options)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_study_draws_what_is_asked_for(tmp_path):
    done = asked("figure", "3", "-k", "4", "--seeds", "1", "--max-flows", "1", "--jobs", "1", "--out", tmp_path,
                 "--format", "pdf", "--width", "3.3in")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {file.name for file in tmp_path.iterdir()} == {"figure3.csv", "figure3.pdf"}
    assert f"{tmp_path}/figure3.pdf" in done.stdout
    assert "What hash collisions cost".lower() in (tmp_path / "figure3.pdf").read_bytes().decode("latin-1").lower()


def test_a_picture_from_python_has_the_pages_width(sweep, tmp_path):
    from harness import library

    figure = library.plot(sweep.runs[1], width="84mm")
    figure.savefig(tmp_path / "rates.pdf")
    pdf = (tmp_path / "rates.pdf").read_bytes()
    assert width_in(pdf) == pytest.approx(84 / 25.4, abs=0.01)
    assert b"/FontFile2" in pdf
    library.plot(sweep.runs[1]).savefig(tmp_path / "screen.pdf")
    assert b"/FontFile2" in (tmp_path / "screen.pdf").read_bytes()


def test_formats_of_the_present_command_end_with_it():
    with drawing(Pictures(("pdf",), 3.3)):
        pass
    from record.options import get_pictures

    assert get_pictures() == Pictures()


def test_what_draws_no_picture_says_so():
    done = asked("explain-gff", "--format", "pdf")
    assert done.returncode == 2
    assert "draws no picture" in done.stderr
    assert "--format" not in asked("table", "4", "--help").stdout
