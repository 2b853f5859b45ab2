"""What a notebook shows of results."""

import xml.etree.ElementTree as ElementTree

import pytest

from harness import library
from plots.compare_sweeps import VariedSweep
from plots.stored_sweep import load_sweep
from tests.plots.sweeps import run_document, store


def points(html):
    """Of the line, as numbers."""
    svg = ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    return [tuple(map(float, pair.split(","))) for pair in svg.find("polyline").get("points").split()]


def test_a_simulation_has_a_table_and_its_rates():
    found = library.simulate("ecmp", "stride:4", seconds=6)
    html = found._repr_html_()
    assert "<td>ecmp on stride:4" in html
    line = points(html)
    assert len(line) == 6
    assert [x for x, _ in line] == sorted(x for x, _ in line)


def test_a_run_has_its_verdict_and_reasons(tmp_path):
    store(tmp_path, run_document("stride:4", "ecmp", verdict="invalid", reasons=["too <slow>"]))
    (run,) = load_sweep(tmp_path).runs
    html = run._repr_html_()
    assert "too &lt;slow&gt;" in html
    assert "invalid" in html
    heights = [y for _, y in points(html)]
    rates = run.rates.total_mbps
    assert rates[heights.index(min(heights))] == pytest.approx(max(rates), rel=2e-3), "the highest rate is highest"


def test_a_sweep_has_a_row_for_each_scheme_and_its_picture(tmp_path):
    for scheme in ("nonblocking", "ecmp"):
        store(tmp_path, run_document("stride:4", scheme))
    html = VariedSweep(tmp_path, ((load_sweep(tmp_path), {}),))._repr_html_()
    assert html.count("<tr>") == 3
    assert 'src="data:image/svg+xml;base64,' in html
    assert "1 of 1" in html
