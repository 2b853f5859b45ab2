"""The child that stays root: what it reads is bounded and a job, it writes below its own folder, it runs nothing of
the user's, and it ends what is under way when nobody waits any more."""

import os
import signal
import struct
import time

import pytest

from harness import root
from harness.network import cleanup
from harness.network.processes import wait_until
from harness.run import experiment
from harness.run.emulation import Emulation
from harness.run.job import make_job
from harness.verdict.result import judge_files
from hedera.schemes import find_scheme
from record.errors import RunFailed, UserMistake
from record.spec import RunSpec
from tests.commands import PATIENCE_S
from tests.harness.run.test_job import SCHEDULER


@pytest.fixture
def child(bare, monkeypatch):
    """A root child whose runs do as they are told in place of a network's."""
    started = []

    def start(carry_out=lambda self: None):
        monkeypatch.setattr(Emulation, "carry_out", carry_out)
        started.append(root.start_root())
        return started[-1]

    yield start
    for one in started:
        one.close()


def carried(one, place, scheme_name="ecmp", on_stage=lambda stage, progress: None):
    place.mkdir()
    job = make_job(RunSpec(scheme_name, "stride:4", seconds=6, time="real", platform="os-ken"))
    one.carry(job, place, on_stage)
    return judge_files(job.spec, place)


def failing(self):
    self._say("sending")
    raise RunFailed("it did not work")


def test_it_answers_with_the_run_and_its_raw_files_and_then_takes_the_next(child, tmp_path):
    one, heard = child(failing), []
    for name in ("a", "b"):
        run = carried(one, tmp_path / name, on_stage=lambda stage, progress: heard.append(stage))
        assert run.reasons == ("it did not work",)
        assert "RunFailed" in (tmp_path / name / "traceback.txt").read_text()
    assert {"sending", "handing over"} <= set(heard)
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "home"], "it writes below its own folder alone"
    assert wait_until(lambda: not list((tmp_path / "home").glob("*-*")), PATIENCE_S)


def test_it_does_not_run_the_user_s_scheduler(child, tmp_path, monkeypatch):
    """The class is looked up as the run does, and the run is written; the file is not imported by root's process."""
    file, marker = tmp_path / "mine.py", tmp_path / "marker"
    file.write_text(SCHEDULER.format(marker=str(marker)))

    def asking(self):
        marker.unlink()  # what the user's own process wrote
        raise RunFailed(f"{find_scheme(self.spec.scheme).absolute} {self.spec.workload().name}")

    run = carried(child(asking), tmp_path / "run", f"{file}:Mine")
    assert run.reasons == (f"{file}:Mine stride:4",)
    assert not marker.exists()


def test_what_is_no_job_is_refused_and_the_child_goes_on(child, tmp_path):
    one = child(failing)
    one.connection.send_bytes(root._JOB + b'{}\n{"scheme": "/etc/shadow"}')
    answer = one.connection.recv()
    assert isinstance(answer, UserMistake)
    assert "no job" in str(answer)
    assert carried(one, tmp_path / "run").verdict == "invalid"


def test_a_message_that_is_too_long_is_not_read(child):
    one = child()
    os.write(one.connection.fileno(), struct.pack("!i", root.LIMIT + 1))
    assert wait_until(lambda: os.waitpid(one.pid, os.WNOHANG)[0] == one.pid, PATIENCE_S)


def test_what_nobody_expected_is_told_and_so_is_a_child_that_is_gone(child, tmp_path, monkeypatch):
    with pytest.raises(RunFailed, match="the process that is root has ended"):
        carried(child(lambda self: os._exit(1)), tmp_path / "a")
    monkeypatch.setattr(experiment, "run_experiment", lambda *_, **__: 1 / 0)
    with pytest.raises(RunFailed, match=r"nobody expected .ZeroDivisionError"):
        carried(child(), tmp_path / "b")


@pytest.mark.parametrize("asked", ["clean", "examine"])
@pytest.mark.parametrize("gone", [True, False])
def test_a_child_that_died_is_told_whatever_it_is_asked(child, asked, gone, monkeypatch):
    monkeypatch.setattr(cleanup, "remove_leftovers", lambda: os._exit(1))
    monkeypatch.setattr("harness.doctor.examine_as_root", lambda: os._exit(1))
    one = child()
    if gone:
        os.kill(one.pid, signal.SIGKILL)
        os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(RunFailed, match="has ended"):
        getattr(one, asked)()


def stop(stage, progress):
    """As Ctrl-C while a run sends."""
    if stage == "sending":
        raise KeyboardInterrupt


def test_when_the_user_s_process_ends_the_run_is_torn_down_and_nothing_cuts_that_short(child, tmp_path):
    """After several jobs too: it is interrupted once."""
    told = tmp_path / "told"

    def hangs(self):
        if not (tmp_path / "last").exists():
            raise RunFailed("the first")
        try:
            self._say("sending")
            time.sleep(60)
        finally:
            for step in range(5):
                time.sleep(0.1)
                told.write_text(str(step))

    one = child(hangs)
    for name in ("a", "b", "c"):
        carried(one, tmp_path / name)
    (tmp_path / "last").touch()
    with pytest.raises(KeyboardInterrupt):
        carried(one, tmp_path / "d", on_stage=stop)
    one.close()
    assert told.read_text() == "4"
    assert not list((tmp_path / "home").glob("[0-9]*"))


@pytest.mark.parametrize(
    ("uid", "gid", "person"),
    [
        ("1000", "100", (1000, 100)),
        *((uid, "5", None) for uid in ("0", "-1", str(2**32 - 1), "9" * 20, "x", "0x3e8", "1000\n", "\u0661\u0660")),
    ],
)
def test_who_called_sudo(monkeypatch, uid, gid, person):
    monkeypatch.setenv("SUDO_UID", uid)
    monkeypatch.setenv("SUDO_GID", gid)
    assert root.find_invoker() == person
