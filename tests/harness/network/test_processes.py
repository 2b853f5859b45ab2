"""Children end with the harness, whatever ends it; these run real processes, no root needed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.network import netlink, processes
from harness.network.processes import Children, deadline, hurry, run_program, tie_to_us, wait_until
from record.errors import RunFailed
from tests.commands import PATIENCE_S, alive, ran


def test_leaving_the_block_ends_every_child(tmp_path):
    with pytest.raises(ZeroDivisionError), Children() as children:
        polite = children.spawn("sleep", ["sleep", "60"])
        deaf = ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"]
        stubborn = children.spawn("stubborn", deaf, output=tmp_path / "said")
        died = children.spawn("died", ["false"])
        died.wait()
        assert wait_until(lambda: (tmp_path / "said").read_text() == "deaf\n", PATIENCE_S)
        assert children.dead() == ["died (status 1)"]
        _ = 1 / 0
    assert polite.returncode == -signal.SIGTERM
    assert stubborn.returncode == -signal.SIGKILL


def test_one_that_is_started_as_ctrl_c_comes_is_ended_too(monkeypatch):
    start, started = subprocess.Popen, []

    def interrupted(*words, **settings):
        started.append(start(*words, **settings))
        os.kill(os.getpid(), signal.SIGINT)
        return started[-1]

    monkeypatch.setattr(processes.subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt), Children() as children:
        children.spawn("sleep", ["sleep", "600"])
    assert started[0].poll() is not None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_kill_9_of_the_harness_ends_its_children(tmp_path):
    program = (
        "import time\nfrom harness.network.processes import Children\n"
        "with Children() as c:\n    print(c.spawn('x', ['sleep', '60']).pid, flush=True)\n    time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    # The child ties itself to its parent before it becomes `sleep`.
    command = Path(f"/proc/{pid}/cmdline")
    assert wait_until(lambda: command.read_bytes() == b"sleep\x0060\x00", PATIENCE_S)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert wait_until(lambda: not alive(pid), PATIENCE_S)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["ls", "/nowhere"], r"ls /nowhere failed: .*No such file"),
        (["sleep", "60"], r"^sleep 60 did not end within 2 s$"),
        (["no-such-program"], r"^no-such-program could not be started: No such file"),
    ],
)
def test_a_command_that_fails_or_hangs_or_is_not_there_says_so(command, said):
    with pytest.raises(RunFailed, match=said):
        run_program(command, seconds=2)


def test_output_goes_to_the_file_and_nobody_stands_where_the_user_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_program(["cat"], stdin_text="in and out") == "in and out"
    with Children() as children:
        children.spawn("echo", ["sh", "-c", "pwd; echo err >&2"], output=tmp_path / "log").wait()
    assert sorted((tmp_path / "log").read_text().split()) == ["/", "err"]


def test_one_that_even_a_kill_does_not_end_is_given_up(monkeypatch):
    """As a process that waits for a device; here one that nobody kills."""
    monkeypatch.setattr(processes, "REAP_S", 0.1)
    monkeypatch.setattr(processes, "_send_signal", lambda child, number: None)
    with Children() as children:
        child = children.spawn("sleep", ["sleep", "60"])
    assert child.poll() is None
    child.kill()
    child.wait()


def test_nothing_is_started_for_a_parent_that_has_ended():
    done = ran(*tie_to_us()[:-1], "1234567", "echo", "alive")
    assert (done.returncode, done.stdout) == (125, "")
    assert ran(*tie_to_us(), "echo", "alive", check=True).stdout == "alive\n"


# --- deadlines ---


@pytest.mark.parametrize(("limit_s", "hurries"), [(0.1, False), (PATIENCE_S / 2, True)])
def test_a_tear_down_that_hangs_as_well_is_got_over_and_who_is_in_a_hurry_waits_for_no_long_deadline(
    monkeypatch, limit_s, hurries
):
    monkeypatch.setattr(processes, "AGAIN_S", 0.1)
    begin = time.monotonic()
    with pytest.raises(RunFailed, match="it hangs"), deadline(limit_s, "it hangs"):
        try:
            if hurries:
                hurry()
            time.sleep(PATIENCE_S)
        finally:
            time.sleep(PATIENCE_S)
    assert time.monotonic() - begin < PATIENCE_S - 1


def net(pid):
    return os.readlink(f"/proc/{pid}/ns/net")


@pytest.mark.root
def test_it_is_a_namespace_of_its_own_and_ours_is_not_left(pid):
    ours = net("self")
    assert net(pid) != ours
    assert netlink.call_inside(pid, lambda: net("thread-self")) == net(pid)
    assert net("thread-self") == ours
    with pytest.raises(ZeroDivisionError):
        netlink.call_inside(pid, lambda: 1 // 0)


@pytest.mark.root
def test_what_is_started_there_is_born_there_without_a_program_that_enters_it(pid):
    assert run_program(["readlink", "/proc/self/ns/net"], namespace=pid).strip() == net(pid)
    with Children() as children:
        child = children.spawn("sleeper", ["sleep", "60"], namespace=pid)
        assert net(child.pid) == net(pid)
    assert child.returncode is not None


@pytest.mark.root
def test_others_find_it_by_its_number_as_they_would_a_process(pid):
    """As `ip link ... netns PID` and `mnexec -a PID` do."""
    run_program(
        ["ip", "link", "add", "a-eth1", "netns", str(pid), "type", "veth", "peer", "name", "a-eth2"], namespace=pid
    )
    found = ran("mnexec", "-a", pid, "ip", "link", check=True).stdout
    assert "a-eth1" in found
    assert "a-eth2" in found


@pytest.mark.root
def test_it_goes_with_its_thread(pid):
    netlink.release_namespace(pid)
    assert wait_until(lambda: not os.path.exists(f"/proc/{pid}"), PATIENCE_S), "the thread takes a moment"
