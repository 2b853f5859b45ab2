"""The user's files that a run names: which they are, how they travel, what is believed of them at the other end."""

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from files.sent import sent
from harness.errors import UserMistake
from harness.run.spec import RunSpec
from harness.sweep import enclosed
from harness.sweep.enclosed import contents_of, found, lay, names_of
from harness.sweep.remote import request, spec_of

FLOWS = "src_host,dst_host\n0,15\n"
PATTERN = "def one(tree, rng): return [(0, 15)]\ndef two(tree, rng): return [(0, 14), (1, 13)]\n"
SCHEDULER = """
class Mine:
    def __init__(self, tree, rng, options): pass
    def place(self, flows, links): return flows.core
"""
SIZES = "bytes,cumulative_probability\n100000,0\n10000000,1\n"


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A folder of the user's, who stands in it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, text in (
        ("a b.csv", FLOWS),
        ("p.py", PATTERN),
        ("s.py", SCHEDULER),
        ("sizes.csv", SIZES),
        ("sizes", SIZES),
    ):
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("scheme", "traffic", "names"),
    [
        ("ecmp", "stride:4", []),
        ("ecmp", "file:a b.csv", ["a b.csv"]),
        ("ecmp", "p.py:one + stride:1 + p.py:two", ["p.py"]),
        ("s.py:Mine", "./p.py:one + file:a b.csv", ["p.py", "a b.csv", "s.py"]),
        ("s:Mine", "stride:4", ["s.py"]),
        ("ecmp", "poisson:sizes.csv,0.5", ["sizes.csv"]),
        ("ecmp", "poisson:sizes,0.5 to file:a b.csv", ["sizes", "a b.csv"]),
        ("ecmp", "poisson:web-search,0.5 + stride:4", []),
        ("ecmp", "poisson:fixed:1000000,0.5", []),
    ],
)
def test_the_files_of_a_run_are_those_its_words_name(mine, scheme, traffic, names):
    spec = RunSpec(scheme, traffic, seconds=5)
    spec.workload()
    assert names_of(spec) == names
    assert list(contents_of(spec)) == names


def sent_away(spec, tmp_path, monkeypatch):
    """What the process that makes a run is asked, where it stands in a folder without any of the user's files."""
    asked = request("run", spec, "w1")
    there, elsewhere = tmp_path / "there", tmp_path / "elsewhere"
    there.mkdir()
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    asked["at"] = lay(asked.pop("contents"), there)
    return json.loads(json.dumps(asked))


@pytest.mark.parametrize("scheme", ["s.py:Mine", "s:Mine"])
def test_a_run_reads_what_was_sent_and_is_called_what_it_was(mine, tmp_path, monkeypatch, scheme):
    spec = RunSpec(scheme, "p.py:two + file:a b.csv + poisson:sizes,0.5", seconds=5)
    flows = [tuple(flow) for flow in spec.workload()]
    asked = sent_away(spec, tmp_path, monkeypatch)
    shutil.rmtree(mine)
    with sent(found(asked)):
        there = spec_of(asked)
        assert there == spec
        assert [tuple(flow) for flow in there.workload()] == flows
        own = Path(there.chosen.absolute.rpartition(":")[0])
    assert own.read_text() == SCHEDULER
    assert own.is_relative_to(tmp_path / "there")


def test_a_file_that_is_another_one_than_was_sent_is_refused(mine, tmp_path, monkeypatch):
    asked = sent_away(RunSpec("ecmp", "p.py:one"), tmp_path, monkeypatch)
    place = Path(asked["at"]["p.py"])
    place.write_text(PATTERN + "\n")
    with pytest.raises(UserMistake, match=r"^p.py is not what was sent$"):
        found(asked)
    place.unlink()
    place.symlink_to("/dev/zero")
    with pytest.raises(UserMistake, match=r"^p.py is not a regular file$"):
        found(asked)
    with pytest.raises(UserMistake, match=r"^p.py was not sent$"):
        found(asked | {"at": {}})


def test_no_run_reads_a_file_of_the_worker_s(mine, tmp_path):
    """A request that names a file and does not send it means whatever the worker has by that name."""
    asked = request("run", RunSpec("ecmp", "file:a b.csv"), "w1") | {"files": {}, "contents": {}}
    with sent(found(asked)), pytest.raises(UserMistake, match=r"^a b\.csv: what the run names is not"):
        spec_of(asked)
    asked = request("run", RunSpec("ecmp", "stride:1"), "w1") | {"files": {"x": "0"}}
    with pytest.raises(UserMistake, match="what the run names"):
        spec_of(asked)


@pytest.mark.parametrize(
    "name",
    ["../../won", "/tmp/hedera-won", "..", ".", "", "a/../../won", ".ssh", "a\0b", "x" * 5000, "ü" * 300],
)
def test_no_name_leads_out_of_the_folder(tmp_path, name):
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    places = lay({name: b"mine"}, folder)
    assert Path(places[name]).read_bytes() == b"mine"
    assert Path(places[name]).resolve().is_relative_to(folder.resolve())
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_dir()) == ["0", "a", "b"]


@pytest.mark.parametrize(
    ("contents", "sentence"),
    [
        (None, "no set of files"),
        ([b"x"], "no set of files"),
        ({"a": "text"}, "no set of files"),
        ({1: b"x"}, "no set of files"),
        ({str(n): b"" for n in range(33)}, "at most 32 files, not 33"),
        ({"a": bytes(60), "b": bytes(60)}, "more than"),
    ],
)
def test_what_is_no_set_of_files_of_a_sane_size_is_refused(tmp_path, monkeypatch, contents, sentence):
    monkeypatch.setattr(enclosed, "MAX_BYTES", 100)
    with pytest.raises(UserMistake, match=sentence):
        lay(contents, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_sent_is_told_before_anything_is(mine, monkeypatch):
    (mine / "m.csv").write_text(FLOWS)
    spec = RunSpec("ecmp", "file:m.csv")
    monkeypatch.setattr(enclosed, "MAX_BYTES", 10)
    with pytest.raises(UserMistake, match=r"^m.csv is larger than"):
        request("run", spec, "w1")
    (mine / "m.csv").unlink()
    with pytest.raises(UserMistake, match=r"^m.csv is not there$"):
        request("run", spec, "w1")
    os.mkfifo(mine / "m.csv")
    with pytest.raises(UserMistake, match=r"^m.csv is not a regular file$"):
        request("run", spec, "w1")


@pytest.mark.root
def test_who_called_sudo_can_read_what_was_sent_and_nobody_else(tmp_path, monkeypatch):
    monkeypatch.setenv("SUDO_UID", "4321")
    monkeypatch.setenv("SUDO_GID", "4321")
    folder = tmp_path / "sent"
    folder.mkdir(mode=0o700)
    place = Path(lay({"p.py": b"x"}, folder)["p.py"])
    for path in (folder, place.parent):
        about = path.stat()
        assert (about.st_uid, about.st_gid, stat.S_IMODE(about.st_mode)) == (4321, 4321, 0o700)
    assert (place.stat().st_uid, place.stat().st_gid) == (4321, 4321)
