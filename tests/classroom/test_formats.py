"""What grading services are given is what they read: held against a schema of each."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from classroom.cases import NO_FLOWS, ONE_PASS
from classroom.checks import MOVES, RULES, Check
from classroom.grading import FORMATS, PARTS, Grade

jsonschema = pytest.importorskip(
    "jsonschema", reason="python3-jsonschema is not installed (setup/apt-packages-check.txt)"
)
SCHEMAS = Path(__file__).with_name("schemas")
CHECKS = {
    "demand": [Check(ONE_PASS, "section 4.2"), Check("order", "section 4.2", "other demands", "flows [(0, 1)]")],
    "first_fit": [Check("fits", "section 4.3")],
    "contract": [Check(name, "docs/own-scheduler.md", worth=worth) for name, worth in RULES.items()],
    "quality": [],
}
FULL = Grade("ann", CHECKS, 0.6, 91.25, 12.3, "demand.py", "")
TEMPLATES = {
    "demand": [Check(NO_FLOWS, "section 4.2"), Check(ONE_PASS, "section 4.2", "all demands are 0")],
    "contract": [Check(name, "docs", "this is ECMP" if name == MOVES else "") for name in RULES],
}
NOTHING, EMPTY = (Grade("bob", checks, None, None, 1.0, "nothing", "no file to grade") for checks in (TEMPLATES, {}))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("grade", [FULL, NOTHING, EMPTY])
def test_each_format_keeps_to_its_schema(form, grade):
    schema = json.loads((SCHEMAS / f"{form}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    told = json.loads(json.dumps(FORMATS[form](grade), allow_nan=False))
    validator.validate(told)
    for wrong in ({**told, "score": "many"}, {**told, "more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            validator.validate(wrong)


def test_a_student_reads_what_is_wrong_where_to_read_again_and_an_example():
    (wrong,) = [line for line in FULL.lines() if "order" in line.name]
    assert wrong.feedback.splitlines()[:2] == ["other demands", "Read again: section 4.2."]
    assert "flows [(0, 1)]" in wrong.feedback
    (absent,) = [line for line in FULL.lines() if line.part == "annealing"]
    assert absent.feedback == "annealing.py was not handed in. Found: demand.py."
    (free,) = [line for line in NOTHING.lines() if NO_FLOWS in line.name]
    assert (free.points, "doing nothing" in free.feedback) == (0.0, True)


def test_a_score_does_not_exceed_1():
    checks = {part: [Check(f"{n}", "", worth=0.1) for n in range(3)] for part in PARTS}
    assert FORMATS["prairielearn"](replace(FULL, checks=checks, quality=1.0))["score"] == 1.0
