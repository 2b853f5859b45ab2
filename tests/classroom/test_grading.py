"""Submissions get what they deserve. (Those that mean harm are in tests/hostile.)"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from classroom import grading
from classroom.code import Code
from classroom.lent import PACKAGES, asked_for, lent_modules
from classroom.probe import require_closed
from classroom.process import Misbehaved
from classroom.sandbox import Unfit, closed, prepared
from classroom.submission import Submission
from classroom.template import MILESTONES, write_template
from tests.classroom.mistakes import MISTAKES, SOLUTIONS, seeded

MIN_LOADED = Path(__file__).parents[2] / "docs/examples/least_loaded.py"
HEDERA = Path(sys.executable).with_name("hedera")


def bubblewrap():
    try:
        with prepared() as place:
            require_closed(closed(place, 1))
    except Unfit:
        return False
    return True


pytestmark = pytest.mark.skipif(not bubblewrap(), reason="bubblewrap is missing, or may not close processes off")


@pytest.fixture(scope="module")
def shut():
    """How to start a process that is closed off."""
    with prepared() as place:
        yield closed(place, 20)


def said(shut, body, call_s=20, **limits):
    """What a function of a submission gives, as numbers; it has ``src`` and ``num_hosts``."""
    lines = "\n    ".join(body.splitlines())
    code = Code("theirs.py", f"import os, sys\ndef f(src, dst, num_hosts):\n    {lines}\n", "f")
    with Submission(shut, code, call_s, **limits) as submission:
        return submission.estimate([0], [1], 4).core


def test_it_has_nothing_of_root_s_and_no_network(shut):
    body = """
import socket
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
capabilities = sum(int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"))
networks = len(open("/proc/net/dev").read().splitlines()) - 2
try:
    socket.create_connection(("192.0.2.1", 80), 1)
    networks = 99
except OSError:
    pass
return [os.getuid(), capabilities, networks, len([p for p in os.listdir("/proc") if p.isdigit()])]
"""
    uid, capabilities, networks, processes = said(shut, body.strip()).tolist()
    assert 61184 <= uid < 65520 if os.geteuid() == 0 else uid == os.getuid()
    assert (capabilities, networks) == (0, 1), "the loopback alone"
    assert processes <= 4


def test_it_sees_neither_submissions_nor_homes(shut, tmp_path):
    (tmp_path / "neighbour.py").write_text("the answer")
    places = [
        str(tmp_path),
        str(SOLUTIONS),
        "/root",
        "/home",
        "/etc/passwd",
        "/etc/shadow",
        "/var",
        "/run",
        "/sys",
    ]
    body = f"return [float(os.path.exists(place)) for place in {places!r}]"
    assert said(shut, body).tolist() == [0.0] * len(places)
    assert said(shut, "return [float(len(os.listdir('/tmp')))]").tolist() == [0.0]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("while True: pass", "did not answer within 1 s"),
        ("os._exit(3)", r"ended \(status 3\)"),
        ("return bytearray(8 << 30)", "MemoryError"),
        ("open('/tmp/x', 'wb').write(bytes(64 << 20))", "OSError|SIGXFSZ|File too large"),
        ("return ' '.join(['x'] * 10)", ""),
        ("os.setuid(0)", "PermissionError|not permitted|Invalid argument"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ],
)
def test_what_it_does_to_itself_is_told(shut, body, words):
    if not words:
        assert said(shut, body) is None
        return
    with pytest.raises(Misbehaved, match=words):
        said(shut, body, call_s=1 if "while" in body else 20)


def hand_in(folder, **files):
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


def solution(name):
    return (SOLUTIONS / f"{name}.py").read_text()


def with_mistake(words):
    return seeded(next(mistake for mistake in MISTAKES if words in mistake.name))


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The command over a class, the JSON that it prints, and the folder."""
    place = tmp_path_factory.mktemp("class")
    theirs = place / "submissions"
    theirs.mkdir()
    hand_in(theirs / "a-demand-and-first-fit", demand=solution("demand"), first_fit=solution("first_fit"))
    hand_in(theirs / "b-scheduler", scheduler=MIN_LOADED.read_text().replace("LeastLoaded", "Scheduler"))
    hand_in(theirs / "c-one-pass", demand=with_mistake("one pass"))
    hand_in(theirs / "d-never-released", first_fit=with_mistake("never released"))
    hand_in(theirs / "e-nothing")
    hand_in(theirs / "f-templates")
    for milestone in (None, *MILESTONES):
        file = "scheduler.py" if milestone is None else MILESTONES[milestone].file
        write_template(theirs / "f-templates" / file, milestone)
    done = subprocess.run(
        [HEDERA, "grade", theirs, "--seed", "7", "--seconds", "6", "--json", "--out", place / "out"],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    return {row["submission"]: row for row in json.loads(done.stdout)["rows"]}, place


def test_everybody_is_graded(graded):
    rows, place = graded
    assert [name[0] for name in rows] == list("abcdef")
    with (place / "out" / "grades.csv").open() as file:
        assert [row["submission"] for row in csv.DictReader(file)] == list(rows)


def test_honest_work_gets_what_it_deserves(graded):
    rows, _ = graded
    assert rows["a-demand-and-first-fit"]["demand"] == rows["a-demand-and-first-fit"]["first_fit"] == 1.0
    assert rows["a-demand-and-first-fit"]["points"] == 40.0
    scheduler = rows["b-scheduler"]
    assert scheduler["contract"] == 1.0
    assert scheduler["quality"] > 0.5
    assert scheduler["points"] == pytest.approx(10 + 20 * scheduler["quality"])
    assert 0 < rows["c-one-pass"]["demand"] < 1
    assert "one pass" in rows["c-one-pass"]["remarks"]
    assert "must be what it reserved" in rows["d-never-released"]["remarks"]
    assert (rows["e-nothing"]["points"], rows["e-nothing"]["demand"]) == (0.0, None)


def test_untouched_templates_have_no_points(graded):
    row = graded[0]["f-templates"]
    parts = ("demand", "first_fit", "annealing", "loop", "contract", "quality")
    assert {part: row[part] for part in ("points", *parts)} == dict.fromkeys(("points", *parts), 0.0)
    assert "contract: every flow stays where its hash put it" in row["remarks"]


def test_what_is_asked_for_and_not_lent():
    source = """
import hedera.clos as c, topos.links, numpy, hedera.nowhere
from hedera import (
    demand, linkstate,
)
importlib.import_module("hedera.tabu_search")
"""
    assert asked_for(source) == {"hedera.clos", "hedera.demand", "hedera.tabu_search"}
    assert asked_for("import " + "hedera." * 30_000 + "(" * 5000 + "-" * 100_000) == set()
    assert {"topos.links", "hedera.placement", "hedera.compiled"} <= lent_modules()
    answers = {
        "demand",
        "figure_7",
        "global_first_fit",
        "simulated_annealing",
        "clos",
        "edge_colouring",
        "maxmin",
    }
    assert not {f"hedera.{name}" for name in answers} & lent_modules()
    root = Path(__file__).parents[2]
    assert set(PACKAGES) == {path.parent.name for path in root.glob("*/__init__.py")} - {"tests"}
    assert lent_modules(loop=True) - lent_modules() == {"hedera.figure_7"}


def test_the_same_seed_gives_the_same_patterns_and_another_one_others():
    assert grading.drawn_patterns(8, 1) == grading.drawn_patterns(8, 1)
    assert grading.drawn_patterns(8, 1) != grading.drawn_patterns(8, 2)


def test_a_folder_without_submissions_is_one_sentence(tmp_path):
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "gone", tmp_path):
        with pytest.raises(ValueError, match=r"(is not a folder|has no submission)"):
            grading.submissions([folder])
