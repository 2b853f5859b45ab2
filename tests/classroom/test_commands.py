"""Every command of docs/assignment: those that need no root are carried out as a student would; the rest are
understood."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from classroom.cases import PUBLIC, make_cases
from classroom.grading import POINTS
from classroom.submission import NAMES, SCHEDULER
from harness.cli import cli
from tests.classroom.mistakes import SOLUTIONS

MILESTONES = [file for file in NAMES if file != SCHEDULER]
DOCS = Path(__file__).parents[2] / "docs" / "assignment"


def commands(page):
    """The indented lines of a page that are commands."""
    return re.findall(r"^ {4,}((?:sudo )?(?:hedera|\./test\.sh) .*)$", (DOCS / page).read_text(), re.MULTILINE)


def hedera(*words, cwd):
    """The command in this process, which has imported everything."""
    before = Path.cwd()
    os.chdir(cwd)
    try:
        return CliRunner(env={"COLUMNS": "130"}).invoke(cli, words)
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def afternoon(handout):
    """The handout's commands that need no root, in their order, with solutions in place of the templates."""
    done = []
    for line in commands("handout.md"):
        words = shlex.split(line)
        if words[1] not in ("scheduler", "simulate"):
            continue
        quick = ["--quick"] if words[1:3] == ["scheduler", "check"] else []
        done.append((line, hedera(*words[1:], *quick, cwd=handout)))
        for file in MILESTONES:
            (handout / file).write_text((SOLUTIONS / file).read_text())
    return done, handout


def test_the_handout_s_commands_do_what_it_says(afternoon):
    done, _ = afternoon
    assert [line.split()[1] for line, _ in done] == ["scheduler", "simulate"]
    for line, one in done:
        assert one.exit_code == 0, (line, one.stdout, one.stderr)
        assert "it raises" not in one.stderr, "a template runs as it is"


def test_a_student_s_schedulers_are_the_project_s_equals(afternoon):
    done, place = afternoon
    words = "--traffic", "stride:4", "--seconds", "20"
    ours = hedera("simulate", "--scheme", "hedera-gff", *words, cwd=place)
    annealing = hedera("simulate", "--scheme", "annealing.py:Annealing", *words, cwd=place)
    assert share(done[-1][1]) == share(ours)
    assert share(annealing) > 65


def share(done):
    return float(re.search(r"([\d.]+)% of", done.stdout)[1])


def test_json_has_everything(tmp_path):
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    def __init__(self, *given): pass\n    def place(self, flows, links): return None\n"
    )
    done = hedera("scheduler", "check", "mine.py:Mine", "--json", cwd=tmp_path)
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["percent_of_bound"] is None
    (wrong,) = (
        check["words"] for check in found["checks"] if not check["passed"] and "not tried" not in check["words"]
    )
    assert "answers with None" in wrong, "the reason, which is said once"


def test_what_a_scheduler_prints_is_seen(tmp_path, capfd):
    """The scheduler's process has the standard error of the command's, and nothing is added to the command's output."""
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    def __init__(self, *given): pass\n"
        "    def place(self, flows, links):\n        print('I see', flows.key.size)\n        return flows.core.copy()\n"
    )
    done = hedera("scheduler", "check", "mine.py:Mine", "--quick", cwd=tmp_path)
    of_the_process = capfd.readouterr()
    assert "I see 1\n" in of_the_process.err
    assert "I see" not in done.stdout + of_the_process.out


def test_bad_use_is_one_sentence(tmp_path):
    (tmp_path / "there.py").write_text("Mine = 4\n")
    for words, said in (
        (("scheduler", "check", "nowhere.py:Mine"), "is not there"),
        (("scheduler", "check", "nowhere.py"), "give FILE.py:CLASS"),
        (("scheduler", "check", "there.py:Scheduler"), "there is no Scheduler in there.py"),
        (("scheduler", "check", "there.py:Mine", "--json"), "there is no Mine in there.py"),
        (("scheduler", "new", "there.py"), "is there already"),
        (("scheduler", "new", "there"), "is a Python file"),
        (("grade", "--seed", "1", "nowhere"), "is not a folder"),
        (("grade", "--seed", f"{PUBLIC}", "."), f"{PUBLIC} is the seed of the students' own checks"),
        (("assignment", "pack", "c", "--seed", f"{PUBLIC}"), f"{PUBLIC} is the seed of"),
    ):
        done = hedera(*words, cwd=tmp_path)
        assert done.exit_code == 2, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_the_rubric_counts_the_checks():
    page = (DOCS / "rubric.md").read_text()
    asked = make_cases(1)
    for file in MILESTONES:
        row = next(line for line in page.splitlines() if f"`{file}`" in line)
        assert f"| {POINTS[file.removesuffix('.py')]:g} |" in row
        assert f"{len(asked[file])} " in row
    assert sum(POINTS.values()) == 100
