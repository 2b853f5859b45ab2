"""Submissions get what they deserve, several at once. (Hostile ones: tests/hostile.)"""

import csv
import os
import signal
import subprocess

import pytest

from classroom.sandbox import find_allowed_modules, list_packages
from harness.network.processes import wait_until
from tests.classroom.mistakes import SOLUTIONS
from tests.commands import HEDERA, PATIENCE_S

pytestmark = pytest.mark.usefixtures("place")


def hand_in(folder, **files):
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


def solution(name):
    return (SOLUTIONS / f"{name}.py").read_text()


def test_no_solution_is_among_the_modules_that_can_be_imported():
    assert {"topos.links", "hedera.placement", "hedera.compiled"} <= find_allowed_modules()
    answers = {"demand", "global_first_fit", "simulated_annealing", "clos", "edge_colouring"}
    assert not {f"hedera.{name}" for name in answers} & find_allowed_modules("classroom.checks")
    assert "classroom" in list_packages()


# --- several at once ----------------------------------------------------------------------------------------

STUDENTS = [f"s{n}" for n in range(4)]
ASLEEP = "import time\ndef estimate_demands(*_):\n    time.sleep(600)\n" + 9999 * "# more than a pipe holds\n"
"""It is waited for much longer than a Ctrl-C takes to arrive."""


@pytest.fixture
def course(tmp_path):
    for name in STUDENTS:
        hand_in(tmp_path / "all" / name, demand=solution("demand"))
    return tmp_path


def points(course):
    with (course / "out" / "grades.csv").open() as file:
        return {row["submission"]: float(row["points"]) for row in csv.DictReader(file)}


def gone(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_after_ctrl_c_finished_grades_are_there_and_no_process_is(course, jobs):
    """The first is graded, and its row is there; whoever comes next is still being waited for."""
    for name in STUDENTS[1:3]:
        (course / "all" / name / "demand.py").write_text(ASLEEP)
    started = subprocess.Popen(
        [HEDERA, "grade", course / "all", "--seed", "7", "--out", course / "out", "--jobs", jobs],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    first = course / "out" / "grades.csv"
    assert wait_until(lambda: first.exists() or started.poll() is not None, PATIENCE_S)
    assert first.exists()
    os.killpg(started.pid, signal.SIGINT)
    _, said = started.communicate(timeout=PATIENCE_S)
    assert (started.returncode, "Traceback" in said) == (130, False), said
    # Python's own helper of several processes ends when it hears that they did.
    assert wait_until(lambda: gone(started.pid), PATIENCE_S), "nothing that it started is left"
    assert points(course) == {"s0": 20.0}
