import os

import pytest
from click.testing import CliRunner

from harness.cli.report import report
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
    done = CliRunner().invoke(report, [str(tmp_path)])
    assert (done.exit_code, f"left out: {broken} is not JSON, or was cut off" in done.stderr) == (0, True)


def test_the_minority_with_other_settings_is_left_out(tmp_path):
    write_sweep(tmp_path, ["stride:4"], ["ecmp", "random", "nonblocking"])
    slow = run_document("stride:8", "ecmp")
    slow["spec"] |= {"link_mbps": 5.0}
    store(tmp_path, slow)
    sweep = load_sweep(tmp_path)
    assert len(sweep.runs) == 3
    assert [one.reason for one in sweep.skipped] == ["has other settings than most runs here: link_mbps 5.0"]


@pytest.mark.parametrize(
    ("verdicts", "counts"), [(("ok", "invalid"), 0), (("invalid", "ok"), 1), (("invalid", "invalid"), 1)]
)
def test_of_two_tries_the_valid_one_counts_or_the_last_whatever_the_times_of_files(tmp_path, verdicts, counts):
    files = [
        store(tmp_path, run_document(bisection_mbps=float(n), verdict=verdict), attempt)
        for n, verdict, attempt in zip((1, 2), verdicts, ("", "-again"), strict=True)
    ]
    os.utime(files[counts], (1, 1))
    sweep = load_sweep(tmp_path)
    assert sweep.files == (files[counts],)
    assert [one.path for one in sweep.skipped] == [files[1 - counts]]
    assert [run.bisection_mbps for run in sweep.tries] == [1.0, 2.0]


def test_no_folder(tmp_path):
    with pytest.raises(ValueError, match="there is no results folder"):
        load_sweep(tmp_path / "missing")
    assert load_sweep(tmp_path).runs == ()
