"""A sweep's store, failing or killed at its n-th write, fsync, rename, new folder or removal, for every n there is.

After each of them what is in the store is whole and all that was there before, and the same sweep goes on to its end.
"""

import builtins
import errno
import io
import itertools
import os
import shutil
import sys
import tempfile
import traceback

import pytest

from harness.errors import HarnessError
from harness.run.spec import RunSpec
from harness.sweep.plan import keep_settings, plan
from harness.sweep.store import RESULT, new_run, read_run, require_writable, write_json
from harness.sweep.suites import TrafficSpec
from results.live import Live, read_live, write_live
from tests.harness.sweep.run_files import run_json

SPEC = RunSpec("ecmp", "stride:4", seconds=6, link_mbps=10, platform="os-ken", datapath="user")
TOUCHES = ("write", "fsync", "rename", "replace", "link", "mkdir", "unlink", "rmdir")
KILLED, FAILED = 9, 3


class Trap:
    """Makes the ``n``-th touch of a disk fail, or the last thing that this process does."""

    def __init__(self, n, how):
        self.n, self.how, self.seen = n, how, 0

    def set(self, patch):
        for name in TOUCHES:
            patch.setattr(os, name, self._watched(getattr(os, name)))
        for module in (io, builtins):
            patch.setattr(module, "open", self._open)

    def _watched(self, touch):
        def watched(*arguments, **named):
            return self.touch(lambda: touch(*arguments, **named))

        return watched

    def touch(self, do, do_half=lambda: None):
        self.seen += 1
        if self.seen != self.n:
            return do()
        do_half()
        if self.how == "is killed":  # before it; after it is before the next one
            os._exit(KILLED)
        number = errno.EIO if self.how == "fails" else errno.ENOSPC
        raise OSError(number, os.strerror(number))

    def _open(self, file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, **named):
        if mode.strip("rbt") == "":
            return REAL_OPEN(file, mode, buffering, encoding, errors, newline, **named)
        raw = _File(file, mode.replace("b", "").replace("t", ""), **named)
        raw.trap = self
        buffered = io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)


REAL_OPEN = io.open


class _File(io.FileIO):
    def write(self, data):
        half = bytes(data)[: len(data) // 2]
        return self.trap.touch(lambda: super(_File, self).write(data), lambda: super(_File, self).write(half))


def files_of(n):
    """What the ``n``-th try is: the first one is invalid."""
    run = run_json("ok" if n else "invalid", rate=10.0 + n, links={"a": 1.5})
    return {RESULT: run, "bwm-ng-0.csv": f"{n}\n" * 2000}


def job_of(place):
    (job,) = plan(SPEC, [TrafficSpec("stride:4", 1, 1.0)], ["ecmp"], 1, place / "results" / "s")
    return job


def sweep(place, said=lambda word, folder: None):
    """As `hedera sweep` makes one, without a network. ``said`` hears what is "made", and what is "there"."""
    folder, raw = place / "results" / "s", place / "raw"
    shutil.rmtree(raw, ignore_errors=True)  # as is done with what a killed run has left
    require_writable(folder)
    keep_settings(SPEC, folder)
    job = job_of(place)
    while (out := job.next_folder()) is not None:
        write_live(folder, Live(written=1.0, jobs=1, done=0, seconds_left=1.0))
        with new_run(out, raw):
            files = files_of(job.attempts.index(out))
            write_json(raw / RESULT, files[RESULT])
            (raw / "bwm-ng-0.csv").write_text(files["bwm-ng-0.csv"])
            said("made", out)
        said("there", out)


def child(place, trap):
    """A sweep in a process of its own that is trapped: its status, what it has said, and how many touches it took."""
    out, told = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.close(out)
            report = REAL_OPEN(told, "w", buffering=1)
            trap.set(pytest.MonkeyPatch())
            sweep(place, lambda word, folder: report.write(f"{word} {folder.name}\n"))
            status = 0
        except (HarnessError, OSError):
            status = FAILED
        except BaseException:  # noqa: BLE001, nothing of this process may get out
            traceback.print_exc()
        finally:
            report.write(f"took {trap.seen}\n")
            sys.stderr.flush()
            os._exit(status)
    os.close(told)
    said = {"made": [], "there": [], "took": ["0"]}
    with REAL_OPEN(out) as report:
        for line in report:
            word, what = line.split()
            said[word].append(what)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status, said["made"], said["there"], int(said["took"][-1])


def what_is_there(place):
    """Every run of the store by its folder's name, each as whole as it was made."""
    found = {}
    for n, folder in enumerate(job_of(place).attempts):
        if os.path.lexists(folder):
            files = files_of(n)
            assert read_run(folder).bisection_mbps == files[RESULT]["bisection_mbps"]
            assert sorted(os.listdir(folder)) == sorted(files)
            assert (folder / "bwm-ng-0.csv").read_text() == files["bwm-ng-0.csv"]
            found[folder.name] = {path.name: (path.stat().st_ino, path.read_bytes()) for path in folder.iterdir()}
    return found


def kept_elsewhere(place):
    return {path.parent.name for path in (place / "tmp").glob("hedera-unpublished-*/*/run.json")}


@pytest.mark.parametrize("how", ["fails", "is full", "is killed"])
def test_at_every_point(tmp_path, monkeypatch, how):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # what it does no process sees, but it takes its time
    for n in itertools.count(1):
        place = tmp_path / str(n)
        (place / "tmp").mkdir(parents=True)
        monkeypatch.setattr(tempfile, "tempdir", str(place / "tmp"))
        status, made, there, touches = child(place, Trap(n, how))
        if status == 0 and touches < n:
            break
        # What fails may be something that can be done without: a removal.
        assert status in ((KILLED,) if how == "is killed" else (0, FAILED)), f"touch {n}"
        found = what_is_there(place)
        assert found.keys() >= set(there), "what was said to be there is not"
        if status != KILLED:
            assert found.keys() | kept_elsewhere(place) >= set(made), "a finished run is lost"
        read_live(place / "results" / "s")  # one of ours or none
        sweep(place)
        again = what_is_there(place)
        assert again.items() >= found.items(), "a finished run was touched"
        assert sorted(again) == ["trial-1", "trial-1-again"]
        assert job_of(place).outcome().valid
        assert not list(place.glob("results/s/*/*/.*"))
        shutil.rmtree(place)
    assert n > 30
