"""What is kept of a sweep tells the same as the sweep."""

import pytest

from plots.figures import write_all
from plots.keep import keep
from plots.load import load_sweep
from results.archive import ARCHIVE
from tests.plots.sweeps import run_document, store, write_sweep


@pytest.fixture
def sweep(tmp_path):
    folder = tmp_path / "sweep"
    write_sweep(folder, ["stride:4"], ["nonblocking", "ecmp", "hedera-sa"])
    store(folder, run_document("stride:4", "random", verdict="invalid", reasons=["too slow"]))
    store(folder, run_document("stride:4", "random"), attempt="-again")
    (folder / "sweep.json").write_text("{}")
    return folder


def test_it_reads_as_the_sweep_does(sweep, tmp_path):
    files = keep(sweep, tmp_path / "a" / "kept")
    assert [path.name for path in files] == [ARCHIVE, "sweep.json", "summary.csv", "differences.csv"]
    before, after = load_sweep(sweep), load_sweep(tmp_path / "a" / "kept")
    assert after.runs == before.runs
    assert len(after.tries) == len(before.tries) == 5
    assert [path.relative_to(after.folder) for path in after.files] == [
        path.relative_to(sweep) for path in before.files
    ]
    drawn = write_all(tmp_path / "a" / "kept")
    (summary,) = (path for path in drawn if path.name == "summary.csv")
    assert summary.read_text() == files[2].read_text()


def test_runs_count_before_an_archive_beside_them(sweep, tmp_path):
    (sweep / ARCHIVE).write_bytes(b"nonsense")
    assert len(load_sweep(sweep).tries) == 5
    keep(sweep, tmp_path / "kept")
    (tmp_path / "kept" / ARCHIVE).write_bytes(b"nonsense")
    found = load_sweep(tmp_path / "kept")
    assert not found.runs
    assert [str(one.reason) for one in found.skipped] == ["is no archive of runs"]


def test_what_has_no_runs_is_not_kept(sweep, tmp_path):
    keep(sweep, tmp_path / "kept")
    with pytest.raises(ValueError, match=r"has no run \(run.json\) to keep"):
        keep(tmp_path / "kept", tmp_path / "again")
    assert not (tmp_path / "again").exists()
