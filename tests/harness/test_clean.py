"""`hedera clean`: what it says it has done; what it finds is in tests/harness/network/test_cleanup.py."""

import os
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from harness.cli import machine as module
from harness.network.cleanup import Cleaned
from record.errors import RunFailed


@pytest.fixture
def clean(monkeypatch, tmp_path):
    """The command on a machine where nothing of ours runs or lies, unless the test says so."""
    left = Cleaned()
    monkeypatch.setattr(module.root, "may_be_root", lambda: True)
    monkeypatch.setattr(module.root, "find_root", lambda: SimpleNamespace(clean=lambda: left))
    monkeypatch.setattr(module, "find_left_by", lambda uids: {})
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return CliRunner().invoke(module.clean, [*map(str, arguments)])

    run.left = left
    return run


def half(folder, name="trial-1"):
    folder.mkdir(parents=True)
    path = folder / f".{name}.0123456789abcdef.partial"
    path.mkdir()
    (path / "run.json").touch()
    os.utime(path, (0, 0))
    return path


@pytest.mark.parametrize("named", [True, False])
def test_half_written_runs_are_found_where_results_are(clean, tmp_path, named):
    place = tmp_path / "elsewhere" if named else tmp_path / "results" / "runs"
    path = half(place / "s" / "stride_4" / "ecmp")
    done = clean(*([place] if named else []))
    assert done.output == f"removed {path if named else path.relative_to(tmp_path)}\n"
    assert not path.exists()


def test_what_could_not_be_removed_is_the_failure(clean):
    clean.left.removed.append("process 17 of run 1-2")
    clean.left.left.append("/run/hedera/1-2 (Device or resource busy)")
    done = clean()
    assert done.output == "removed process 17 of run 1-2\n"
    assert isinstance(done.exception, RunFailed)
    assert "/run/hedera/1-2 (Device or resource busy)" in str(done.exception)
