"""A grade that is kept is that of the same files, graded in the same way, and of nothing else."""

import time

import pytest

from classroom.grading import Grade
from classroom.lent import PACKAGES, ROOT
from classroom.store import Store
from classroom.verdict import Check

GRADE = Grade("ann", 20.0, 1.0, None, None, None, None, None, None, 1.0, "", "")
CHECKS = {"demand": [Check("Figure 4", "section 4.2"), Check("order", "section 4.2", "other demands", "a\nb")]}


@pytest.fixture
def kept(tmp_path):
    folder = tmp_path / "ann"
    folder.mkdir()
    (folder / "demand.py").write_text("right")
    (tmp_path / "kept").mkdir()
    store = Store(tmp_path / "kept", "7 120")
    assert store.find(folder) is None
    store.keep(folder, GRADE, CHECKS)
    return store, folder


def test_what_is_kept_is_found_again_whole(kept):
    store, folder = kept
    found = store.find(folder)
    assert (found.grade, found.checks) == (GRADE, CHECKS)


def test_another_seed_or_file_is_graded_anew(kept):
    store, folder = kept
    assert Store(store.folder, "8 120").find(folder) is None
    (folder / "loop.py").write_text("more")
    assert store.find(folder) is None
    (folder / "loop.py").unlink()
    assert store.find(folder)
    (folder / "demand.py").write_text("wrong")
    assert store.find(folder) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"of": 1}', "\x00" * 99])
def test_what_cannot_be_read_is_graded_anew(kept, text):
    store, folder = kept
    (file,) = store.folder.iterdir()
    file.write_text(text)
    assert store.find(folder) is None


@pytest.fixture
def clone(tmp_path):
    """The project's source, to be changed."""
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*"):
            if path.suffix == ".py" or (path.suffix == ".csv" and package != "results"):
                copy = tmp_path / "clone" / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
    return tmp_path / "clone"


@pytest.mark.parametrize(
    "module",
    [
        "classroom/milestones/demand.py", "classroom/answering.py", "classroom/sandbox.py",
        "hedera/global_first_fit.py", "hedera/simulated_annealing.py", "hedera/figure_7.py", "hedera/linkstate.py",
        "simulator/driver.py", "hedera/maxmin.py", "traffic/patterns.py",
        "traffic/published.csv", "topos/links.py",
    ],
)  # fmt: skip
def test_code_that_decides_a_grade_grades_anew_when_it_changes(kept, clone, module):
    store, folder = kept
    assert Store(store.folder, store.how, clone).find(folder), "the same code elsewhere"
    with (clone / module).open("a") as file:
        file.write("# changed\n")
    assert Store(store.folder, store.how, clone).find(folder) is None


def test_code_that_decides_none_does_not(kept, clone):
    store, folder = kept
    for module in (
        "packets/run.py",
        "harness/network/fabric.py",
        "classroom/packing.py",
        "results/claims.csv",
    ):
        with (clone / module).open("a") as file:
            file.write("# changed\n")
    assert Store(store.folder, store.how, clone).find(folder)


def test_looking_at_the_code_costs_little_and_is_done_once(tmp_path):
    store = Store(tmp_path, "7 120")
    before = time.process_time()
    assert len(store.code) == 64
    first = time.process_time()
    for _ in range(100):
        store.find(tmp_path)
    assert time.process_time() - first < 2
    assert first - before < 10
