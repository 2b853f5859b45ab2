"""Thirty hand-ins as students make them: each gets the points that the rubric says, and none 0 without a sentence."""

import csv
import io
import json
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from classroom import grading
from classroom.intake import hand_ins
from harness.cli.group import cli
from tests.classroom.direct import Direct
from tests.classroom.mistakes import MISTAKES, SOLUTIONS, seeded

ROOT = Path(__file__).parents[2]
DEMAND, FIRST_FIT, ANNEALING = (SOLUTIONS / f"{name}.py" for name in ("demand", "first_fit", "annealing"))
RIGHT = DEMAND.read_text()


def wrong(words):
    return seeded(next(mistake for mistake in MISTAKES if words in mistake.name))


def zipped(**files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {"__MACOSX/hw/._demand.py": "x", "hw/.DS_Store": "x", **files}.items():
            archive.writestr(name, text)
    return data.getvalue()


def tarred(mode, name, text, kind=tarfile.REGTYPE):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:
        about = tarfile.TarInfo(name)
        about.size, about.type, about.linkname = len(text) * (kind == tarfile.REGTYPE), kind, "/etc/passwd"
        archive.addfile(about, io.BytesIO(text.encode()))
    return data.getvalue()


BOMB = zipped(**{f"{n}.txt": "" for n in range(2100)})
RENAMED = FIRST_FIT.read_text().replace("class FirstFit", "class Scheduler")
FROM_CLASS = FIRST_FIT.read_text() + "\n\nclass Scheduler(FirstFit):\n    pass\n"
LITERAL, ONE_WAY, NEVER = wrong("< taken at its word"), wrong("the way down is not"), wrong("never released")
CONSTANT = "def estimate_demands(src, dst, hosts):\n    return [0.5] * len(src)\n"
GONE = "import nowhere_to_be_found\n"
LEAST = (ROOT / "docs/examples/least_loaded.py").read_text().replace("LeastLoaded", "Scheduler")

CLASS = {
    "a-right/demand.py": (RIGHT, 20, ""),
    "b-mark/demand.py": ("\ufeff" + RIGHT.replace("\n", "\r\n"), 20, ""),
    "c-nested/hw3/mine/demand.py": (RIGHT, 20, "hw3/mine/demand.py is taken as demand.py"),
    "d-zip/hw.zip": (zipped(**{"hw/demand.py": RIGHT}), 20, "hw.zip/hw/demand.py is taken as demand.py"),
    "e-tar/hw.tar": (tarred("w", "demand.py", RIGHT), 20, "is taken as"),
    "f-tgz/hw.tar.gz": (tarred("w:gz", "hw/demand.py", RIGHT), 20, "is taken as"),
    "g-xz/hw.tar.xz": (tarred("w:xz", "./demand.py", RIGHT), 20, "is taken as"),
    "h.zip": (zipped(**{"demand.py": RIGHT}), 20, "is taken as"),
    "i-case/Demand.py": (RIGHT, 20, "Demand.py is taken as demand.py"),
    "j-dash/first-fit.py": (FIRST_FIT.read_text(), 20, "first-fit.py is taken as first_fit.py"),
    "k-twice/demand.py": (RIGHT, 20, "demand-1.py is not looked at"),
    "k-twice/demand-1.py": (CONSTANT, 20, ""),
    "l-name/solution.py": (RIGHT, 0, "found solution.py, expected demand.py, first_fit.py"),
    "m-empty/.DS_Store": ("", 0, "found nothing, expected demand.py"),
    "n-link/hw.tar": (tarred("w", "demand.py", "", tarfile.SYMTYPE), 0, "demand.py is a link, not a regular file"),
    "o-broken/hw.zip": (b"PK\3\4", 0, "hw.zip is no archive that can be read"),
    "p-bomb/hw.zip": (BOMB, 0, "more than 2000"),
    "q-rar/hw.rar": (b"Rar!", 0, "hw.rar is no archive that can be read"),
    "lee_attempt1/demand.py": (CONSTANT, 20, ""),
    "lee_attempt2/demand.py": (RIGHT, 20, "of 2 attempts the last counts: lee_attempt2"),
    "Lee Ann_12345_assignsubmission_file_/demand.py": (RIGHT, 20, ""),
    "Lee Ann_12345_assignsubmission_onlinetext_/onlinetext.html": ("<p>", 20, ""),
    "leeann_12345_67890_first_fit.py": (NEVER, 20, ""),
    "leeann_12345_67999_first_fit-1.py": (FIRST_FIT.read_text(), 20, "first_fit-1.py is taken as first_fit.py"),
    "roebob_LATE_54321_67891_hw.zip": (zipped(**{"demand.py": RIGHT}), 20, ""),
    "submission_101/demand.py": (CONSTANT, 20, ""),
    "submission_102/demand.py": (RIGHT, 20, "of 2 attempts the last counts: submission_102"),
    "r-literal/first_fit.py": (LITERAL, 19, "A flow that wants a whole link"),
    "s-one-way/first_fit.py": (ONE_WAY, 16, "period"),
    "t-never/first_fit.py": (NEVER, 10, "must be what it reserved"),
    "u-constant/demand.py": (CONSTANT, 0, "demand: "),
    "v-gone/scheduler.py": (GONE, 0, "contract: it raises ModuleNotFoundError"),
    "w-renamed/scheduler.py": (RENAMED, 25, "hedera-gff"),
    "x-derived/scheduler.py": (FROM_CLASS, 25, "All points need an interval above zero"),
    "y-least/scheduler.py": (LEAST, (26, 40), "hedera-gff"),
    "z-ours/demand.py": ((ROOT / "hedera/demand.py").read_text(), (0, 20), ""),
}
"""By its place: what was handed in, the points, and what the remarks say. Of a student's files the last is meant."""
METADATA = """submission_101:
  :submitters:
  - :name: Zoe Oe
    :sid: '7'
    :email: zoe@example.org
  :created_at: 2026-11-20 10:00:00
submission_102:
  :submitters:
  - :name: Zoe Oe
    :email: zoe@example.org
  :created_at: 2026-11-21 10:00:00
"""
NAMED = {
    "Lee Ann_1": "Lee Ann",
    "leeann_12": "leeann",
    "roebob_LA": "roebob",
    "submissio": "Zoe Oe",
    "lee_attem": "lee",
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The rows of grades.csv, by name; submissions are in the tests' own process."""
    place = tmp_path_factory.mktemp("class")
    for where, (what, *_) in CLASS.items():
        path = place / "all" / where
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(what if isinstance(what, bytes) else what.encode())
    (place / "all/submission_metadata.yml").write_text(METADATA)
    words = ["grade", "all", "--seed", "7", "--jobs", "1", "--unprotected", "--format", "gradescope"]
    before = Path.cwd()
    os.chdir(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grading, "Submission", lambda start, code, *_: Direct(code))
        patch.setattr(grading, "graded", lambda course, jobs, made: enumerate_grades(made, course))
        try:
            done = CliRunner().invoke(cli, words, catch_exceptions=False)
        finally:
            os.chdir(before)
    assert done.exit_code == 0, done.output
    with (place / "results/grades/grades.csv").open() as file:
        found = {row["submission"]: row for row in csv.DictReader(file)}
    for name in found:
        told = json.loads((place / f"results/grades/gradescope/{name}.json").read_text())
        assert sum(test["max_score"] for test in told["tests"]) == 100
        found[name]["output"] = told["output"]
    return found


def enumerate_grades(made, course):
    yield from ((n, grading.grade(one, course)) for n, one in enumerate(made))


def test_thirty_hand_ins_get_what_the_rubric_says(rows):
    wanted = {}
    for where, (_, points, words) in CLASS.items():
        wanted[NAMED.get(where[:9], where.partition("/")[0].removesuffix(".zip"))] = points, words
    assert len(wanted) >= 30
    assert set(rows) == set(wanted)
    for name, (points, words) in wanted.items():
        least, most = points if isinstance(points, tuple) else (points, points)
        assert least <= float(rows[name]["points"]) <= most, (name, rows[name])
        assert words in rows[name]["remarks"], (name, rows[name])
        assert float(rows[name]["points"]) or rows[name]["remarks"] in rows[name]["output"]


def test_likeness_is_shown_and_not_scored(rows):
    assert rows["z-ours"]["similar_to"] == "demand.py: 100 % hedera/demand.py"
    assert rows["y-least"]["similar_to"] == "scheduler.py: 100 % docs/examples/least_loaded.py"
    assert float(rows["a-right"]["similarity"]) == 100.0, "another has the same"
    assert rows["u-constant"]["similarity"] == "", "too little to say"


def test_students_of_one_name_stay_two(tmp_path):
    for number in (1, 2):
        (tmp_path / f"Lee Ann_{number}_assignsubmission_file_").mkdir()
        (tmp_path / f"Lee Ann_{number}_assignsubmission_file_" / "demand.py").write_text(RIGHT)
    assert [one.name for one in hand_ins([tmp_path])[0]] == ["Lee Ann_1", "Lee Ann_2"]
    (alone,), _ = hand_ins([tmp_path], single=True)
    assert len(alone.found) == 2
    assert len([words for words in alone.remarks if "is not looked at" in words]) == 1
