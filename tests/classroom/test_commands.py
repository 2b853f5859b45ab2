"""Every command of docs/assignment: those that need no root are carried out as a student would; the rest are
understood."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from classroom.template import MILESTONES
from harness.cli.group import cli
from tests.classroom.mistakes import MISTAKES, SOLUTIONS

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


def with_the_others(lines):
    """The handout shows the commands of one milestone, and of one scheduler in the simulator: here are all."""
    for line in lines:
        yield line
        if "--milestone demand" in line:
            for name, task in list(MILESTONES.items())[1:]:
                named = line.replace("demand.py:estimate_demands", f"{task.file}:{task.name}")
                yield named.replace("demand.py", task.file).replace("--milestone demand", f"--milestone {name}")
        if " simulate " in line:
            yield line.replace("first_fit.py:FirstFit", "annealing.py:Annealing").replace("stride:4", "randbij")


@pytest.fixture(scope="module")
def afternoon(tmp_path_factory):
    """The handout's commands that need no root, in their order: what each printed, and the folder.

    Once a file is made from its template and checked, the solution takes its place for what comes after.
    """
    place = tmp_path_factory.mktemp("student")
    done = []
    for line in with_the_others(commands("handout.md")):
        words = shlex.split(line)
        if words[0] == "sudo" or words[1].startswith("explain"):
            continue
        quick = ["--quick"] if words[1:3] == ["scheduler", "check"] and "--milestone" not in words else []
        done.append((line, hedera(*words[1:], *quick, cwd=place)))
        if words[1:3] == ["scheduler", "check"] and "--milestone" in words:
            file = words[3].partition(":")[0]
            (place / file).write_text((SOLUTIONS / file).read_text())
            done.append((f"{line}  # solved", hedera(*words[1:], cwd=place)))
    return done, place


def test_the_handout_s_commands_do_what_it_says(afternoon):
    done, _ = afternoon
    assert len(done) == 2 + 3 * len(MILESTONES) + 2
    for line, one in done:
        unsolved = "--milestone" in line and " check " in line and "# solved" not in line
        assert one.exit_code == (1 if unsolved else 0), (line, one.stdout, one.stderr)
        assert "Traceback" not in one.stderr, one.stderr
        assert not unsolved or "NO  " in one.stderr
        assert "it raises" not in one.stderr, "a template runs as it is"
    said = [one.stdout.strip() for line, one in done if "# solved" in line]
    assert said == [f"{t.title} (section {t.section}): all checks passed" for t in MILESTONES.values()]


def test_a_student_s_schedulers_are_the_project_s_equals(afternoon):
    done, place = afternoon
    first_fit, annealing = (share(one) for line, one in done if " simulate " in line)
    ours = hedera("simulate", "--scheme", "hedera-gff", "--traffic", "stride:4", "--seconds", "20", cwd=place)
    assert first_fit == share(ours)
    assert annealing > 65


def share(done):
    return float(re.search(r"([\d.]+)% of", done.stdout)[1])


def test_json_has_everything(tmp_path):
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    def __init__(self, *given): pass\n    def place(self, flows, links): return None\n"
    )
    done = hedera("scheduler", "check", "mine.py:Mine", "--json", cwd=tmp_path)
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["rows"] == []
    (wrong,) = [one for one in found["checks"] if not one["passed"] and not one["weakness"]]
    assert "answers with None" in wrong["words"]


def test_bad_use_is_one_sentence(tmp_path):
    (tmp_path / "there.py").write_text("Mine = 4\n")
    for words, said in (
        (("scheduler", "check", "nowhere.py:Mine"), "is not there"),
        (("scheduler", "check", "nowhere.py"), "give FILE.py:CLASS"),
        (("scheduler", "check", "there.py:Scheduler"), "there is no Scheduler in there.py"),
        (("scheduler", "check", "there.py:Mine", "--json"), "there is no Mine in there.py"),
        (("scheduler", "check", "there.py:estimate", "--milestone", "demand"), "there is no estimate in there.py"),
        (("scheduler", "new", "there.py"), "is there already"),
        (("scheduler", "new", "there"), "is a Python file"),
        (("grade", "--seed", "1", "nowhere"), "is not a folder"),
    ):
        done = hedera(*words, cwd=tmp_path)
        assert done.exit_code == 2, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_the_note_lists_every_seeded_mistake():
    page = (DOCS.parent / "notes" / "class.md").read_text()
    for mistake in MISTAKES:
        assert f"| {mistake.name} | {mistake.milestone} | *{mistake.found_by}* |" in page


def test_the_rubric_counts_the_checks():
    from classroom.cases import cases
    from classroom.grading import POINTS

    page = (DOCS / "rubric.md").read_text()
    asked = cases(1)
    for task in MILESTONES.values():
        row = next(line for line in page.splitlines() if f"`{task.file}`" in line)
        assert f"| {POINTS[task.file.removesuffix('.py')]:g} |" in row
        assert f"{len(asked[task.file])} " in row
    assert sum(POINTS.values()) == 100
