"""What grading services are given is what they read: held against a schema of each."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from classroom.cases import NO_FLOWS, ONE_PASS
from classroom.checks import MOVES, RULES, Check, list_findings
from classroom.grading import FORMATS, PARTS, Grade, format_feedback

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
    assert absent.feedback == "annealing.py was not handed in."
    (free,) = [line for line in NOTHING.lines() if NO_FLOWS in line.name]
    assert (free.points, "doing nothing" in free.feedback) == (0.0, True)


def test_what_is_wrong_with_several_checks_is_said_once_with_their_number():
    checks = [
        Check(name, section, "it raises", "k = 4") for name, section in (("a", "4.2"), ("b", "4.2"), ("c", "4.3"))
    ]
    lines = replace(FULL, checks={"demand": checks}).lines()[:3]
    assert lines[0].feedback.startswith("it raises (2 more checks fail so.)\nRead again: 4.2.\nAn input")
    assert [line.feedback for line in lines[1:]] == ["As for demand.py: a.", "As for demand.py: a.\nRead again: 4.3."]
    assert list_findings(checks).count("it raises") == 1
    assert "(2 more checks fail so)" in list_findings(checks)


def test_what_is_passed_or_measured_names_nothing_to_read_again():
    below = Check("more bandwidth", "section 5.5", "it reaches 90 %")
    *_, quality = replace(FULL, checks={"quality": [below]}, quality=0.5).lines()
    assert quality.feedback == "it reaches 90 %"
    best = {part: [Check("right", "4")] for part in PARTS}
    told = format_feedback(replace(FULL, checks=best | {"quality": [Check("b", "5.5", measured="100 %")]}, quality=1.0))
    assert "100.0 of 100 points." in told
    assert "again" not in told


def test_a_score_does_not_exceed_1():
    checks = {part: [Check(f"{n}", "", worth=0.1) for n in range(3)] for part in PARTS}
    assert FORMATS["prairielearn"](replace(FULL, checks=checks, quality=1.0))["score"] == 1.0
