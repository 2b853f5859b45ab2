"""Each known mistake is found by the check that is meant for it, in grading as on the student's own machine."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from classroom.cases import NO_FLOWS, make_cases
from classroom.checks import Check, compute_earned, run_checks
from classroom.grading import UNTOUCHED
from classroom.packing import TEMPLATES
from classroom.submission import NAMES, SCHEDULER, Code
from tests.classroom.direct import Direct
from tests.classroom.mistakes import MISTAKES, SOLUTIONS, seeded
from tests.commands import PATIENCE_S

SEED = 1
ASKED = make_cases(SEED)
MILESTONES = list(NAMES)[:3]


def told(file, source, *names):
    """The findings of these checks on a file, all of them by default."""
    asked = [check for check in ASKED[file] if check["name"] in names or not names]
    return run_checks(Direct(Code("theirs.py", source, NAMES[file])), asked)


EXPLAINED = {
    "demand estimation stops after one pass": "not for one pass of EST-SRC and EST-DST",
    "integer division makes demands 0": "1 // 3 is 0",
    "receivers do not limit": "receives",
    "the two flows of a pair count as one": "shape",
    "reservations are never released": "must be what it reserved",
    "a refused move leaves its energy behind": "computed afresh",
}


SEARCHES = "it finds good states"
"""This check asks for 16 searches, which take three seconds."""
TRIED = [pytest.param(one, marks=pytest.mark.slow) if one.found_by == SEARCHES else one for one in MISTAKES]


@pytest.mark.parametrize("mistake", TRIED, ids=lambda mistake: mistake.name)
def test_a_known_mistake_is_found_and_explained(mistake):
    (one,) = told(mistake.file, seeded(mistake), mistake.found_by)
    assert not one.passed
    assert one.section
    assert one.example
    assert EXPLAINED.get(mistake.name, "") in one.words


@pytest.mark.parametrize(
    "file", [pytest.param(one, marks=pytest.mark.slow) if one == "annealing.py" else one for one in MILESTONES]
)
def test_each_check_finds_a_mistake_and_passes_what_is_right_alone(file):
    """A check that an untouched template passes by doing nothing is no check of what it does."""
    found = {mistake.found_by for mistake in MISTAKES if mistake.file == file}
    assert found == {check["name"] for check in ASKED[file]} - {NO_FLOWS}
    assert all(one.passed for one in told(file, (SOLUTIONS / file).read_text()))
    untouched = told(file, (TEMPLATES / file.replace(".py", ".txt")).read_text())
    assert [one.name for one in untouched if one.passed] == ([NO_FLOWS] if file == "demand.py" else [])


def test_a_search_that_hardly_moves_is_found():
    """The right energies of states that are hardly better than the first."""
    right = (SOLUTIONS / "annealing.py").read_text()
    lazy = right.replace("range(self.iterations, -1, -1)", "range(2, -1, -1)")
    assert lazy != right
    (one,) = told("annealing.py", lazy, SEARCHES)
    assert "the mean of 16 searches" in one.words


NO_SEARCH = """
import numpy as np
from hedera.placement import exceeded_capacity
from topos.links import find_canonical_cores
class Annealing:
    def __init__(self, tree, rng, options):
        self.tree, self.core_of, self.energy = tree, np.arange(tree.num_hosts) % tree.num_cores, 0.0
    def place(self, flows, links):
        core = self.core_of[flows.dst]
        true = exceeded_capacity(self.tree, flows.src, flows.dst, flows.demand, core, links)
        self.initial_energy, self.energy = {reported}
        return find_canonical_cores(self.tree, flows.src, flows.dst, core)
"""


@pytest.mark.parametrize("reported", ["true, true", "self.energy, self.energy - 1.0", "true + 1.0, true"])
def test_an_annealing_that_never_searches_earns_nothing(reported):
    """Whatever it reports of its energies: they are computed."""
    assert not any(one.passed for one in told("annealing.py", NO_SEARCH.replace("{reported}", reported)))


def test_one_pass_of_the_estimate_earns_what_is_right_in_it():
    """Three of the seven points are for what doing nothing passes, and count beside what one pass decides."""
    (one_pass,) = [mistake for mistake in MISTAKES if "stops after one pass" in mistake.name]
    assert sum(compute_earned(told("demand.py", seeded(one_pass)), *UNTOUCHED["demand"])) == 7
    assert sum(compute_earned(told("demand.py", (TEMPLATES / "demand.txt").read_text()), *UNTOUCHED["demand"])) == 0


def test_what_is_measured_stands_below_a_check_that_holds():
    check = Check("more bandwidth", "section 5.5", measured="it reaches 90 %")
    assert check.passed
    assert str(check) == "ok   more bandwidth (section 5.5)\n       it reaches 90 %"


def test_other_seeds_ask_other_things_in_the_same_checks():
    other = make_cases(SEED + 1)
    assert {file: len(checks) for file, checks in other.items()} == {file: len(c) for file, c in ASKED.items()}
    assert other["demand.py"][2] != ASKED["demand.py"][2]
    assert other[SCHEDULER] != ASKED[SCHEDULER]
    assert make_cases(SEED) == ASKED


# --- the handout --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The environment of a Python that has NumPy, and nothing else that is not its own."""
    place = tmp_path_factory.mktemp("bare")
    numpy = Path(find_spec("numpy").origin).parent
    for path in (numpy, numpy.parent / "numpy.libs"):
        if path.exists():
            (place / path.name).symlink_to(path)
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(place), "PYTHONNOUSERSITE": "1"}


def run(handout, environment, *words):
    return subprocess.run(
        [sys._base_executable, handout / "check.py", *map(str, words)],
        env=environment, cwd=handout, capture_output=True, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip


@pytest.mark.slow
def test_an_untouched_handout_checks_itself_with_numpy_alone(handout, bare):
    done = run(handout, bare)
    assert (done.returncode, done.stderr) == (1, "")
    held = [line.split("(")[0].strip() for line in done.stdout.splitlines() if line.startswith("ok ")]
    assert held[0] == f"ok   {NO_FLOWS}"
    assert len(held) == 6, "that, and the contract's but one"
    assert "ECMP" in done.stdout
    assert "every flow stays where its hash put it: this is ECMP" in done.stdout
    for file in NAMES:
        assert f"{handout / file}\n" in done.stdout


@pytest.mark.slow
def test_what_is_right_passes_there(handout, bare):
    done = run(handout, bare, *sorted(SOLUTIONS.glob("*.py")))
    assert (done.returncode, done.stderr) == (0, "")
    assert "NO " not in done.stdout


def test_a_project_s_scheduler_is_not_there_to_be_imported(tmp_path, handout, bare):
    (tmp_path / "demand.py").write_text("from hedera.demand import estimate_demands")
    done = run(handout, bare, tmp_path / "demand.py")
    assert (done.returncode, done.stderr) == (1, "")
    assert "No module named 'hedera.demand'" in done.stdout
    assert run(handout, bare, "other.py").returncode == 2
