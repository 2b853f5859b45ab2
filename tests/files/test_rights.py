"""Becoming the user behind sudo. An attacker here is that user, or anyone, who may put links where root writes."""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

import pytest

from files import rights
from files.rights import as_owner, invoker, leave_root_for_good, make_folder
from files.writer import write_whole
from harness.errors import RunFailed, UserMistake
from harness.sweep.store import new_run, read_json, require_writable, write_json

USER = 65534


@pytest.fixture
def sudo(monkeypatch):
    monkeypatch.setenv("SUDO_UID", str(USER))
    monkeypatch.setenv("SUDO_GID", str(USER))


@pytest.fixture
def theirs(reachable, sudo):
    """A folder of the user's, reachable by that user."""
    folder = reachable / "home"
    folder.mkdir()
    os.chown(folder, USER, USER)
    return folder


def owners(folder):
    return {path.lstat().st_uid for path in (folder, *folder.rglob("*"))}


def me():
    return os.geteuid(), os.getegid(), os.getgroups(), os.environ.get("HOME")


@pytest.mark.parametrize(("uid", "gid"), [("0", "0"), ("x", "1"), ("", ""), ("-1", "1"), ("1000", "")])
def test_nobody_is_behind_sudo(monkeypatch, uid, gid):
    monkeypatch.setenv("SUDO_UID", uid)
    monkeypatch.setenv("SUDO_GID", gid)
    assert invoker() is None


@pytest.mark.root
def test_root_comes_back_whatever_happens(theirs):
    before = me()
    with pytest.raises(KeyboardInterrupt), as_owner(theirs):
        assert os.geteuid() == os.getegid() == USER
        assert 0 not in os.getgroups()
        with as_owner(theirs):
            pass
        assert os.geteuid() == USER
        raise KeyboardInterrupt
    assert me() == before


@pytest.mark.root
def test_all_that_is_written_is_the_user_s(theirs):
    require_writable(theirs / "results" / "runs" / "single")
    raw = theirs.parent / "raw"
    with new_run(theirs / "results" / "runs" / "single" / "a", raw):
        write_json(raw / "run.json", {"schema": 1})
        assert raw.stat().st_uid == 0
    assert owners(theirs) == {USER}
    assert not raw.exists()


@pytest.mark.root
@pytest.mark.parametrize("mode", [0o755, 0o700], ids=["a clone of root's", "a folder out of the user's reach"])
def test_what_is_made_where_root_alone_writes_is_the_user_s(theirs, tmp_path, mode):
    clone = tmp_path / "clone"
    clone.mkdir()
    clone.chmod(mode)
    runs = clone / "results" / "runs"
    require_writable(runs)
    with new_run(runs / "single" / "a", tmp_path / "raw"):
        write_json(tmp_path / "raw" / "run.json", {"schema": 1})
    with as_owner(runs):
        assert os.geteuid() == (USER if mode == 0o755 else 0)
    write_whole(runs / "x.json", "1")
    assert read_json(runs / "x.json") == 1
    assert owners(clone / "results") == {USER}
    assert clone.stat().st_uid == 0
    (clone / "older").mkdir()
    require_writable(clone / "older")


@pytest.mark.root
def test_a_folder_that_is_not_the_user_s_is_not_written_to(theirs, tmp_path):
    """Neither directly, nor by a link that the user put in place of results."""
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o755)
    (theirs / "results").symlink_to(closed)
    (theirs / "roots").mkdir()
    (theirs / "roots").chmod(0o755)
    with pytest.raises(UserMistake, match=r"by the user who called sudo\): Permission denied"):
        require_writable(theirs / "roots" / "deeper")
    target = closed / "file"
    target.write_text("root's")
    (theirs / "trial-1").mkdir()
    os.chown(theirs / "trial-1", USER, USER)
    (theirs / "trial-1" / "run.json").symlink_to(target)
    with pytest.raises(PermissionError), as_owner(theirs):
        (theirs / "trial-1" / "run.json").write_text("theirs")
    assert target.read_text() == "root's"
    assert owners(closed) == {0}


@pytest.mark.root
@pytest.mark.parametrize("plant", [".a.partial", "a"])
def test_a_link_planted_while_a_run_goes_on_leads_nowhere(theirs, tmp_path, monkeypatch, plant):
    monkeypatch.setattr(tempfile, "tempdir", str(theirs))
    closed = tmp_path / "closed"
    (closed / "sub").mkdir(parents=True)
    closed.chmod(0o755)
    refused = pytest.raises(RunFailed, match="Not a directory") if plant == "a" else nullcontext()
    with refused, new_run(theirs / "a", tmp_path / "raw"):
        (tmp_path / "raw" / "run.json").write_text("{}")
        with as_owner(theirs):
            (theirs / plant).symlink_to(closed)
    assert [path.name for path in closed.iterdir()] == ["sub"]
    assert owners(closed) == {0}
    kept = [path.read_text() for path in theirs.glob("hedera-unpublished-*/a/run.json")]
    assert kept == (["{}"] if plant == "a" else []), "the run is not lost for it"


@pytest.mark.root
def test_secrets_are_not_read_back_as_results(theirs, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(json.dumps({"schema": 1}))
    secret.chmod(0o600)
    (theirs / "run.json").symlink_to(secret)
    with pytest.raises(ValueError, match="cannot be read"):
        read_json(theirs / "run.json")


def test_without_sudo_nothing_changes(tmp_path, monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)
    before = me()
    with as_owner(tmp_path):
        assert me() == before
    make_folder(tmp_path / "a" / "b")
    leave_root_for_good()
    assert me() == before
    assert Path(tmp_path / "a" / "b").stat().st_uid == os.geteuid()


@pytest.fixture
def root_shell(monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)


@pytest.mark.root
def test_in_a_root_shell_root_is_the_owner_of_what_is_not_root_s(reachable, root_shell):
    """As far up as somebody else could put something in its place."""
    theirs = reachable / "theirs"
    (theirs / "root's").mkdir(parents=True)
    os.chown(theirs, USER, USER)
    before = me()
    for place in (theirs, theirs / "new", theirs / "root's", theirs / "root's" / "new"):
        with as_owner(place) as heir:
            assert (os.geteuid(), os.getegid(), heir) == (USER, USER, None)
            assert 0 not in os.getgroups()
        assert me() == before
    for place in (reachable, reachable / "new"):
        with as_owner(place) as heir:
            assert (me(), heir) == (before, None)
    make_folder(theirs / "made" / "deep")
    write_whole(theirs / "made" / "a", "x")
    assert owners(theirs / "made") == {USER}
    with pytest.raises(PermissionError):
        write_whole(theirs / "root's" / "a", "x")


@pytest.mark.root
def test_another_user_s_group_is_no_group_of_ours(reachable, root_shell):
    """Who gives a folder to a group of root's lends root no rights of it, and gets none."""
    folder = reachable / "theirs"
    folder.mkdir()
    os.chown(folder, 54321, 0)
    with as_owner(folder):
        assert (os.geteuid(), os.getegid(), os.getgroups()) == (54321, 65534, [])


@pytest.mark.root
@pytest.mark.parametrize("sudo_uid", [None, "54321"])
def test_root_is_left_for_good(reachable, root_shell, sudo_uid):
    folder = reachable / "theirs"
    folder.mkdir()
    os.chown(folder, 54321, 54321)
    program = f"""
import os, sys; sys.path.insert(0, {str(Path(rights.__file__).parents[1])!r})
from pathlib import Path; from files.rights import leave_root_for_good
leave_root_for_good(Path({str(folder)!r}))
print(os.getresuid(), os.getresgid(), 0 in os.getgroups())
try: os.seteuid(0)
except PermissionError: print("for good")
"""
    sudo = {"SUDO_UID": sudo_uid, "SUDO_GID": "54321"} if sudo_uid else {}
    command = [sys.executable, "-I", "-c", program]
    said = subprocess.run(command, env=os.environ | sudo, capture_output=True, text=True, check=True).stdout
    gid = 54321 if sudo_uid else 65534
    assert said == f"{(54321,) * 3} {(gid,) * 3} False\nfor good\n"


def test_root_of_a_user_namespace_that_has_nobody_else_is_told_so(monkeypatch):
    def refused(_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "setgroups", refused)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", "1234")
    monkeypatch.setenv("SUDO_GID", "1234")
    told = "cannot become user 1234 here; in a user namespace use your own user"
    with pytest.raises(OSError, match=told), as_owner(Path("/tmp")):
        pass
