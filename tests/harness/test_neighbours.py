"""What else runs on a machine: found in a /proc of our own making, and in the machine's."""

import os
import subprocess
import sys

import pytest

from harness.neighbours import Process, networks, processes, runs


def made(proc, pid, *words, parent=1):
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in words))
    (folder / "stat").write_text(f"{pid} (a) name) S {parent} 0")


def test_processes_but_for_this_one_and_those_above_it(tmp_path):
    made(tmp_path, 1, "init", parent=0)
    made(tmp_path, 2, "kernel thread")
    (tmp_path / "2" / "cmdline").write_bytes(b"")
    made(tmp_path, 7, "shell")
    made(tmp_path, os.getpid(), "hedera", "doctor", parent=7)
    made(tmp_path, 9999999, "other", "word")
    (tmp_path / "8").mkdir()  # has ended meanwhile
    (tmp_path / "version").write_text("not a process")
    assert list(processes(tmp_path)) == [Process(9999999, ("other", "word"))]


def test_networks_of_others():
    found = [
        Process(5, ("/usr/sbin/ovs-vswitchd", "--detach")),
        Process(6, ("ovs-vswitchd",)),
        Process(7, ("bash", "--norc", "-is", "mininet:h1")),
        Process(8, ("vi", "mininet: a book.txt", "x")),
    ]
    assert networks(found) == "2 ovs-vswitchd (process 5), 1 Mininet node (process 7)"
    assert networks(found[3:]) == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("/clone/.venv/bin/python", "-I", "/clone/.venv/bin/hedera", "run", "--k"), "hedera run --k (process 5)"),
        (("hedera", "sweep", "1", "10" * 40), "hedera sweep 1 " + "10" * 26 + "... (process 5)"),
        (("hedera", "run", "\x1b[2J"), "hedera run \\x1b[2J (process 5)"),
        (("hedera", "schemes"), None),
        (("less", "hedera"), None),
        (("grep", "a", "b", "c", "hedera", "run"), None),
    ],
)  # fmt: skip
def test_runs_of_ours(words, told):
    assert runs([Process(9, words), Process(5, words)]) == ([] if told is None else [told])


def test_a_node_of_mininet_s_on_this_machine():
    with subprocess.Popen(
        [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)", "mininet:h1"],
        stdout=subprocess.PIPE,
    ) as node:
        try:
            assert node.stdout.readline(), "it has been started"
            assert f"(process {node.pid})" in networks([one for one in processes() if one.pid == node.pid])
        finally:
            node.kill()
