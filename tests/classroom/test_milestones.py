"""Each known mistake is found by the check that is meant for it. (What is right passes: see test_commands.)"""

import pytest

from classroom.code import Code
from classroom.grading import FREE
from classroom.looks import look_at
from classroom.milestones import looks_of
from classroom.sandbox import own
from classroom.submission import Submission
from classroom.template import MILESTONES, write_template
from tests.classroom.direct import Direct
from tests.classroom.mistakes import MISTAKES, SOLUTIONS, seeded

START = own()


def looked_at(milestone, source, name):
    code = Code("theirs.py", source, MILESTONES[milestone].name)
    (look,) = [look for look in looks_of(milestone) if look[0] == name]
    with Direct(code) as submission:
        (one,) = look_at(submission, 1, [look])
    return one


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_known_mistake_is_found(mistake):
    one = looked_at(mistake.milestone, seeded(mistake), mistake.found_by)
    assert not one.passed
    assert mistake.words in one.words
    assert one.section


@pytest.mark.parametrize("milestone", MILESTONES)
def test_ten_mistakes_are_tried_and_each_check_that_gives_points_finds_one(milestone):
    mistakes = [mistake for mistake in MISTAKES if mistake.milestone == milestone]
    assert len({seeded(mistake) for mistake in mistakes}) >= 10
    part = MILESTONES[milestone].file.removesuffix(".py")
    counted = {name for name, _, _ in looks_of(milestone)} - set(FREE.get(part, ()))
    assert {mistake.found_by for mistake in mistakes} == counted


def test_what_is_right_passes_everything_and_an_untouched_template_next_to_nothing(tmp_path):
    """A check that a file passes by doing nothing is no check of what it does."""
    found = {}
    for milestone, task in MILESTONES.items():
        write_template(tmp_path / task.file, milestone)
        for source in ((SOLUTIONS / task.file).read_text(), (tmp_path / task.file).read_text()):
            with Submission(START, Code(task.file, source, task.name), call_s=60) as submission:
                checks = look_at(submission, 1, looks_of(milestone))
            found.setdefault(milestone, []).append([one.name for one in checks if one.passed])
    assert {which: right for which, (right, _) in found.items()} == {
        which: [name for name, _, _ in looks_of(which)] for which in MILESTONES
    }
    assert {which: free for which, (_, free) in found.items()} == {
        "demand": ["nothing to estimate"],
        "first-fit": [],
        "annealing": [],
        "loop": [],
    }


def test_a_search_that_hardly_moves_is_found():
    """The right energies of states that are hardly better than the first."""
    right = (SOLUTIONS / "annealing.py").read_text()
    lazy = right.replace("range(self.iterations, -1, -1)", "range(2, -1, -1)")
    assert lazy != right
    one = looked_at("annealing", lazy, "it finds good states")
    assert "the mean of 16 searches" in one.words
