"""How somebody's code is isolated, on machines that differ: where the environment lies, what bubblewrap can do."""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from classroom.sandbox import require_closed, start_closed
from classroom.submission import Budget, Code, Misbehaved, Start, Submission, Unfit, _is_asleep, _list_family
from tests.commands import HEDERA
from tests.fakes import machine_with

HONEST = (Path(__file__).with_name("solutions") / "demand.py").read_text()


def told(place, body, call_s=20.0, budget=None):
    """What a function of a submission gives, as numbers; it has ``src`` and ``num_hosts``."""
    lines = "\n    ".join(body.strip().splitlines())
    code = Code("theirs.py", f"import os, sys\ndef f(src, dst, num_hosts):\n    {lines}\n", "f")
    submission = Submission(lambda hash_seed: start_closed(place, 20, hash_seed), code, call_s, budget or Budget())
    (replies,) = submission.ask([[{"src": [0], "dst": [1], "hosts": 4}]])
    replies.begin()
    answer = replies.next()
    return None if answer.odd else answer.values["demand"].tolist()


def test_an_environment_below_tmp(place, monkeypatch):
    """A clone in /tmp has its Python there, where an isolated process has an empty folder of its own."""
    with tempfile.TemporaryDirectory(prefix="hedera-test-", dir="/tmp") as name:
        environment = Path(name) / "clone" / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        (there,) = environment.glob("lib/python3*/site-packages")
        source = Path(numpy.__file__).parent
        for folder in (source, source.with_name("numpy.libs")):
            if folder.is_dir():
                shutil.copytree(folder, there / folder.name)
        monkeypatch.setattr(sys, "prefix", str(environment))
        require_closed(place)
        assert told(place, f"return [float(os.listdir('/tmp') == [{Path(name).name!r}])]") == [1.0]


def test_what_is_hidden_in_folders_that_are_shown(place):
    """Others' work is not seen where it lies beside Python itself."""
    shown = Path(numpy.__file__).resolve().parent / "random"
    look = f"return [float(len(os.listdir({str(shown)!r})))]"
    assert told(place, look)[0] > 0
    masked = replace(place, hidden=(shown,))
    assert told(masked, look) == [0.0]
    assert told(masked, f"return [float(os.access({str(shown)!r}, os.W_OK))]") == [0.0]


def pretend(monkeypatch, folder, script):
    """A bubblewrap that is found first."""
    (folder / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions to create"),
        ("printf '\\033[2J\\033]0;owned\\007' >&2; exit 1", r"\\x1b\[2J"),
        ("exit 0", "Python did not start"),
    ],
)
def test_a_machine_that_does_not_isolate_is_refused_with_its_own_words(place, monkeypatch, tmp_path, script, words):
    pretend(monkeypatch, tmp_path, script)
    with pytest.raises(Unfit, match=words):
        require_closed(place)


@pytest.mark.root
def test_grading_stops_with_status_3_where_it_cannot_isolate(tmp_path):
    """Nobody gets 0 points for what the machine lacks."""
    (tmp_path / "class" / "alice").mkdir(parents=True)
    (tmp_path / "class" / "alice" / "demand.py").write_text(HONEST)
    words = [*machine_with(tmp_path, bwrap="echo 'bwrap: no' >&2; exit 1"), HEDERA, "grade", "class", "--seed", "1"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "(bwrap: no" in done.stderr
    assert "or use --unprotected" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results" / "grades" / "grades.csv").exists()


def test_a_start_that_fails_is_the_machine_s_fault():
    """Not a submission's, which has not been read yet: grading stops, it does not give 0 points."""
    broken = Start(("sh", "-c", "exit 3"), {"PATH": os.environ["PATH"]})
    submission = Submission(lambda _: broken, Code("demand.py", HONEST, "estimate_demands"))
    with pytest.raises(Unfit, match=r"did not start to run a submission: its process ended \(status 3\)"):
        submission.load()


def test_a_budget_that_is_used_up_starts_nothing(place):
    budget = Budget(5.0)
    budget.left_s = 0.0
    with pytest.raises(Misbehaved, match="its 5 s in all are used up"):
        told(place, "return [1.0]", budget=budget)


def test_compiled_loops_work_in_it(place):
    """What docs/own-scheduler.md offers: Numba, whose cache goes where an isolated process may write."""
    body = """
from hedera.compiled import compiled
@compiled
def twice(x):
    return 2 * x
return [float(twice(21))]
"""
    assert told(place, body, call_s=60) == [42.0]


def test_processes_that_end_while_they_are_looked_at_are_no_answer_of_the_submission():
    shell = subprocess.Popen(["sh", "-c", "while :; do /bin/true & /bin/true & wait; done"])
    try:
        for _ in range(2000):  # of which some come just as one ends
            for process in _list_family(shell.pid):
                _is_asleep(process)
    finally:
        shell.kill()
        shell.wait()
