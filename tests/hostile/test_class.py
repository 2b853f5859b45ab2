"""Whole classes, graded by the command as a teaching assistant calls it."""

import csv
import io
import json
import os
import zipfile

import pytest

from hedera.compiled import find_code_folder
from tests.commands import hedera, of_user, open_folder
from tests.hostile.arena import USER
from tests.hostile.test_submissions import HONEST

pytestmark = pytest.mark.slow  # each is a command that grades


@pytest.fixture
def place():
    with open_folder("hostile") as place:
        yield place


def hand_in(folder, **files):
    folder.mkdir(parents=True)
    for part, source in files.items():
        (folder / f"{part}.py").write_text(source)


def graded(place, *words, as_user=False, **environment):
    if os.geteuid() != 0:  # root's home is root's own, whatever HOME says
        environment = {"NUMBA_CACHE_DIR": str(find_code_folder().parent)} | environment
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "COLUMNS": "150"} | environment
    return hedera("grade", *words, cwd=place, env=environment, **(of_user(USER) if as_user else {}))


def nameless():
    """A zip of one member without a name."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("q", b"")
    data = packed.getvalue()
    at = data.index(b"PK\1\2")
    directory = bytearray(data[at:])
    directory[28:30] = b"\0\0"
    del directory[46]
    end = directory.index(b"PK\5\6")
    directory[end + 12 : end + 16] = end.to_bytes(4, "little")
    return data[:at] + bytes(directory)


def test_hand_ins_that_stop_a_class(place):
    """One is a zip with a nameless member, one of 500 MB of zeros, one 250 kB of blanks, one has formulas as names."""
    theirs = place / "submissions"
    hand_in(theirs / "alice", demand=HONEST["demand"])
    (theirs / "bob.zip").write_bytes(nameless())
    with zipfile.ZipFile(theirs / "carol.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for n in range(1900):
            archive.writestr(f"{n}/demand.py", bytes(256 << 10))
    hand_in(theirs / "dave", demand=f"x{' ' * 250_000}$\n")
    hand_in(theirs / "eve", demand=HONEST["demand"])
    (theirs / "eve" / "@SUM(1)").write_text("")
    done = graded(place, "submissions", "--seed", "7")
    assert done.returncode == 0, done.stderr
    with (place / "results/grades/grades.csv").open() as file:
        rows = {row["submission"]: row for row in csv.DictReader(file)}
    assert {name: row["points"] for name, row in rows.items()} == {
        "alice": "20", "bob": "0", "carol": "0", "dave": "0", "eve": "20"
    }  # fmt: skip
    assert rows["eve"]["files"].startswith("'@SUM(1)")
    assert rows["alice"]["demand_points"] == "20"
    assert "20.00 of 20.00" not in (place / "results/grades/feedback/dave.txt").read_text()
    assert "Read again: section 4.2" in (place / "results/grades/feedback/dave.txt").read_text()
    with (place / "results/grades/checks.csv").open() as file:
        assert [(row["failed"], row["handed_in"]) for row in csv.DictReader(file)] == [("1", "3")] * 6


def test_a_class_of_archives_links_and_pipes(place):
    """Beside honest folders lie archives, links to others' work, pipes and files that are called like folders."""
    theirs = place / "submissions"
    hand_in(theirs / "alice", demand=HONEST["demand"])
    (theirs / "bob.zip").write_bytes(b"PK\3\4")
    (theirs / "carol").symlink_to("alice")
    os.mkfifo(theirs / "dave")
    (theirs / "\x1b[2Jeve\n").write_text("")
    done = graded(place, "submissions", "--seed", "7", "--json")
    assert done.returncode == 0, done.stderr
    alice, bob = json.loads(done.stdout)["rows"]
    assert (alice["submission"], bob["submission"], bob["points"]) == ("alice", "bob", 0.0)
    assert "bob.zip is no archive that can be read" in bob["remarks"]
    (said,) = [line for line in done.stderr.splitlines() if "not graded" in line]
    assert said.endswith(r"not graded, because they are no submissions: \x1b[2Jeve , carol, dave")


@pytest.mark.parametrize("what", ["nowhere", "file.zip", "pipe", "link", "empty", "locked", "\x1b[2J\n"])
def test_something_else_than_a_class(place, what):
    """What is to be graded is an archive, a pipe, a link that leads nowhere, or a folder nobody may enter."""
    (place / "file.zip").write_bytes(b"PK\3\4")
    os.mkfifo(place / "pipe")
    (place / "link").symlink_to("nowhere")
    (place / "empty").mkdir()
    (place / "locked").mkdir(mode=0)
    before = sorted(place.iterdir())
    done = graded(place, what, "--seed", "7", as_user=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    (said,) = [line for line in done.stderr.splitlines() if line.startswith(("Error: ", "hedera: "))]
    assert said.isprintable()
    assert sorted(place.iterdir()) == before
