"""The seed of a class is in nothing that a student sees: with it, what is drawn could be prepared for."""

import json
import os
import re
import subprocess
import sys
import zipfile

import pytest
from click.testing import CliRunner

from classroom import grading
from classroom.formats import FORMATS
from classroom.packing import SERVICES, pack_grader, pack_handout
from classroom.quality import Score
from classroom.template import MILESTONES, write_template
from harness.cli.grade import SEED as VARIABLE
from harness.cli.grade import grade as command
from tests.classroom.direct import Direct
from tests.classroom.mistakes import MISTAKES, seeded

SEED = 917_264_350_918_273_645
SPELLED = (str(SEED), f"{SEED:_}", f"{SEED:,}", f"{SEED:x}", str(SEED % 10**12))
LATE = """
class Scheduler:
    def __init__(self, tree, rng, options):
        self.tree, self.rounds = tree, 0
    def place(self, flows, links):
        self.rounds += 1
        if len(flows.key) > 12:
            raise ValueError("in the simulator alone")
        return flows.hashed.copy()
"""


def told_to(folder, monkeypatch):
    """All that anybody is told of a submission, in every form, and its checks."""
    monkeypatch.setattr(grading, "Submission", lambda start, code, *_: Direct(code))
    one, checks = grading.grade(folder, grading.Class(SEED, 20.0))
    return "\n".join(json.dumps(form(one, checks)) for form in FORMATS.values()) + repr((one, checks)), checks


def silent(text):
    return not [spelled for spelled in SPELLED if spelled in text]


def test_no_failed_check_tells_it(tmp_path, monkeypatch):
    """Templates, and for each check a mistake that it finds."""
    found = {}
    for mistake in MISTAKES:
        found.setdefault((mistake.milestone, mistake.found_by), mistake)
    rounds = {}
    for mistake in found.values():
        rounds.setdefault(mistake.milestone, []).append(seeded(mistake))
    for n in range(max(map(len, rounds.values()))):
        folder = tmp_path / f"s{n}"
        folder.mkdir()
        for milestone, files in rounds.items():
            if n < len(files):
                (folder / MILESTONES[milestone].file).write_text(files[n])
        text, checks = told_to(folder, monkeypatch)
        assert any(not one.passed and one.example for part in checks.values() for one in part)
        assert silent(text)


def test_a_scheduler_that_fails_in_the_simulator_is_not_told_it(tmp_path, monkeypatch):
    (tmp_path / "scheduler.py").write_text(LATE)
    monkeypatch.setattr(
        grading.quality,
        "submitted",
        lambda config, _: Score(config.k, config.traffic, "yours", None, 1.0, 0.0, "late"),
    )
    text, checks = told_to(tmp_path, monkeypatch)
    (wrong,) = checks["quality"]
    assert wrong.example.startswith("k = 4, stride:")
    assert silent(text)


def test_the_handout_does_not_have_it(tmp_path):
    pack_handout(tmp_path / "handout")
    pack_grader(tmp_path / "grader", "prairielearn", SEED)
    shown = [path for path in (tmp_path / "handout").rglob("*") if path.is_file()]
    shown.append(tmp_path / "grader" / "info.json")
    assert all(silent(path.read_text()) for path in shown)


def test_a_question_s_name_is_the_same_in_every_pack(tmp_path):
    names = {
        json.loads((pack_grader(tmp_path / str(seed), "prairielearn", seed) / "info.json").read_text())["uuid"]
        for seed in (7, SEED)
    }
    (name,) = names
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", name)


@pytest.mark.parametrize("service", ["gradescope", "prairielearn"])
def test_what_a_service_starts_hands_the_seed_on_unseen(tmp_path, service):
    """As an environment variable: a command's words are for every process to read. Root alone reads the script."""
    made = pack_grader(tmp_path / "grader", service, SEED)
    with zipfile.ZipFile(made if made.is_file() else made / "image.zip") as packed:
        script = packed.read("run_autograder").decode()
        assert packed.getinfo("run_autograder").external_attr >> 16 == 0o100700
    begin = script.partition("mkdir")[0]
    for words in ("/autograder/source/env/bin/python", "/hedera/env/bin/python"):
        begin = begin.replace(words, "show")
    show = f'show() {{ echo "$@"; [ "${VARIABLE}" = {SEED} ] && echo known; }}\n'
    done = subprocess.run(["bash", "-c", show + begin], capture_output=True, text=True, check=True)
    assert "known" in done.stdout
    assert silent(done.stdout)


def test_the_log_of_a_failed_grading_does_not_have_it(tmp_path):
    """Classroom 50's is an action's, which students read; here it fails at once, for lack of a project."""
    made = pack_grader(tmp_path / "grader", "classroom50", SEED)
    source = (made / "autograder.py").read_text()
    words = next(line for line in source.splitlines() if line.strip().startswith("words ="))
    assert silent(words)
    assert f'os.environ["{VARIABLE}"] = "{SEED}"' in source


def test_grading_takes_it_from_there_and_leaves_it_to_nobody(tmp_path, monkeypatch):
    (tmp_path / "ann").mkdir()
    write_template(tmp_path / "ann" / "loop.py", "loop")
    seen = []

    def end(folders):
        seen.append(dict(os.environ))
        raise ValueError("far enough")

    monkeypatch.setattr(grading, "submissions", end)
    monkeypatch.setenv(VARIABLE, str(SEED))
    done = CliRunner().invoke(command, [str(tmp_path / "ann"), "--out", str(tmp_path / "out")])
    assert VARIABLE not in seen[0]
    assert silent(done.output)


def test_every_service_is_looked_at():
    assert set(SERVICES) == set(FORMATS) == {"gradescope", "prairielearn", "classroom50"}
    assert sys.maxsize > SEED
