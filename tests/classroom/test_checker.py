"""What students check their files with says of each known mistake what grading would say, and knows no solution."""

import ast
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from classroom import checker, public
from classroom.assignment import assignment
from classroom.grading import FREE
from classroom.lent import ROOT, lent_modules
from classroom.packing import pack_handout
from classroom.template import MILESTONES, write_template
from harness.cli.grade import grade
from tests.classroom.mistakes import MISTAKES, SOLUTIONS, seeded

BLANK = ("demand.py", "first_fit.py", "annealing.py", "loop.py", "scheduler.py")


@pytest.fixture(scope="module")
def handout(tmp_path_factory):
    place = tmp_path_factory.mktemp("pack") / "handout"
    pack_handout(place)
    return place


@pytest.fixture(scope="module")
def checks(handout):
    return json.loads((handout / "cases.json").read_text())


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
        env=environment, cwd="/", capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def found(checks, task, source, name):
    """What one check says of some code: nothing where it holds."""
    (check,) = [check for check in checks[task.file] if check["name"] == name]
    scope = {"__name__": "submission"}
    exec(source, scope)
    try:
        checker.KINDS[check["kind"]](scope[task.name], check)
    except checker.Wrong as wrong:
        return str(wrong)
    except Exception as error:  # noqa: BLE001
        return f"it raises {error}"
    return ""


def test_an_untouched_handout_checks_itself_with_numpy_alone(handout, bare):
    done = run(handout, bare)
    assert (done.returncode, done.stderr) == (1, "")
    held = [line.split("(")[0].strip() for line in done.stdout.splitlines() if line.startswith("ok ")]
    assert held[0] == f"ok   {FREE['demand'][0]}"
    assert len(held) == 3
    assert "Every flow stays where its hash put it: this is ECMP." in done.stdout
    for file in BLANK:
        assert f"{file}: " in done.stdout


def test_each_file_begins_with_the_command_that_checks_it(handout):
    for file in BLANK:
        assert f"Try it:\n    python3 check.py {file}\n" in (handout / file).read_text()


def test_what_is_right_passes_everything(handout, bare):
    done = run(handout, bare, *sorted(SOLUTIONS.glob("*.py")))
    assert (done.returncode, done.stderr) == (0, "")
    assert "NO " not in done.stdout


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_known_mistake_is_found_by_the_check_of_that_name(checks, mistake):
    assert found(checks, MILESTONES[mistake.milestone], seeded(mistake), mistake.found_by)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("demand estimation stops after one pass", "one pass of EST-SRC and EST-DST"),
        ("EST-DST's inner loop runs once", "lines 9 to 18"),
    ],
)
def test_known_mistakes_of_estimates_are_named(checks, name, words):
    (mistake,) = [mistake for mistake in MISTAKES if mistake.name == name]
    assert words in found(checks, MILESTONES["demand"], seeded(mistake), mistake.found_by)


def test_its_checks_are_those_that_grade(checks):
    from classroom.milestones import looks_of

    for milestone, task in MILESTONES.items():
        assert [check["name"] for check in checks[task.file]] == [name for name, _, _ in looks_of(milestone)]
        assert {check["attribute"] for check in checks[task.file]} == {task.name}
    assert list(checks) == list(BLANK)


def test_whatever_code_does_is_a_sentence(tmp_path, handout, bare):
    source = (handout / "check.py").read_text()
    (handout / "quick.py").write_text(source.replace("PATIENCE_S = 60", "PATIENCE_S = 2"))
    try:
        for code, words in (
            (
                "def estimate_demands(*_):\n    raise KeyError(3)",
                "it raises KeyError: 3 (line 2 of demand.py)",
            ),
            ("def estimate_demands(*_):\n    while True:\n        pass", "came to no end within 2 s"),
            ("import os\nos._exit(0)\n", "ended Python"),
            ("estimate_demands = lambda *_: None", "answers with NoneType, not with an array of numbers"),
            ("def estimate(*_): pass", "demand.py has no estimate_demands"),
            ("estimate_demands =", "cannot be loaded: SyntaxError: invalid syntax (demand.py, line 1)"),
            ("from first_fit import FirstFit", "No module named 'first_fit'"),
            ("from hedera.demand import estimate_demands", "No module named 'hedera.demand'"),
        ):
            (tmp_path / "demand.py").write_text(code)
            done = subprocess.run(
                [sys._base_executable, handout / "quick.py", tmp_path / "demand.py"],
                env=bare, capture_output=True, text=True, check=False, timeout=60,
            )  # fmt: skip
            assert done.returncode == 1
            assert words in done.stdout
            assert "Error" not in done.stderr
    finally:
        (handout / "quick.py").unlink()
    assert run(handout, bare, "other.py").returncode == 2


def test_it_can_import_nothing_that_knows_an_answer(handout):
    named = {
        alias
        for node in ast.walk(ast.parse((handout / "check.py").read_text()))
        for alias in (
            [name.name for name in node.names] if isinstance(node, ast.Import) else
            [node.module] if isinstance(node, ast.ImportFrom) else []
        )
    }  # fmt: skip
    ours = {name for name in named if (ROOT / name.split(".")[0]).is_dir()}
    assert ours <= lent_modules()
    there = {path.relative_to(handout / "project") for path in (handout / "project").rglob("*.py")}
    assert {".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in there} == lent_modules()


def test_the_handout_is_the_same_whatever_a_class_is_graded_by(tmp_path):
    def packed(seed):
        done = CliRunner().invoke(assignment, ["pack", str(tmp_path / seed), "--for", "gradescope", "--seed", seed])
        assert done.exit_code == 0, done.output
        place = tmp_path / seed / "handout"
        return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}

    assert packed("917264350918273645") == packed("8")


def test_no_class_is_graded_by_the_seed_of_its_handout(tmp_path):
    words = f"{public.SEED} is the seed of the students' own checks"
    pack = CliRunner().invoke(assignment, ["pack", str(tmp_path / "c"), "--seed", str(public.SEED)])
    assert (pack.exit_code, words in pack.output) == (2, True), pack.output
    write_template(tmp_path / "loop.py", "loop")
    graded = CliRunner().invoke(grade, [str(tmp_path), "--seed", str(public.SEED), "--out", str(tmp_path / "o")])
    assert words in str(graded.exception)
