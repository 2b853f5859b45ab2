"""Completion times, drawn and told: made-up runs, read from disk as stored ones are."""

import pytest

from plots.completion_times import accumulate_completions, format_csv, make_rows
from plots.report import write_page
from plots.stored_sweep import load_sweep
from record.run import FlowRecord
from tests.plots.sweeps import run_document, store

TRAFFIC = "poisson:web-search,0.5"


def document(scheme, trial, median_s, cut_off=0):
    def statistics(name, flows):
        values = {f"{which}_s": median_s * n for n, which in enumerate(("median", "mean", "p95", "p99"), 1)}
        slow = {name.replace("_s", "_slowdown"): 1 + value for name, value in values.items()}
        return {"size_class": name, "flows": flows, "cut_off": cut_off, "known_share": 0.5, **values, **slow}

    flows = [
        {"src": 0, "dst": 1, "mbps": 1.0, "size_bytes": 1000, "how": "done", "completion_s": median_s * n}
        for n in (1, 2, 4)
    ]
    changes = {"completion": [statistics("all", 3), statistics("small", 2)], "flows": flows, "rounds": []}
    return run_document(TRAFFIC, scheme, trial, **changes)


@pytest.fixture
def folder(tmp_path):
    for scheme, base in (("ecmp", 2.0), ("hedera-sa", 1.0)):
        for trial in (1, 2, 3):
            store(tmp_path, document(scheme, trial, base * trial, cut_off=1))
    return tmp_path


def test_a_row_is_the_median_of_trials_and_counts_all_their_flows(folder):
    found = {
        (row["scheme"], row["size_class"]): row for row in make_rows(load_sweep(folder)) if row["over"] == "valid runs"
    }
    assert set(found) == {(s, c) for s in ("ecmp", "hedera-sa") for c in ("all", "small")}
    row = found["ecmp", "all"]
    assert tuple(row[n] for n in ("runs", "flows", "cut_off", "median_s", "p99_s")) == (3, 9, 3, 4.0, 16.0)
    assert format_csv(load_sweep(folder)).count("\n") == 9


def test_all_tries_are_a_second_row(folder):
    """The second trial of ecmp was invalid at 20 s before it was valid at 4; the fourth was not judged."""
    for trial, median_s, verdict in ((2, 20.0, "invalid"), (4, 10.0, "not judged")):
        bad = {"verdict": verdict, "reasons": ["slow"]}
        store(folder, document("ecmp", trial, median_s) | bad, attempt="-0")
    sweep = load_sweep(folder)
    found = {(row["scheme"], row["over"]): row for row in make_rows(sweep) if row["size_class"] == "all"}
    valid, every = found["ecmp", "valid runs"], found["ecmp", "all tries"]
    assert (valid["runs"], valid["left_out"], valid["median_s"]) == (3, 0, 4.0)  # of 2, 4, 6
    assert (every["runs"], every["left_out"], every["median_s"]) == (5, 2, 6.0)  # of 2, 4, 6, 10, 20
    assert found["hedera-sa", "all tries"]["left_out"] == 0
    page = write_page(sweep).read_text()
    assert page.count("all 5 tries, 2 left out") == 2, "of each class"


def test_flows_that_were_cut_off_never_complete():
    took = (3.0, None, 1.0, None)
    flows = [FlowRecord(src=0, dst=1, mbps=1.0, size_bytes=1000, completion_s=each) for each in took]
    times, shares = accumulate_completions(flows)
    assert times.tolist() == [1.0, 3.0]
    assert shares.tolist() == [0.25, 0.5]
    assert [len(part) for part in accumulate_completions([])] == [0, 0]
