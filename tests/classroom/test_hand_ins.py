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
from classroom.packing import TEMPLATES
from classroom.submission import NAMES, SCHEDULER
from harness.cli import cli
from tests.classroom.direct import Direct
from tests.classroom.mistakes import MISTAKES, SOLUTIONS, seeded
from tests.commands import PROJECT

RIGHT, FIRST_FIT = ((SOLUTIONS / f"{name}.py").read_text() for name in ("demand", "first_fit"))
LITERAL, ONE_WAY, NEVER = (
    next(seeded(one) for one in MISTAKES if words in one.name)
    for words in ("< taken at its word", "the way down is not", "never released")
)
CONSTANT = "def estimate_demands(src, dst, hosts):\n    return [0.5] * len(src)\n"
ECMP = "class Scheduler:\n    __init__ = lambda *_: None\n    place = lambda self, flows, links: flows.hashed\n"
LEAST = (PROJECT / "docs/examples/least_loaded.py").read_text().replace("LeastLoaded", "Scheduler")
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
"""


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


CLASS = {
    "a-right": ({"demand.py": RIGHT}, 20, ""),
    "b-mark": ({"demand.py": "\ufeff" + RIGHT.replace("\n", "\r\n")}, 20, ""),
    "c-nested": ({"hw3/mine/demand.py": RIGHT}, 20, "hw3/mine/demand.py is taken as demand.py"),
    "d-zip": ({"hw.zip": zipped(**{"hw/demand.py": RIGHT})}, 20, "hw.zip/hw/demand.py is taken as demand.py"),
    "e-tar": ({"hw.tar": tarred("w", "demand.py", RIGHT)}, 20, "is taken as"),
    "f-tgz": ({"hw.tar.gz": tarred("w:gz", "hw/demand.py", RIGHT)}, 20, "is taken as"),
    "g-xz": ({"hw.tar.xz": tarred("w:xz", "./demand.py", RIGHT)}, 20, "is taken as"),
    "h": ({"../h.zip": zipped(**{"demand.py": RIGHT})}, 20, "is taken as"),
    "i-case": ({"Demand.py": RIGHT}, 20, "Demand.py is taken as demand.py"),
    "j-dash": ({"first-fit.py": FIRST_FIT}, 20, "first-fit.py is taken as first_fit.py"),
    "k-twice": ({"demand.py": RIGHT, "demand-1.py": CONSTANT}, 20, "demand-1.py is not looked at"),
    "l-name": ({"solution.py": RIGHT}, 0, "found solution.py, expected demand.py, first_fit.py"),
    "m-empty": ({".DS_Store": ""}, 0, "found nothing, expected demand.py"),
    "n-link": ({"hw.tar": tarred("w", "demand.py", "", tarfile.SYMTYPE)}, 0, "demand.py is a link, not a regular file"),
    "o-broken": ({"hw.zip": b"PK\3\4"}, 0, "hw.zip is no archive that can be read"),
    "p-bomb": ({"hw.zip": zipped(**{f"{n}.txt": "" for n in range(2100)})}, 0, "more than 2000"),
    "q-rar": ({"hw.rar": b"Rar!"}, 0, "hw.rar is no archive that can be read"),
    "lee": (
        {"../lee_attempt1/demand.py": CONSTANT, "../lee_attempt2/demand.py": RIGHT},
        20, "of 2 attempts the last counts: lee_attempt2",
    ),
    "Lee Ann_12345": (
        {f"../Lee Ann_12345_assignsubmission_{one}": RIGHT for one in ("file_/demand.py", "onlinetext_/told.html")},
        20, "found demand.py, told.html",
    ),
    "Lee Ann_12346": ({"../Lee Ann_12346_assignsubmission_file_/demand.py": CONSTANT}, 0, "demand: "),
    "leeann": (
        {"../leeann_12345_67890_first_fit.py": NEVER, "../leeann_12345_67999_first_fit-1.py": FIRST_FIT},
        20, "first_fit-1.py is taken as first_fit.py",
    ),
    "roebob": ({"../roebob_LATE_54321_67891_hw.zip": zipped(**{"demand.py": RIGHT})}, 20, ""),
    "Zoe Oe": (
        {"../submission_101/demand.py": CONSTANT, "../submission_102/demand.py": RIGHT,
         "../submission_metadata.yml": METADATA},
        20, "of 2 attempts the last counts: submission_102",
    ),
    "n" * 251: ({"first_fit.py": LITERAL}, 19, "A flow that wants a whole link"),
    "s-one-way": ({"first_fit.py": ONE_WAY}, 16, "period"),
    "t-never": ({"first_fit.py": NEVER}, 10, "must be what it reserved"),
    "u-constant": ({"demand.py": CONSTANT}, 0, "demand: host 0 receives"),
    "v-gone": ({"scheduler.py": "import nowhere_to_be_found\n"}, 0, "contract: it raises ModuleNotFoundError"),
    "w-renamed": ({"scheduler.py": FIRST_FIT.replace("class FirstFit", "class Scheduler")}, 25, "hedera-gff"),
    "x-derived": (
        {"scheduler.py": f"{FIRST_FIT}\n\nclass Scheduler(FirstFit):\n    pass\n"},
        25, "All points need an interval above zero",
    ),
    "y-least": ({"scheduler.py": LEAST}, (26, 40), "hedera-gff"),
    "z-ours": ({"demand.py": (PROJECT / "hedera/demand.py").read_text()}, (0, 20), ""),
    "z-templates": (
        {file: (TEMPLATES / file.replace(".py", ".txt")).read_text() for file in NAMES if file != SCHEDULER}
        | {SCHEDULER: ECMP}, 0, "contract: every flow stays where its hash put it",
    ),
}  # fmt: skip
"""By student: the files handed in, the points by docs/assignment/rubric.md, and what the remarks say."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The rows of grades.csv, by name, with what a service shows; submissions are in the tests' own process."""
    place = tmp_path_factory.mktemp("class")
    for who, (files, *_) in CLASS.items():
        for name, held in files.items():
            path = Path(os.path.normpath(place / "all" / who / name))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(held if isinstance(held, bytes) else held.encode())
    words = ["grade", str(place / "all"), "--seed", "7", "--jobs", "1", "--unprotected", "--format", "gradescope"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grading, "Submission", lambda start, code, *_: Direct(code))
        patch.setattr(grading, "grade_all", lambda course, _, made: iter_grades(made, course))
        done = CliRunner().invoke(cli, [*words, "--out", str(place / "out")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    with (place / "out/grades.csv").open() as file:
        found = {row["submission"]: row for row in csv.DictReader(file)}
    assert set(found) == set(CLASS), "the class is told apart"
    for name, row in found.items():
        row.update(json.loads((place / f"out/gradescope/{name[:200]}.json").read_text()))
    return found


def iter_grades(made, course):
    yield from ((n, grading.grade(one, course)) for n, one in enumerate(made))


@pytest.mark.slow  # the class is graded once, which takes ten seconds
@pytest.mark.parametrize("who", CLASS)
def test_each_gets_what_the_rubric_says(rows, who):
    row, (_, points, words) = rows[who], CLASS[who]
    least, most = points if isinstance(points, tuple) else (points, points)
    assert least <= float(row["points"]) <= most, row
    assert words in row["remarks"]
    shown = "\n".join([row["output"], *(test["output"] for test in row["tests"])])
    for sentence in row["remarks"].split("; ") if not float(row["points"]) else ():
        assert sentence.partition(": ")[2] in shown, "the reasons for a 0 are shown"
    assert sum(test["max_score"] for test in row["tests"]) == 100
    assert sum(test["score"] for test in row["tests"]) == pytest.approx(float(row["points"]), abs=0.01)


def test_a_file_with_nearly_the_name_is_told_what_is_expected(tmp_path):
    for name in ("scheduler_final.py", "Demand (2).py", "first_fit.py.txt", "notes.py"):
        (tmp_path / "ann").mkdir(exist_ok=True)
        (tmp_path / "ann" / name).write_text("")
    ((hand_in,), _) = hand_ins([tmp_path])
    assert list(hand_in.files) == ["demand.py"]
    looks = [remark for remark in hand_in.remarks if "looks like" in remark]
    assert [remark.partition(", but")[0] for remark in looks] == [
        "first_fit.py.txt looks like first_fit.py",
        "scheduler_final.py looks like scheduler.py",
    ]
    (tmp_path / "ann" / "Demand (2).py").unlink()
    with pytest.raises(ValueError, match=r"or some of these; there is notes\.py, scheduler_final\.py"):
        hand_ins([tmp_path])


# --- twice, and what may not be read ------------------------------------------------------------------------


@pytest.fixture
def four(tmp_path, monkeypatch, direct):
    """A class of four, each with a right demand.py, and a command that grades folders of it."""
    monkeypatch.setattr(grading, "grade_all", lambda course, _, made: iter_grades(made, course))
    for who in ("s0", "s1", "s2", "s3"):
        (tmp_path / "all" / who).mkdir(parents=True)
        (tmp_path / "all" / who / "demand.py").write_text((SOLUTIONS / "demand.py").read_text())

    def command(folder, *seed):
        words = ["grade", str(tmp_path / folder), *seed, "--jobs", "1", "--unprotected"]
        done = CliRunner().invoke(cli, [*words, "--out", str(tmp_path / "out")])
        with (tmp_path / "out/grades.csv").open() as file:
            return done, {row["submission"]: (row["points"], row["seed"]) for row in csv.DictReader(file)}

    return tmp_path, command


def test_one_student_again_leaves_the_other_lines_and_the_checks_of_the_class(four):
    place, command = four
    done, _ = command("all", "--seed", "7")
    assert done.exit_code == 0, done.output
    before = (place / "out/checks.csv").read_text()
    (place / "all/s2/demand.py").write_text("def estimate_demands(*_):\n    return None\n")
    done, rows = command("all/s2")
    assert done.exit_code == 0, done.output
    assert "3 more students stay in grades.csv" in done.output
    assert rows == {"s0": ("20", "7"), "s1": ("20", "7"), "s2": ("0", "7"), "s3": ("20", "7")}
    assert (place / "out/checks.csv").read_text() == before


def test_what_may_not_be_read_is_named_and_no_zero(four, monkeypatch):
    place, command = four
    forbidden = place / "all/s1/demand.py"
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **how: Path(path) != forbidden and allowed(path, mode, **how))
    done, rows = command("all")
    assert (done.exit_code, set(rows)) == (1, {"s0", "s2", "s3"})
    assert f"not graded: s1: you may not read {forbidden}" in done.output


def test_a_seed_that_nobody_gave_is_drawn_and_another_is_told_in_the_table(four):
    _, command = four
    _, rows = command("all/s0")
    (_, drawn) = rows["s0"]
    assert int(drawn) > 10**9, "one in a thousand million is shorter"
    assert command("all/s1", "--seed", "8")[1] == {"s0": ("20", drawn), "s1": ("20", "8")}


def test_a_table_of_another_version_is_left_alone(four):
    place, command = four
    (place / "out").mkdir()
    (place / "out/grades.csv").write_text("submission,points,seed\nann,3,1\n")
    done, rows = command("all")
    assert done.exit_code == 2
    assert "choose another --out" in done.output
    assert rows == {"ann": ("3", "1")}
