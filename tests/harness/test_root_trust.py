"""Root as it should be: it takes no code from the folder the user stands in, and leaves nothing of its own behind."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from harness.network.processes import wait_until
from tests.commands import HEDERA, PATIENCE_S, PROJECT, hedera, ran
from tests.harness.real_runs import LONG, footprint, sends, working_for

pytestmark = [pytest.mark.root, pytest.mark.alone]

NOBODY = 65534
SUDO = {**os.environ, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}


def of_root(folder):
    return ran("find", folder, "-uid", "0", check=True).stdout


SWEEP = ("sweep", 1, 3, "--patterns", "stride:4", "--schemes", "nonblocking,ecmp", "--bw", 2, "--name", "s")


def test_nothing_below_the_user_s_folder_is_root_s(theirs, clean):
    here = {"cwd": theirs, "env": SUDO, "timeout": 200}
    done = hedera("run", "--scheme", "ecmp", "--traffic", "stride:4", "--seconds", 3, "--bw", 2, **here)
    assert "Mb/s" in done.stdout, done.stderr
    assert (theirs / "results" / "runs" / "single").is_dir()
    assert of_root(theirs) == ""
    swept = hedera(*SWEEP, **here)
    assert "stride:4" in swept.stdout, swept.stderr
    place = theirs / "results" / "runs" / "s"
    assert (place / "figures" / "figure9.png").exists()
    assert (place / "report.html").exists()
    assert of_root(theirs) == ""
    (place / "report.html").unlink()
    reported = hedera("report", place, **here)
    assert reported.returncode == 0, reported.stderr
    assert (place / "report.html").exists()
    assert of_root(theirs) == ""


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=LONG), signal.SIGKILL])
def test_nor_after_a_sweep_that_was_cut_short(theirs, number):
    before = footprint()
    process = subprocess.Popen(
        [HEDERA, *map(str, SWEEP)], cwd=theirs, env=SUDO, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert wait_until(lambda: working_for(process) is not None and sends(), PATIENCE_S)
    process.send_signal(number)
    process.wait(PATIENCE_S)
    assert of_root(theirs) == ""
    hedera("clean", check=True)
    assert wait_until(lambda: footprint() == before, PATIENCE_S)


def test_a_person_who_cannot_read_the_clone_is_told_so(tmp_path):
    tmp_path.chmod(0o700)
    shutil.copy(PROJECT / "hedera_harness.py", tmp_path)
    (tmp_path / "harness").symlink_to(PROJECT / "harness")
    program = "import sys; sys.path.insert(0, sys.argv[1]); import hedera_harness as h; h.main()"
    done = ran(sys.executable, "-c", program, tmp_path, env=SUDO)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
    assert f"user {NOBODY}, for whom sudo runs this" in done.stderr
