"""The benchmark of a class: what it makes is what it says."""

import ast
from collections import Counter

from benchmarks.grading import ENDLESS, kinds, submit
from classroom.template import MILESTONES, NAMES
from tests.classroom.mistakes import SOLUTIONS


def test_a_class_has_a_quarter_untouched_and_one_that_does_not_end():
    assert Counter(kinds(60)) == {"untouched": 15, "right": 22, "mistaken": 22, "endless": 1}
    assert Counter(kinds(4)) == {"untouched": 1, "right": 1, "mistaken": 1, "endless": 1}


def test_each_kind_hands_all_files_in(tmp_path):
    for kind in set(kinds(4)):
        submit(tmp_path / kind, kind, 3)
        assert sorted(path.name for path in (tmp_path / kind).iterdir()) == sorted(NAMES)
        assert all(ast.parse(path.read_text()) for path in (tmp_path / kind).iterdir())
    right = {task.file: (SOLUTIONS / task.file).read_text() for task in MILESTONES.values()}
    for file, text in right.items():
        assert (tmp_path / "right" / file).read_text() == text
        assert (tmp_path / "mistaken" / file).read_text() != text
    assert (tmp_path / "endless" / "demand.py").read_text() == ENDLESS
