"""How long a grading will take is measured on the machine that grades."""

from threading import Barrier

import pytest

from classroom import estimate
from classroom.grading import Class
from classroom.template import MILESTONES


@pytest.fixture
def folders(tmp_path):
    for name, files in (("ann", ("demand.py", "loop.py")), ("bob", ("scheduler.py",)), ("eve", ())):
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / file).write_text("")
    return [tmp_path / name for name in ("ann", "bob", "eve")]


def test_it_is_the_files_that_are_there_in_units_of_one_as_many_at_once_as_will_be(folders, monkeypatch):
    at_once = Barrier(2, timeout=20)
    monkeypatch.setattr(estimate, "unit_s", lambda course: 2.0)
    units = sum(estimate.COST[part] for part in ("demand", "loop", "contract"))
    course = Class(7, 20.0)
    assert [estimate.estimate_s(folders, course, jobs) for jobs in (1, 2)] == [2 * units, units]
    monkeypatch.setattr(estimate, "unit_s", lambda course: 6.0 + 0 * at_once.wait())
    assert estimate.estimate_s(folders, course, 2) == 3 * units


def test_nothing_is_measured_for_nothing(folders, monkeypatch):
    monkeypatch.setattr(estimate, "unit_s", None)
    assert estimate.estimate_s([], Class(7, 20.0), 2) == 0
    assert estimate.estimate_s(folders[2:], Class(7, 20.0), 2) == 0


def test_the_unit_is_the_time_of_real_checks(monkeypatch):
    asked = []
    real = estimate.check_milestone
    monkeypatch.setattr(estimate, "check_milestone", lambda *words: asked.append(real(*words)))
    assert 0.05 < estimate.unit_s(Class(7, 20.0)) < 120
    (checks,) = asked
    assert len(checks) > 5
    assert not any(one.passed for one in checks)
    assert "asked 0 times" in checks[0].words


def test_every_part_has_its_cost():
    assert estimate.COST.keys() == {task.file.removesuffix(".py") for task in MILESTONES.values()} | {"contract"}
