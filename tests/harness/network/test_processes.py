"""Children end with the harness, whatever ends it; these run real processes, no root needed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.errors import RunFailed
from harness.network.processes import Children, run, wait_until


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_leaving_the_block_ends_every_child():
    with Children() as children:
        polite = children.spawn("sleep", ["sleep", "60"])
        stubborn = children.spawn("stubborn", ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"])
        time.sleep(0.2)
        assert children.dead() == []
        before = time.monotonic()
    assert polite.returncode == -signal.SIGTERM
    assert stubborn.returncode == -signal.SIGKILL
    assert time.monotonic() - before < 4


def test_an_exception_ends_them_too():
    with pytest.raises(ZeroDivisionError), Children() as children:
        child = children.spawn("sleep", ["sleep", "60"])
        _ = 1 / 0
    assert child.poll() is not None


def test_a_child_that_died_is_named_with_its_status():
    with Children() as children:
        child = children.spawn("false", ["false"])
        child.wait()
        assert children.dead() == ["false (status 1)"]


def test_output_goes_to_the_file(tmp_path):
    with Children() as children:
        children.spawn("echo", ["sh", "-c", "echo out; echo err >&2"], output=tmp_path / "log").wait()
    assert sorted((tmp_path / "log").read_text().split()) == ["err", "out"]


def test_kill_9_of_the_harness_ends_its_children(tmp_path):
    program = (
        "import time\nfrom harness.network.processes import Children\n"
        "with Children() as c:\n    print(c.spawn('x', ['sleep', '60']).pid, flush=True)\n    time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    time.sleep(0.3)  # the child ties itself to its parent before it becomes `sleep`
    assert alive(pid)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert wait_until(lambda: not alive(pid), 3)


def test_a_failing_command_says_why():
    with pytest.raises(RunFailed, match=r"ls /nowhere failed: .*No such file"):
        run(["ls", "/nowhere"])
    assert run(["cat"], given="in and out") == "in and out"


def test_waiting_has_a_deadline():
    before = time.monotonic()
    assert not wait_until(lambda: False, 0.1)
    assert time.monotonic() - before < 1
    assert wait_until(lambda: True, 0)
