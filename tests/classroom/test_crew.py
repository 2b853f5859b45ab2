"""Submissions that are graded at once have the same grades as one after another; nothing is lost on the way."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.classroom.mistakes import SOLUTIONS
from tests.classroom.test_grading import pytestmark  # noqa: F401, where bubblewrap works

HEDERA = Path(sys.executable).with_name("hedera")
NAMES = [f"s{n}" for n in range(5)]
ASLEEP = "import time\nclass Loop:\n    def __init__(self, *_):\n        time.sleep(600)\n"
"""It is waited for much longer than a Ctrl-C takes to arrive."""


@pytest.fixture
def course(tmp_path):
    submit(tmp_path, NAMES)
    return tmp_path


def submit(course, names):
    for name in names:
        (course / "all" / name).mkdir(parents=True, exist_ok=True)
        (course / "all" / name / "loop.py").write_text((SOLUTIONS / "loop.py").read_text())


def command(course, *more):
    words = ["grade", course / "all", "--seed", "7", "--out", course / "out", *more]
    return [HEDERA, *map(str, words)]


def gone(group):
    end = time.monotonic() + 20  # Python's own helper of several processes ends when it hears that they did
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def points(course):
    with (course / "out" / "grades.csv").open() as file:
        return {row["submission"]: float(row["points"]) for row in csv.DictReader(file)}


def test_several_at_once_are_graded_and_what_is_graded_is_not_graded_again(course):
    done = subprocess.run(
        command(course, "--jobs", "2", "--format", "gradescope"),
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "5 submissions to grade, 2 at once: typically about " in done.stderr
    assert points(course) == dict.fromkeys(NAMES, 10.0)
    assert json.loads((course / "out/gradescope/s0.json").read_text())["score"] == 10
    (course / "all" / "s3" / "loop.py").write_text("Loop = 1")
    again = subprocess.run(command(course), capture_output=True, text=True, check=False, timeout=300)
    assert again.returncode == 0, again.stderr
    assert "1 submissions to grade" in again.stderr
    assert "4 already graded" in again.stderr
    assert points(course) == {**dict.fromkeys(NAMES, 10.0), "s3": 0.0}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_after_ctrl_c_it_goes_on_where_it_ended(course, jobs):
    """The first is graded, and its row is there; whoever comes next is still being waited for."""
    for name in NAMES[1:3]:
        (course / "all" / name / "loop.py").write_text(ASLEEP)
    started = subprocess.Popen(
        command(course, "--jobs", jobs),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    end = time.monotonic() + 200
    while not (course / "out" / "grades.csv").exists():
        assert started.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    os.killpg(started.pid, signal.SIGINT)
    _, said = started.communicate(timeout=100)
    assert (started.returncode, "Traceback" in said) == (130, False), said
    assert gone(started.pid), "nothing that it started is left"
    assert points(course) == {"s0": 10.0}
    submit(course, NAMES)
    again = subprocess.run(command(course), capture_output=True, text=True, check=False, timeout=300)
    assert "4 submissions to grade" in again.stderr
    assert "1 already graded" in again.stderr
    assert points(course) == dict.fromkeys(NAMES, 10.0)
