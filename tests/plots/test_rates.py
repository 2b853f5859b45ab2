from plots import rates, style
from plots.stored_sweep import load_sweep
from plots.style import house_style
from tests.plots.sweeps import broken, failed, run_document, store


def test_an_invalid_run_looks_invalid_in_its_rates(tmp_path):
    store(tmp_path, run_document("stride:4", "nonblocking", verdict="invalid", reasons=["the machine is too slow"]))
    store(tmp_path, failed(traffic="stride:4", scheme="ecmp"))
    runs = load_sweep(tmp_path).runs
    axes = rates.draw_figure(runs).axes
    assert len(axes) == 2
    for ax in axes:
        assert ax.get_title(loc="right") == "INVALID"
        assert "Mb/s" not in ax.get_title(loc="left")


def test_failures_are_marked_where_they_happened(tmp_path):
    store(tmp_path, broken(scheme="hedera-gff"))
    store(tmp_path, run_document(scheme="nonblocking"))
    figure = rates.draw_figure(load_sweep(tmp_path).runs)
    (ax,) = figure.axes
    (best,) = [patch for patch in ax.patches if hasattr(patch, "get_data")]
    assert best.get_data().edges.tolist() == [0, 8.01, 16.02, ax.get_xlim()[1]]
    assert best.get_data().values.tolist() == [160, 120, 160]
    assert {line.get_xdata()[0] for line in ax.lines if line.get_color() == style.INVALID} == {8.01, 16.02}
    said = " ".join(text.get_text() for text in ax.texts)
    assert "5 flows hit" in said
    assert "0.034 s" in said
    assert "2 s" in said
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"links down", "most possible"} <= set(labels)


def test_a_figure_used_again_shows_only_its_own_runs(tmp_path):
    first = [failed(traffic="stride:4", scheme="ecmp"), broken(traffic="stride:4", scheme="hedera-gff")]
    second = [run_document("stride:4", scheme, trial=2) for scheme in ("ecmp", "hedera-gff")]
    for document in (*first, *second):
        store(tmp_path, document)
    sweep = load_sweep(tmp_path)
    files = rates.draw_sheets(sweep, tmp_path / "rates")
    for trial, file in enumerate(files.values(), 1):
        with house_style():
            alone = rates.draw_figure([run for run in sweep.runs if run.trial == trial]).content("svg")
        assert file.read_bytes() == alone
