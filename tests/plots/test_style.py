import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from plots import style


@pytest.mark.parametrize(
    ("pattern", "short"),
    [
        ("published:stride4", "stride4"),
        ("published:stride4 x2", "stride4 x2"),
        ("stride:4", "stride:4"),
        ("file:/home/me/flows.csv", "file:flows.csv"),
        ("file:flows.csv x2 keep 0.5", "file:flows.csv x2 keep 0.5"),
        ("file:/a/b.csv + poisson:web-search,0.5", "file:b.csv + poisson:web-search,0.5"),
        ("poisson:/sizes/s.csv,0.5 + file:/a/b.csv", "poisson:/sizes/s.csv,0.5 + file:b.csv"),
    ],
)
def test_a_file_is_called_by_its_name(pattern, short):
    assert style.short(pattern) == short


def test_colours_are_distinct_and_unknown_schemes_get_one():
    assert len(set(style.COLOURS.values())) == len(style.COLOURS) == 10
    assert not set(style.COLOURS.values()) & set(style._OTHER)
    assert style.colour("my-scheme") == style.colour("my-scheme")
    assert style.colour("my-scheme") not in style.COLOURS.values()


@pytest.mark.parametrize("which", ["x", "y"])
@pytest.mark.parametrize("ends", [(1e-3, 1e2), (0.02, 9.0), (3.0, 11.0)])
def test_a_logarithmic_axis_has_numbers_that_need_no_mathematical_text(which, ends):
    with style.house_style():
        figure = Figure()
        axes = figure.subplots()
        axes.plot(ends, ends)
        style.logarithmic(axes, which)
        FigureCanvasAgg(figure).draw()
        axis = getattr(axes, f"{which}axis")
        shown = [label.get_text() for label in axis.get_ticklabels(which="both") if label.get_text()]
    assert len(shown) >= 2
    for text in shown:
        float(text.replace(",", ""))
