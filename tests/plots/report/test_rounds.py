import pytest

from plots.load import load_sweep
from plots.report.rounds import overheads
from tests.plots.sweeps import rounds, run_document, store

INVALID = {"verdict": "invalid", "reasons": ["slow"]}


def test_overhead_over_all_runs(tmp_path):
    store(tmp_path, run_document(scheme="hedera-gff", trial=1, rounds=rounds((2, 0), (4, 9), (6, 2))))
    store(tmp_path, run_document(scheme="hedera-gff", trial=2, rounds=rounds((2, 7), (4, 0)), **INVALID))
    store(tmp_path, run_document(scheme="ecmp"))
    (found,) = overheads(load_sweep(tmp_path).runs)
    assert (found["scheme"], found["runs"], found["rounds"], found["idle_rounds"]) == ("hedera-gff", 2, 5, 2)
    assert (found["first_changes"], found["later_changes"], found["runs_with_later_changes"]) == (16, 2, 1)
    assert found["ms"]["total"].median == 10
    assert found["ms"]["polled"].maximum == 5
    assert found["interval_s"] == 2
    assert found["interval_share"] == pytest.approx(0.005)


def test_rounds_whose_times_were_not_stored(tmp_path):
    store(tmp_path, run_document(scheme="hedera-gff", rounds=[{"t": 2, "large": 3, "changed": 1}]))
    (found,) = overheads(load_sweep(tmp_path).runs)
    assert found["ms"] == {}
    assert found["interval_share"] is None
