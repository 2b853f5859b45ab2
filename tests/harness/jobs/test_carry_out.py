"""The one loop: what comes back is judged, stored whole or not at all, and tried once more where that may help."""

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import msgspec
import pytest

from harness.jobs.carry_out import RESULT, Planned, alone_in, carry_out_all, new_folder, read_run, run_job
from harness.run.job import Circumstances, Job
from harness.run.observation import OBSERVATION_FILE
from harness.sweep import TrafficSpec, plan
from record import run as record
from record.errors import RunFailed, UnfitMachine, UserMistake, WorkerFailed
from record.files import remove_partial
from tests.harness.jobs.made import SPEC, Carrier, carried, result

REAL = replace(SPEC, time="real", controller_delay_ms=None, start_spread_ms=None)


class Watcher:
    def __init__(self):
        self.ran = []

    def done(self, planned, run):
        self.ran.append((planned.spec.scheme, planned.spec.trial, run.verdict))

    def look(self, doing):
        pass


def jobs_in(folder, spec=SPEC, trials=2):
    return plan(spec, [TrafficSpec("stride:4")], ["nonblocking", "ecmp"], trials, folder)


def partial(folder):
    return [path.name for path in folder.rglob("*") if path.name.endswith(".partial")]


def test_a_run_is_stored_with_its_raw_files_and_never_overwritten(tmp_path):
    run = carried(tmp_path / "a" / "run")
    assert read_run(tmp_path / "a" / "run") == run
    assert (run.key, run.emulator) == (Job(SPEC, {}).key, Job(SPEC, {}).emulator)
    assert (tmp_path / "a" / "run" / "controller.jsonl").exists()
    assert partial(tmp_path) == []
    with pytest.raises(RunFailed, match="never overwritten"):
        carried(tmp_path / "a" / "run", lambda spec: result(spec, bisection_mbps=7.0))
    assert read_run(tmp_path / "a" / "run") == run


@pytest.mark.parametrize("environment", [{"source": "0" * 16}, {}])
def test_what_was_made_with_other_code_does_not_count(tmp_path, environment):
    lost = carried(tmp_path / "run", lambda spec: result(spec, environment=environment))
    assert lost.verdict == "lost"
    assert "other code" in lost.reasons[0]
    assert lost.bisection_mbps is None
    assert os.listdir(tmp_path / "run") == [RESULT], "nothing that came is kept"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"begin": "now"}', "{}"])
def test_a_run_of_which_what_was_seen_cannot_be_read_is_lost(tmp_path, text):
    class Broken(Carrier):
        def carry(self, job, place, on_stage):
            (place / OBSERVATION_FILE).write_text(text)
            return Circumstances()

    assert run_job(Job(SPEC, {}), tmp_path / "run", Broken()).verdict == "lost"
    assert read_run(tmp_path / "run").verdict == "lost"


def test_what_only_the_host_knows_is_in_the_result(tmp_path):
    class Slow(Carrier):
        def carry(self, job, place, on_stage):
            super().carry(job, place, on_stage)
            return Circumstances(environment={"guest_mode": "ptrace"}, doubt="its time was real")

    found = run_job(Job(SPEC, {}), tmp_path / "run", Slow())
    assert (found.verdict, found.reasons[0]) == ("invalid", "its time was real")
    assert found.environment["guest_mode"] == "ptrace"
    assert "source" in found.environment


@pytest.mark.parametrize(
    "flaw", [{"bisection_mbps": float("nan")}, {"verdict": "perhaps"}, {"flows": None}, {"flows": ({1},)}]
)
def test_a_result_that_could_not_be_read_again_is_a_failure_of_the_run(tmp_path, monkeypatch, flaw):
    right = result(SPEC, reasons=("it was slow",))
    monkeypatch.setattr(
        "harness.jobs.carry_out.judge_files", lambda spec, folder: msgspec.structs.replace(right, **flaw)
    )
    failed = carried(tmp_path / "run")
    assert failed.verdict == "invalid"
    assert failed.reasons[0] == "it was slow"
    assert failed.reasons[-1].startswith("its result is not what it should be: ")
    assert (read_run(tmp_path / "run"), failed.key) == (failed, Job(SPEC, {}).key)


def raising(error):
    def makes(spec):
        raise error

    return makes


def test_what_a_machine_lost_is_told_and_made_again_in_its_place(tmp_path):
    jobs, failing = jobs_in(tmp_path, trials=1), Carrier(raising(WorkerFailed("it is lost")))
    watcher = Watcher()
    carry_out_all(jobs, failing, watcher.done, watcher.look)
    assert [verdict for *_, verdict in watcher.ran] == ["lost", "lost"], "and not tried at once again"
    assert all(job.outcome().reasons == ("it is lost",) and not job.done for job in jobs)
    carry_out_all(jobs, Carrier(), watcher.done, watcher.look)
    assert all(job.outcome().valid and job.done for job in jobs)
    assert partial(tmp_path) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), UnfitMachine("no"), UserMistake("no"), RunFailed("full")])
def test_what_ends_a_sweep_stores_nothing(tmp_path, error):
    with pytest.raises(type(error)):
        carried(tmp_path / "run", raising(error))
    assert not (tmp_path / "run").exists()
    assert partial(tmp_path) == []


def test_a_sweep_is_carried_out_and_resumed_where_it_stopped(tmp_path):
    jobs = jobs_in(tmp_path)
    watcher, first = Watcher(), Carrier(lambda spec: result(spec) if spec.trial == 1 else raising(RunFailed("x"))(spec))
    with pytest.raises(RunFailed):
        carry_out_all(jobs, first, watcher.done, watcher.look)
    done = [job for job in jobs if job.next_folder() is None]
    assert {job.spec.trial for job in done} <= {1}
    second = Carrier()
    carry_out_all([job for job in jobs if job.next_folder() is not None], second, Watcher().done, Watcher().look)
    assert len(second.jobs) == len(jobs) - len(done)
    assert all(job.outcome().valid for job in jobs)


def test_in_real_time_a_run_that_does_not_count_is_tried_once_more(tmp_path, monkeypatch):
    """In virtual time it would be the same again."""
    monkeypatch.setattr("harness.network.machine.require_datapath", lambda: None)

    def too_slow(spec):
        return result(spec, verdict="invalid", reasons=("too slow",))

    for time, tries in (("real", 2), ("virtual", 1)):
        jobs = jobs_in(tmp_path / time, REAL if time == "real" else SPEC, trials=1)
        where, watcher = Carrier(too_slow), Watcher()
        carry_out_all(jobs, where, watcher.done, watcher.look)
        assert len(where.jobs) == tries * len(jobs)
        assert all(job.next_folder() is None and not job.outcome().valid for job in jobs)


def test_the_second_try_counts_where_the_first_does_not(tmp_path):
    planned = Planned(Job(REAL, {}), tmp_path / "trial-1")
    (tmp_path / "trial-1").mkdir()
    (tmp_path / "trial-1" / RESULT).write_text("{")
    assert planned.next_folder() == tmp_path / "trial-1-again"
    with new_folder(tmp_path / "trial-1-again") as place:
        record.write(place / RESULT, result(REAL))
    assert planned.outcome().valid
    assert planned.next_folder() is None


def test_ctrl_c_ends_what_is_under_way_and_keeps_what_is_done(tmp_path):
    jobs, waiting = jobs_in(tmp_path), threading.Event()

    class Slow(Carrier):
        def carry(self, job, place, on_stage):
            if job.spec.scheme == "ecmp":
                waiting.set()
                while True:
                    on_stage("sending", None)
                    threading.Event().wait(0.01)
            return super().carry(job, place, on_stage)

    class Interrupting(Watcher):
        def look(self, doing):
            if self.ran and waiting.is_set():
                raise KeyboardInterrupt

    watcher = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        carry_out_all(jobs, Slow(), watcher.done, watcher.look)
    assert {scheme for scheme, _, _ in watcher.ran} == {"nonblocking"}
    assert partial(tmp_path) == []
    kept = [job for job in jobs if job.next_folder() is None]
    assert len(kept) >= len(watcher.ran)
    assert all(job.outcome().valid and job.spec.scheme == "nonblocking" for job in kept)


def test_of_two_sweeps_in_one_folder_the_second_says_so(tmp_path):
    with (
        alone_in(tmp_path),
        pytest.raises(UserMistake, match=rf"another sweep is at work in .* \(process {os.getpid()}, since"),
        alone_in(tmp_path),
    ):
        pass
    with alone_in(tmp_path):
        pass


PUBLISHING = """
import os, sys, signal
from pathlib import Path
from harness.jobs.carry_out import new_folder
at, folder = sys.argv[1], Path(sys.argv[2])
def end(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
if at == "before the rename": os.rename = end
with new_folder(folder) as place:
    if at == "empty": end()
    (place / "bwm-ng.csv").write_text("x")
    if at == "without run.json": end()
    (place / "run.json").write_text("{}")
    if at == "written": end()
"""


@pytest.mark.parametrize("at", ["empty", "without run.json", "written", "before the rename", "never"])
def test_a_crash_at_any_moment_of_storing_leaves_a_whole_run_or_none(tmp_path, at):
    done = subprocess.run([sys.executable, "-c", PUBLISHING, at, tmp_path / "s" / "run"], check=False)
    assert done.returncode == (0 if at == "never" else -signal.SIGKILL)
    assert (tmp_path / "s" / "run").exists() == (at == "never")
    left = remove_partial(tmp_path)
    assert len(left) == (at != "never")
    assert partial(tmp_path) == []
    if at == "never":
        assert sorted(os.listdir(tmp_path / "s" / "run")) == ["bwm-ng.csv", "run.json"]
