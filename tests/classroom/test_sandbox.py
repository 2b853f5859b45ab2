"""How somebody's code is closed off, on machines that differ: where the environment lies, what bubblewrap can do."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import numpy
import pytest

from classroom import sandbox
from classroom.code import Code
from classroom.group import limited_group
from classroom.probe import require_closed
from classroom.sandbox import Unfit, closed, prepared
from classroom.submission import Budget, Submission

HEDERA = Path(sys.executable).with_name("hedera")
HONEST = (Path(__file__).with_name("solutions") / "demand.py").read_text()


@pytest.fixture(scope="module")
def place():
    try:
        with prepared() as place:
            require_closed(closed(place, 5))
            yield place
    except Unfit as error:
        pytest.skip(str(error))


def told(start, body):
    """What a function of a submission gives, as numbers."""
    lines = "\n    ".join(body.splitlines())
    code = Code("theirs.py", f"import os, sys\ndef f(src, dst, num_hosts):\n    {lines}\n", "f")
    with Submission(start, code, 20) as submission:
        return submission.estimate([0], [1], 4).core.tolist()


def test_an_environment_below_tmp(place, monkeypatch):
    """A clone in /tmp has its Python there, where a closed process has an empty folder of its own."""
    with tempfile.TemporaryDirectory(prefix="hedera-test-", dir="/tmp") as name:
        environment = Path(name) / "clone" / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        (there,) = environment.glob("lib/python3*/site-packages")
        for package in (numpy, msgspec):
            source = Path(package.__file__).parent
            for folder in (source, source.with_name(f"{source.name}.libs")):
                if folder.is_dir():
                    shutil.copytree(folder, there / folder.name)
        monkeypatch.setattr(sys, "prefix", str(environment))
        start = closed(place, 20)
        require_closed(start)
        assert told(start, f"return [float(os.listdir('/tmp') == [{Path(name).name!r}])]") == [1.0]


def test_what_is_hidden_in_folders_that_are_shown(place):
    """Others' work is not seen where it lies beside Python itself."""
    shown = Path(numpy.__file__).parent / "doc"
    shown = shown if shown.is_dir() else Path(numpy.__file__).parent / "random"
    look = f"return [float(len(os.listdir({str(shown)!r})))]"
    assert told(closed(place, 20), look) > [0.0]
    start = closed(place, 20, hidden=[shown])
    assert told(start, look) == [0.0]
    assert told(start, f"return [float(os.access({str(shown)!r}, os.W_OK))]") == [0.0]


@pytest.mark.parametrize("counted", ["by namespace", "by user"])
def test_what_its_user_starts_meanwhile_takes_no_processes_from_it(place, monkeypatch, counted):
    """A desktop goes on while it grades."""
    if counted == "by user":
        monkeypatch.setattr(sandbox, "_linux", lambda: (5, 10))
    start = closed(place, 20)
    begin = """
import threading, time
for _ in range(40):
    threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
return [40.0]
"""
    programs = [subprocess.Popen(["sleep", "60"]) for _ in range(sandbox.PROCESSES)]
    try:
        assert told(start, begin.strip()) == [40.0]
    finally:
        for program in programs:
            program.kill()
            program.wait()


def test_a_bubblewrap_that_bounds_nothing(place, monkeypatch, tmp_path):
    """Before 0.7 it gives no tmpfs a size; then there is nothing that can be written to."""
    pretend(monkeypatch, tmp_path, f'[ "$1" = --help ] || exec {shutil.which("bwrap")} "$@"')
    start = closed(place, 20)
    assert "--size" not in start.command
    require_closed(start)
    can = "return [float(any(os.access(folder, os.W_OK) for folder in ('/', '/tmp', '/dev', '/dev/shm', '/code')))]"
    assert told(start, can) == [0.0]
    with Submission(start, Code("demand.py", HONEST, "estimate_demands"), 20) as submission:
        assert submission.estimate([0, 0], [1, 2], 4).core.tolist() == [0.5, 0.5]


def pretend(monkeypatch, folder, script):
    """A bubblewrap that is found first."""
    (folder / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


DOES_NOTHING = 'while [ "$1" != -- ]; do shift; done; shift; PYTHONPATH=$CODE exec "$@"'


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions to create"),
        ("printf '\\033[2J\\033]0;owned\\007' >&2; exit 1", r"\\x1b\[2J"),
        ("exit 0", "Python did not start"),
        ('case "$*" in *true*) exit 0;; esac; exit 1', "Python did not start"),
    ],
)
def test_a_machine_that_does_not_close_off_is_refused_with_its_own_words(place, monkeypatch, tmp_path, script, words):
    """`true` may run where Python does not: a real answer is what is asked for."""
    pretend(monkeypatch, tmp_path, script)
    with pytest.raises(Unfit, match=words):
        require_closed(closed(place, 5))


def test_walls_that_do_not_hold_are_refused(place, monkeypatch):
    """Everything starts, and answers, and could do what it should not."""
    walls = sandbox._walls
    monkeypatch.setattr(sandbox, "_walls", lambda *given: [word for word in walls(*given) if word != "--unshare-net"])
    with pytest.raises(Unfit, match="should be isolated sees a network here"):
        require_closed(closed(place, 5))


def test_grading_stops_with_status_3_where_it_cannot_close_off(monkeypatch, tmp_path):
    """Nobody gets 0 points for what the machine lacks."""
    (tmp_path / "class" / "alice").mkdir(parents=True)
    (tmp_path / "class" / "alice" / "demand.py").write_text(HONEST)
    pretend(monkeypatch, tmp_path, "echo 'bwrap: no' >&2; exit 1")
    done = subprocess.run(
        [HEDERA, "grade", "class", "--seed", "1"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "(bwrap: no)" in done.stderr
    assert "or use --unprotected" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results" / "grades" / "grades.csv").exists()


def test_a_start_that_fails_is_the_machine_s_fault(place):
    """Not a submission's, which has not been read yet: grading stops, it does not give 0 points."""
    start = closed(place, 5)
    broken = sandbox.Start(("sh", "-c", "exit 3"), start.environment, closed=True)
    with (
        Submission(broken, Code("demand.py", HONEST, "estimate_demands"), 20) as submission,
        pytest.raises(Unfit, match=r"did not start to run a submission: its process ended \(status 3\)"),
    ):
        submission.load()


def test_a_budget_that_is_used_up_starts_nothing(place):
    budget = Budget(5.0)
    budget.left_s = 0.0
    with Submission(closed(place, 5), Code("demand.py", HONEST, "estimate_demands"), 20, budget) as submission:
        for _ in range(2):
            with pytest.raises(Exception, match="its 5 s in all are used up"):
                submission.estimate([0], [1], 2)


def test_compiled_loops_work_in_it(place):
    """What docs/own-scheduler.md offers: Numba, whose cache goes where a closed process may write."""
    body = """
from hedera.compiled import compiled
@compiled
def twice(x):
    return 2 * x
return [float(twice(21))]
"""
    assert told(closed(place, 60), body.strip()) == [42.0]


def test_a_group_is_gone_when_it_is_over_and_one_that_was_left_too():
    with limited_group(1 << 30, 10) as procs:
        if not procs:
            pytest.skip("this machine, or this user, has no control groups")
        groups = [path.parent for path in procs]
        left = [group.with_name("hedera-grade-4194305-x") for group in groups]  # a pid that there cannot be
        for group in left:
            group.mkdir()
    assert not any(group.exists() for group in groups)
    with limited_group(1 << 30, 10) as procs:
        assert all(path.exists() for path in procs)
        assert not any(group.exists() for group in left)
