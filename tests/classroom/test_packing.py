"""A handout has everything to begin with and no answer; each service finds the files that it looks for."""

import json
import os
import subprocess
import sys
import zipfile
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from classroom import checks as judging
from classroom import grading
from classroom.cases import PUBLIC, make_cases
from classroom.checks import Wrong
from classroom.cli import SEED as VARIABLE
from classroom.cli import SERVICES, assignment
from classroom.grading import FORMATS
from classroom.intake import hand_ins
from classroom.packing import SECONDS, pack_grader
from classroom.sandbox import find_allowed_modules
from classroom.submission import NAMES, PROJECT
from tests.classroom.mistakes import MISTAKES, SOLUTIONS, seeded
from tests.commands import PATIENCE_S, ran


def test_it_has_what_students_get_and_no_solution(handout):
    asked = json.loads((handout / "cases.json").read_text())
    assert (len(asked.pop("quality")), asked) == (24, json.loads(json.dumps(make_cases(PUBLIC))))
    files = {str(path.relative_to(handout)) for path in handout.rglob("*") if path.is_file()}
    modules = {name for name in files if name.startswith("project/")}
    documents = {"handout.md", "rubric.md", "own-scheduler.md", "random_paths.py"}
    assert files - modules == {"cases.json", "check.py", *documents, *NAMES}
    named = {name.removeprefix("project/").removesuffix(".py").removesuffix("/__init__") for name in modules}
    assert {name.replace("/", ".") for name in named} == find_allowed_modules("classroom.checks")


@pytest.mark.parametrize("service", SERVICES)
def test_each_service_finds_what_it_looks_for(tmp_path, service):
    made = pack_grader(tmp_path / "grader", service, 7)
    archive = made if service == "gradescope" else made / "image.zip"
    with zipfile.ZipFile(archive) as packed:
        names = packed.namelist()
        scripts = {name: packed.read(name).decode() for name in names if "/" not in name}
        packed.extractall(tmp_path / "out")
    assert "project/classroom/grading.py" in names
    assert not [name for name in names if "__pycache__" in name or "results/runs" in name]
    assert sum(path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file()) < 20 << 20
    assert subprocess.run(["bash", "-n", "-c", scripts["setup.sh"]], check=False).returncode == 0
    if service == "prairielearn":
        options = json.loads((made / "info.json").read_text())["externalGradingOptions"]
        assert 4 * grading.CLOCK * SECONDS < options["timeout"] <= 600, "the longest submission's, and the service's"
        assert all(name in (made / "question.html").read_text() for name in NAMES)
        assert options["entrypoint"] == "/hedera/run_autograder"


@pytest.mark.slow
def test_what_is_packed_grades(tmp_path):
    """The project in the archive, by itself, grades a template as the project does."""
    with zipfile.ZipFile(pack_grader(tmp_path / "grader", "gradescope", 7)) as packed:
        packed.extractall(tmp_path / "out")
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "demand.py").write_text((SOLUTIONS / "demand.py").read_text())
    run = f"import sys; sys.path.insert(0, {str(tmp_path / 'out/project')!r}); from harness.cli import main; main()"
    words = ["grade", "ann", "--seed", "7", "--jobs", "1", "--format", "gradescope", "--out", "grades", "--unprotected"]
    for folder in (tmp_path, *tmp_path.parents[:-1]):
        if (mode := folder.stat().st_mode) & 0o011 != 0o011:
            folder.chmod(mode | 0o011)  # without isolation it runs as nobody
    done = subprocess.run(
        [sys.executable, "-c", run, *words],
        cwd=tmp_path, env={**os.environ, "NUMBA_DISABLE_JIT": "1"},  # compiling takes half a minute
        capture_output=True, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "grades/gradescope/ann.json").read_text())["score"] == 20


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's submissions run as another user")
def test_a_grader_that_submissions_cannot_reach_says_which_folder_keeps_them_out(tmp_path):
    """Before anything is graded, and not by the status of a process."""
    with zipfile.ZipFile(pack_grader(tmp_path / "grader", "gradescope", 7)) as packed:
        packed.extractall(tmp_path / "out")
    for folder in (tmp_path, *tmp_path.parents[:-1]):
        folder.chmod(folder.stat().st_mode | 0o011)
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "demand.py").write_text((SOLUTIONS / "demand.py").read_text())
    (tmp_path / "out").chmod(0o700)
    run = f"import sys; sys.path.insert(0, {str(tmp_path / 'out/project')!r}); from harness.cli import main; main()"
    words = ["grade", "ann", "--seed", "7", "--single", "--unprotected", "--out", "grades"]
    done = ran(sys.executable, "-c", run, *words, cwd=tmp_path)
    assert done.returncode == 3
    (sentence,) = done.stderr.strip().splitlines()[-1:]
    assert "Traceback" not in done.stderr
    assert f"whom {tmp_path / 'out'} keeps out (mode 0700): chmod o+rx {tmp_path / 'out'}" in sentence
    assert not (tmp_path / "grades" / "grades.csv").exists()


# --- the seed of a class: with it, what is drawn could be prepared for --------------------------------------

SEED = 917_264_350_918_273_645
SPELLED = (str(SEED), f"{SEED:_}", f"{SEED:,}", f"{SEED:x}", str(SEED % 10**12))


def silent(text):
    return not [spelled for spelled in SPELLED if spelled in text]


@pytest.mark.slow
@pytest.mark.usefixtures("direct")
def test_no_failed_check_tells_it(tmp_path, monkeypatch):
    """Templates, a mistake for each part, and a scheduler that fails in the simulator."""
    monkeypatch.setattr(judging, "measure_reached", Mock(side_effect=Wrong("late")))
    for mistake in reversed(MISTAKES):
        (tmp_path / mistake.file).write_text(seeded(mistake))
    least = (PROJECT / "docs/examples/least_loaded.py").read_text().replace("LeastLoaded", "Scheduler")
    (tmp_path / "scheduler.py").write_text(least)
    one = grading.grade(hand_ins([tmp_path], single=True)[0][0], grading.Class(SEED, 20.0))
    assert all(
        any(not check.passed and check.example for check in part) for part in one.checks.values() if part[-1].words
    )
    assert one.checks["quality"][0].example.startswith("k = 4, stride:")
    assert silent("\n".join(json.dumps(form(one)) for form in FORMATS.values()) + repr(one))


def test_the_handout_does_not_have_it_and_is_the_same_for_all(tmp_path):
    def packed(seed):
        words = ["pack", str(tmp_path / seed), "--for", "prairielearn", "--seed", seed]
        done = CliRunner().invoke(assignment, words)
        assert done.exit_code == 0, done.output
        place = tmp_path / seed / "handout"
        return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}

    one = packed(str(SEED))
    assert one == packed("8")
    assert all(silent(data.decode()) for data in one.values())
    assert silent((tmp_path / str(SEED) / "grader/info.json").read_text())


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(("status", "calls"), [(0, 1), (1, 1), (3, 2)])
def test_what_a_service_starts_writes_a_result_and_hands_the_seed_on_unseen(
    tmp_path, monkeypatch, service, status, calls
):
    """As an environment variable: a command's words are for every process to read. Root alone reads the script."""
    source, results = tmp_path / "source", tmp_path / "results"
    monkeypatch.setattr("classroom.packing._PLACES", {service: (source, tmp_path, results)})
    made = pack_grader(tmp_path / "grader", service, SEED)
    with zipfile.ZipFile(made if made.is_file() else made / "image.zip") as packed:
        script = packed.read("run_autograder").decode()
        assert packed.getinfo("run_autograder").external_attr >> 16 == 0o100700
    python, grades = source / "env/bin/python", source / "grades" / service
    python.parent.mkdir(parents=True)
    python.write_text(f'echo "$@" ${VARIABLE} >>{tmp_path}/said\n[ {status} -ne 0 ] || {{ mkdir -p {grades}; '
                      f"echo done >{grades}/submission.json; }}\nexit {status}\n")  # fmt: skip
    python.chmod(0o755)
    assert subprocess.run(["bash", "-c", script], capture_output=True, check=False).returncode == 0
    said = (tmp_path / "said").read_text().splitlines()
    assert [line.split()[-1] for line in said] == [str(SEED)] * calls
    assert ["--unprotected" in line for line in said] == [False, True][:calls]
    assert silent("".join(line.rpartition(" ")[0] for line in said))
    text = (results / "results.json").read_text()
    assert text == "done\n" if status == 0 else "tell your instructor" in text and json.loads(text)["score"] == 0
