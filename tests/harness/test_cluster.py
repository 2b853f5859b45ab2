"""Sweeps on Dask workers of this machine, over TLS, each run in a guest of its own; one worker is killed in a run."""

import contextlib
import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.jobs import guests
from harness.jobs.guest_files import World
from harness.network.processes import wait_until
from harness.run.job import PROGRAMS, Job, describe_first_source, make_job
from record.errors import UnfitMachine, WorkerFailed
from record.spec import RunSpec
from tests.clusters import dask_cluster
from tests.commands import HEDERA, PATIENCE_S, asked, of_user
from tests.harness.jobs.made import SPEC
from tests.harness.real_runs import LONG
from traffic import user_files


def has_guest(process):
    """Whether a worker is at a run: one of its children is a guest's kernel."""
    pids = [pid for path in Path(f"/proc/{process.pid}/task").glob("*/children") for pid in path.read_text().split()]
    found = []
    for pid in pids:
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/{pid}/exe"))
    return any("/hedera/virtual/" in exe for exe in found)


@LONG
@pytest.mark.virtual
@pytest.mark.alone
def test_no_run_is_lost_with_a_worker():
    with dask_cluster() as cluster:
        _sweep_that_loses_a_worker(cluster, cluster.worker(), cluster.worker())


def _sweep_that_loses_a_worker(cluster, first, second):
    folder, environment, address = cluster.folder, cluster.environment, cluster.address
    words = ["sweep", "1", "3", "--patterns", "stride:4", "--schemes", "nonblocking,ecmp,hedera-gff", "--bw", "2",
             "--results", str(folder), "--name", "far", "--cluster", address]  # fmt: skip
    with (folder / "sweep.txt").open("wb") as said:
        sweep = subprocess.Popen([HEDERA, *words], cwd=folder, env=environment, stdout=said, stderr=said, **of_user())
    try:
        assert wait_until(lambda: has_guest(first) and has_guest(second), PATIENCE_S), (
            folder / "sweep.txt"
        ).read_text()
        first.send_signal(signal.SIGKILL)
        assert sweep.wait(PATIENCE_S) == 0, (folder / "sweep.txt").read_text()
    finally:
        sweep.kill()
        sweep.wait()
    runs = [json.loads(path.read_text()) for path in (folder / "far").glob("*/*/trial-1*/run.json")]
    assert sorted((run["scheme"], run["verdict"]) for run in runs) == [
        ("ecmp", "ok"), ("hedera-gff", "ok"), ("nonblocking", "ok")
    ]  # fmt: skip
    assert all(run["environment"]["time"] == "virtual" for run in runs)


@pytest.mark.parametrize("words", [["sweep", "1", "3"], ["figure", "10"]], ids=["runs", "simulations"])
def test_what_is_not_encrypted_is_refused(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = asked(*words, "--cluster", "tcp://127.0.0.1:8786")
    assert done.returncode == 2
    assert "a cluster is tls://HOST:PORT, not 'tcp://127.0.0.1:8786'" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def older(data):
    raise AssertionError


def on_worker(data, fingerprint):
    raise TypeError("a mistake")


def test_a_worker_of_another_version_is_named_and_a_mistake_of_ours_is_not_taken_for_one(tmp_path, monkeypatch):
    for function, expected in ((older, UnfitMachine), (on_worker, TypeError)):
        monkeypatch.setattr(guests, "run_on_worker", function)
        with ThreadPoolExecutor(1) as threads, pytest.raises(expected, match=r"other code|a mistake"):
            guests.Workers(threads, 1).carry(Job(SPEC, {}), tmp_path, lambda stage, progress: None)


FLOWS = "src_host,dst_host\n" + "0,5\n" * 40
"""More of them than hosts, so that they decide what the guest takes."""


def booted(monkeypatch, carry):
    """The processes that guests get while ``carry`` runs, none of which boots."""
    asked = []

    def boot(*words, processes, **more):
        asked.append(processes)
        raise WorkerFailed("it does not boot")

    image = guests.GuestImage(SimpleNamespace(linux=Path("linux")), (), "{}", World({}, "python", ()))
    monkeypatch.setattr(guests, "Guest", boot)
    monkeypatch.setattr(guests, "prepare", lambda say: image)
    monkeypatch.setattr(guests, "require_fit", lambda same_code: None)
    with pytest.raises(WorkerFailed, match="does not boot"):
        carry(image)
    return asked


@pytest.mark.parametrize("there", [None, "src_host,dst_host\n0,5\n"], ids=["no file", "another file"])
@pytest.mark.parametrize("on_worker", [True, False])
def test_what_a_guest_takes_is_reckoned_with_the_job_s_files(there, on_worker, tmp_path, monkeypatch):
    matrix = tmp_path / "m.csv"
    matrix.write_text(FLOWS)
    job = make_job(RunSpec("ecmp", f"file:{matrix}", seconds=6, time="virtual", platform="os-ken"))
    matrix.unlink() if there is None else matrix.write_text(there)
    monkeypatch.setattr(user_files, "_only_job_files", False)

    def carry(image):
        if on_worker:
            guests.run_on_worker(job.encoded(), describe_first_source().fingerprint)
        else:
            guests.Guests(image, 1).carry(job, tmp_path, lambda stage, progress: None)

    assert booted(monkeypatch, carry) == [PROGRAMS + 40]
    assert not user_files.job_files
