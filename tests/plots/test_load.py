import os

import pytest

from plots.load import load_sweep
from tests.plots.sweeps import run_document, store, write_sweep


def test_a_sweep_lists_what_it_skips(tmp_path):
    write_sweep(tmp_path, ["stride:4"], ["ecmp", "random"])
    broken = tmp_path / "stride_4" / "hedera-sa" / "trial-1" / "run.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    being_written = tmp_path / "stride_4" / "ecmp" / ".trial-2.partial" / "run.json"
    being_written.parent.mkdir()
    being_written.write_text("{")
    (tmp_path / "sweep.json").write_text("{}")
    sweep = load_sweep(tmp_path)
    assert [run.scheme for run in sweep.runs] == ["ecmp", "random"]
    assert [file.parent.parent.name for file in sweep.files] == ["ecmp", "random"]
    assert [(one.path, one.reason) for one in sweep.skipped] == [(broken, "is not JSON, or was cut off")]


def test_the_minority_with_other_settings_is_left_out(tmp_path):
    write_sweep(tmp_path, ["stride:4"], ["ecmp", "random", "nonblocking"])
    slow = run_document("stride:8", "ecmp")
    slow["spec"] |= {"link_mbps": 5.0}
    store(tmp_path, slow)
    sweep = load_sweep(tmp_path)
    assert len(sweep.runs) == 3
    assert [one.reason for one in sweep.skipped] == ["has other settings than most runs here: link_mbps 5.0"]


@pytest.mark.parametrize("first_valid", [False, True])
def test_of_two_tries_the_valid_one_counts(tmp_path, first_valid):
    verdicts = ("ok", "invalid") if first_valid else ("invalid", "ok")
    first = store(tmp_path, run_document(verdict=verdicts[0]))
    os.utime(first, (1, 1))
    again = store(tmp_path, run_document(verdict=verdicts[1]), attempt="-again")
    sweep = load_sweep(tmp_path)
    assert sweep.files == (first if first_valid else again,)
    assert [one.path for one in sweep.skipped] == [again if first_valid else first]


def test_times_of_files_decide_nothing(tmp_path):
    """They are copied, and a clock can be set: of two tries that do not count the second one is shown."""
    store(tmp_path, run_document(bisection_mbps=1.0, verdict="invalid", reasons=["slow"]))
    again = store(tmp_path, run_document(bisection_mbps=2.0, verdict="invalid", reasons=["slow"]), "-again")
    os.utime(again, (1, 1))
    sweep = load_sweep(tmp_path)
    assert sweep.files == (again,)
    assert [run.bisection_mbps for run in sweep.tries] == [1.0, 2.0]


def test_no_folder(tmp_path):
    with pytest.raises(ValueError, match="there is no results folder"):
        load_sweep(tmp_path / "missing")
    assert load_sweep(tmp_path).runs == ()
