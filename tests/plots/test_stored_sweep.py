import csv
import os
import statistics

import pytest
from click.testing import CliRunner

from harness.cli.report import report
from plots.export import export, keep
from plots.stored_sweep import load_sweep
from plots.summary import summarise
from record.run import ARCHIVE
from tests.commands import PROJECT, asked
from tests.harness.test_cli import assert_one_sentence
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
    store(tmp_path, run_document("stride:8", "ecmp", settings={"link_mbps": 5.0}))
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


PATTERN = "published:stride4"


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def sweep(tmp_path):
    """Two trials of three schemes, one run twice; flows of one were moved twice and back."""
    folder = write_sweep(tmp_path / "mine", [PATTERN], ["nonblocking", "ecmp", "hedera-sa"], trials=2)
    store(folder, run_document(PATTERN, "random", verdict="invalid", reasons=["too slow", "by far"]))
    store(folder, run_document(PATTERN, "random"), attempt="-again")
    paths = [{"t": 0.0, "core": 2}, {"t": 1.0, "core": 2}, {"t": 2.0, "core": 1}, {"t": 4.0, "core": 2}]
    flows = [{"src": 0, "dst": 4, "mbps": 9.1, "paths": paths}, {"src": 1, "dst": 5, "mbps": 4.0}]
    store(folder, run_document(PATTERN, "hedera-sa", 2, flows=flows, queue_drops={"0_0_1-eth1": 3, "0_0_1-eth3": 4}))
    (folder / "sweep.json").write_bytes((PROJECT / "results/figure9/sweep.json").read_bytes())
    return folder


def test_a_row_for_each_run_that_counts_with_the_summary_s_share_and_one_for_each_of_its_flows(sweep, tmp_path):
    export(sweep, tmp_path / "out")
    found, flows = (rows(tmp_path / "out" / name) for name in ("runs.csv", "flows.csv"))
    assert len({row["run"] for row in found}) == len(found) == 7
    bars = summarise(load_sweep(sweep)).bars
    for scheme in ("nonblocking", "ecmp", "hedera-sa", "random"):
        own = [float(row["share_of_control"]) for row in found if row["scheme"] == scheme]
        assert statistics.median(own) == pytest.approx(bars[PATTERN, scheme].median_ratio)
    (moved,) = (row for row in found if (row["scheme"], row["trial"]) == ("hedera-sa", "2"))
    assert (moved["moves"], moved["dropped_packets"], moved["flows"]) == ("2", "7", "2")
    assert (moved["link_mbps"], moved["queue"], moved["disturb"]) == ("10.0", "50", "")
    assert float(moved["published_share"]) == pytest.approx(0.966, abs=0.05)
    assert len(flows) == sum(int(run["flows"]) for run in found) == 8
    assert {flow["run"] for flow in flows} == {run["run"] for run in found}
    moved, other = (row for row in flows if (row["scheme"], row["trial"]) == ("hedera-sa", "2"))
    assert (moved["flow"], moved["src"], moved["dst"], moved["mbps"]) == ("0", "0", "4", "9.1")
    assert (moved["first_core"], moved["last_core"], moved["moves"]) == ("2", "2", "2")
    assert (other["first_core"], other["moves"], other["completion_s"]) == ("", "0", "")


def test_what_has_no_run_is_one_sentence(tmp_path):
    assert_one_sentence(asked("export", tmp_path), 2, "has no run (run.json) to export")
    write_sweep(tmp_path / "mine", [PATTERN], ["ecmp"])
    assert_one_sentence(asked("report", tmp_path / "mine", "--publish", tmp_path / "out"), 2, "sweep.json")
    assert not (tmp_path / "out").exists()


def test_what_is_kept_reads_as_the_sweep_does(sweep, tmp_path):
    files = keep(sweep, tmp_path / "kept")
    assert [path.name for path in files] == [ARCHIVE, "sweep.json", "summary.csv", "differences.csv", "seeds.csv"]
    before, after = load_sweep(sweep), load_sweep(tmp_path / "kept")
    assert after.runs == before.runs
    assert len(after.tries) == len(before.tries) == 8
    with pytest.raises(ValueError, match=r"has no run \(run.json\) to keep"):
        keep(tmp_path / "kept", tmp_path / "again")
    (tmp_path / "kept" / ARCHIVE).write_bytes(b"nonsense")
    assert [one.reason for one in load_sweep(tmp_path / "kept").skipped] == ["is no archive of runs"]


def test_a_run_that_was_set_aside_counts_neither_in_its_sweep_nor_in_what_is_kept_of_it(sweep, tmp_path):
    before = load_sweep(sweep)
    (run, *_) = before.runs
    aside = store(sweep, run_document(run.traffic, run.scheme, run.trial, bisection_mbps=1.0), ".0123456789abcdef")
    keep(sweep, tmp_path / "kept")
    for folder in (sweep, tmp_path / "kept"):
        found = load_sweep(folder)
        assert found.runs == before.runs
        assert aside.relative_to(sweep) in [one.path.relative_to(folder) for one in found.skipped]


def test_no_folder(tmp_path):
    with pytest.raises(ValueError, match="there is no results folder"):
        load_sweep(tmp_path / "missing")
    assert load_sweep(tmp_path).runs == ()
