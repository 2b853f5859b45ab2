"""Tables of a sweep for other programs: what is in them, and what reads them."""

import csv
import statistics

import pytest

from plots.export import export, keep
from plots.load import load_sweep
from plots.summary import summarise
from record.archive import ARCHIVE
from tests.harness.test_cli import ROOT, asked, assert_one_sentence
from tests.plots.sweeps import run_document, store, write_sweep

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
    (folder / "sweep.json").write_bytes((ROOT / "results/figure9/sweep.json").read_bytes())
    return folder


def test_a_row_for_each_run_that_counts_and_its_share_is_the_summary_s(sweep, tmp_path):
    export(sweep, tmp_path / "out")
    found = rows(tmp_path / "out" / "runs.csv")
    assert len({row["run"] for row in found}) == len(found) == 7
    bars = summarise(load_sweep(sweep).runs).bars
    for scheme in ("nonblocking", "ecmp", "hedera-sa", "random"):
        own = [float(row["share_of_control"]) for row in found if row["scheme"] == scheme]
        assert statistics.median(own) == pytest.approx(bars[PATTERN, scheme].median_ratio)
    (moved,) = (row for row in found if (row["scheme"], row["trial"]) == ("hedera-sa", "2"))
    assert (moved["moves"], moved["dropped_packets"], moved["flows"]) == ("2", "7", "2")
    assert (moved["link_mbps"], moved["queue"], moved["disturb"]) == ("10.0", "50", "")
    assert float(moved["published_share"]) == pytest.approx(0.966, abs=0.05)


def test_a_row_for_each_flow_that_its_run_is_found_by(sweep, tmp_path):
    export(sweep, tmp_path / "out")
    runs, flows = (rows(tmp_path / "out" / name) for name in ("runs.csv", "flows.csv"))
    assert len(flows) == sum(int(run["flows"]) for run in runs) == 8
    assert {flow["run"] for flow in flows} == {run["run"] for run in runs}
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
    assert [path.name for path in files] == [ARCHIVE, "sweep.json", "summary.csv", "differences.csv"]
    before, after = load_sweep(sweep), load_sweep(tmp_path / "kept")
    assert after.runs == before.runs
    assert len(after.tries) == len(before.tries) == 8
    with pytest.raises(ValueError, match=r"has no run \(run.json\) to keep"):
        keep(tmp_path / "kept", tmp_path / "again")
    (tmp_path / "kept" / ARCHIVE).write_bytes(b"nonsense")
    assert [one.reason for one in load_sweep(tmp_path / "kept").skipped] == ["is no archive of runs"]
