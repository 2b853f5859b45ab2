"""The milestones: what is right passes, and each known mistake is found by the check that is meant for it."""

import pytest

from classroom.milestones import check_milestone
from classroom.sandbox import own
from classroom.submission import Code, Submission
from classroom.template import MILESTONES, write_template
from tests.classroom.mistakes import MISTAKES, SOLUTIONS, seeded

START = own()


def checked(milestone, source):
    code = Code("theirs.py", source, MILESTONES[milestone].name)
    with Submission(START, code, call_s=60) as submission:
        return {one.name: one for one in check_milestone(milestone, submission, seed=1)}


@pytest.mark.parametrize("milestone", MILESTONES)
def test_a_right_solution_passes(milestone):
    found = checked(milestone, (SOLUTIONS / MILESTONES[milestone].file).read_text())
    assert [one for one in found.values() if not one.passed] == []
    assert len(found) >= 5


@pytest.mark.parametrize("milestone", MILESTONES)
def test_the_template_runs_and_is_no_solution(milestone, tmp_path):
    write_template(tmp_path / "mine.py", milestone)
    found = checked(milestone, (tmp_path / "mine.py").read_text())
    assert any(not one.passed for one in found.values())
    assert not any("raises" in one.words for one in found.values())


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_known_mistake_is_found(mistake):
    found = checked(mistake.milestone, seeded(mistake))
    one = found[mistake.found_by]
    assert not one.passed, {name: other.words for name, other in found.items()}
    assert mistake.words in one.words
    assert one.section
