from plots import rates, style
from plots.load import load_sweep
from tests.plots.pictures import spied
from tests.plots.sweeps import broken, failed, run_document, store


def test_an_invalid_run_looks_invalid_in_its_rates(tmp_path, monkeypatch):
    store(tmp_path, run_document("stride:4", "nonblocking", verdict="invalid", reasons=["the machine is too slow"]))
    store(tmp_path, failed(traffic="stride:4", scheme="ecmp"))
    runs = load_sweep(tmp_path).runs
    figures = spied(monkeypatch, rates)
    rates.draw(runs, tmp_path / "rates.svg")
    assert len(figures[0].axes) == 2
    for ax in figures[0].axes:
        assert ax.get_title(loc="right") == "INVALID"
        assert "Mb/s" not in ax.get_title(loc="left")


def test_failures_are_marked_where_they_happened(tmp_path, monkeypatch):
    figures = spied(monkeypatch, rates)
    store(tmp_path, broken(scheme="hedera-gff"))
    store(tmp_path, run_document(scheme="nonblocking"))
    runs = load_sweep(tmp_path).runs
    rates.draw(runs, tmp_path / "rates")
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
