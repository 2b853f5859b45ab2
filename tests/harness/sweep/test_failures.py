"""Whatever goes wrong in a run is that run's reason; nothing but the user, the disk or the machine ends a sweep."""

import errno
import os
import shutil
import subprocess

import pytest

from harness.run import experiment
from harness.run.emulation import Emulation
from harness.run.experiment import run_experiment
from harness.verdict.result import judge_files
from record.errors import RunFailed, UnfitMachine
from record.spec import RunSpec, compute_longest_s

SPEC = RunSpec("ecmp", "stride:4", seconds=3, link_mbps=10, time="real")


@pytest.fixture
def failing(tmp_path, bare, monkeypatch):
    """A run that fails as it is told."""

    def run(carry_out):
        monkeypatch.setattr(Emulation, "carry_out", lambda self: carry_out())
        run_experiment(SPEC, lambda raw: shutil.copytree(raw, tmp_path / "run"))
        return judge_files(SPEC, tmp_path / "run")

    return run


def raising(error):
    def carry_out():
        raise error

    return carry_out


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RunFailed("tc failed: line one\n\tline two \x1b[2J"), "tc failed: line one line two \\x1b[2J"),
        (subprocess.TimeoutExpired(["tc", "-batch"], 60), "timeout expired: Command '['tc', '-batch']' timed out"),
        (OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)), "blocking io error: "),
        (MemoryError(), "memory error"),
    ],
)
def test_any_failure_is_the_reason_of_that_run(tmp_path, failing, error, words):
    result = failing(raising(error))
    assert result.verdict == "invalid"
    assert result.bisection_mbps is None
    (reason,) = result.reasons
    assert words in reason
    assert type(error).__name__ in (tmp_path / "run" / "traceback.txt").read_text()


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (KeyboardInterrupt(), KeyboardInterrupt),
        (SystemExit(1), SystemExit),
        (UnfitMachine("no cubic"), UnfitMachine),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), RunFailed),
    ],
)
def test_what_stops_the_next_run_as_well_stops_the_sweep(tmp_path, failing, error, raised):
    with pytest.raises(raised):
        failing(raising(error))
    assert not (tmp_path / "run").exists()


def torn_down_with(error):
    def carry_out():
        try:
            raise RunFailed("the first reason")
        finally:
            raise error

    return carry_out


def test_a_tear_down_that_fails_does_not_hide_why(failing):
    assert failing(torn_down_with(OSError(errno.EBUSY, "tear-down"))).reasons == ("the first reason",)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_ctrl_c_in_the_tear_down_of_a_failed_run_ends_the_sweep(tmp_path, failing, error):
    with pytest.raises(error):
        failing(torn_down_with(error))
    assert not (tmp_path / "run").exists()


def test_a_run_that_hangs_is_ended_with_a_reason(failing, monkeypatch):
    monkeypatch.setattr(experiment, "compute_longest_s", lambda spec: 0.2)
    result = failing(lambda: subprocess.run(["sleep", "60"], check=True))
    assert result.reasons == ("the run did not end within 0 s: something hangs",)


@pytest.mark.parametrize("bw", [0.1, 10])
@pytest.mark.parametrize("k", [4, 8])
def test_no_run_that_goes_well_is_taken_to_hang(k, bw):
    spec = RunSpec("ecmp", "stride:4", k=k, link_mbps=bw, seconds=60)
    assert compute_longest_s(spec) > 60 + 1.2 * (8 / bw) + 300, (
        "the traffic, what is still to be sent, and five minutes"
    )
