"""Files are written whole or not at all, and read within bounds."""

import errno
import os
import sys
import tempfile
from pathlib import Path

import pytest

from record.files import (
    find_files,
    find_left_by,
    identify_pids,
    name_owner,
    read_json,
    remove_tree,
    temporary_folder,
    write_whole,
)
from tests.commands import PROJECT, ran
from traffic.user_files import Unreadable, read_regular

US = {os.geteuid()}


def test_what_fails_half_way_leaves_the_old_content_and_nothing_beside(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "full")

    (tmp_path / "file").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="full"):
        write_whole(tmp_path / "file", "half")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "old")]


def test_a_link_is_replaced_not_followed_and_folders_are_made(tmp_path):
    (tmp_path / "other").write_text("kept")
    (tmp_path / "file").symlink_to("other")
    for place in (tmp_path / "file", tmp_path / "new" / "file"):
        write_whole(place, "ä")
        assert not place.is_symlink()
        assert place.read_bytes() == "ä".encode()
    assert (tmp_path / "other").read_text() == "kept"


@pytest.mark.root
def test_a_link_on_the_way_is_followed_unless_it_is_another_user_s(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    write_whole(tmp_path / "link" / ".." / "link" / "new" / "file", "ours")
    assert (tmp_path / "there" / "new" / "file").read_text() == "ours"
    os.chown(tmp_path / "link", 65534, 65534, follow_symlinks=False)
    with pytest.raises(PermissionError, match="another user's"):
        write_whole(tmp_path / "link" / "file", "")
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(OSError, match="circle"):
        write_whole(tmp_path / "circle" / "file", "")


def test_an_error_names_the_file_and_not_its_temporary(tmp_path):
    (tmp_path / "plain").write_text("")
    with pytest.raises(OSError, match="plain"):
        write_whole(tmp_path / "plain" / "file", "")


def test_only_regular_files_of_bounded_size_are_read(tmp_path):
    (tmp_path / "large").write_bytes(b"x" * 11)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dir").mkdir()
    for name in ("large", "pipe", "dir", "missing"):
        with pytest.raises(Unreadable):
            read_regular(tmp_path / name, 10)
    assert read_regular(tmp_path / "large", 11) == b"x" * 11
    assert read_regular(tmp_path / "large", 1 << 50) == b"x" * 11, "takes memory for what is there"


@pytest.mark.parametrize("text", [b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_unreadable(tmp_path, text):
    (tmp_path / "file").write_bytes(text)
    with pytest.raises(Unreadable):
        read_json(tmp_path / "file", 1 << 20)


def test_find_follows_no_link_and_goes_only_so_deep(tmp_path):
    for place in ("a/b", ".hidden", "c"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "run.json").write_text("{}")
    (tmp_path / "link").symlink_to("a")
    assert find_files(tmp_path, "run.json", deepest=1) == [tmp_path / "c" / "run.json"]
    assert find_files(tmp_path, "run.json") == [tmp_path / "a" / "b" / "run.json", tmp_path / "c" / "run.json"]


# --- temporary folders ------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """The folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_ours_alone_and_gone_afterwards():
    with temporary_folder("grade") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "below").mkdir()
    assert not folder.exists()


def test_whose_it_is_shows_in_its_name_while_it_is_there():
    assert find_left_by(US) == {}
    with temporary_folder("grade") as one, temporary_folder("run") as other:
        assert find_left_by(US) == {name_owner(): [one, other]}
        assert find_left_by({os.geteuid() + 1}) == {}


HERE = identify_pids()
FOREIGN = ("hedera-run-00000000-1-2-x", "hedera-grade-x", "hedera-run-1-2-x", f"x-hedera-run-{HERE}-1-2-x")
WRONG = (f"hedera-run-{HERE}-1-2", f"hedera-{HERE}-1-2-x", f"hedera-run-{HERE}-01-2-x")


def test_a_name_that_we_never_give_is_nobody_s(place):
    ours = f"hedera-run-{HERE}-1-2-x"
    for name in (ours, *FOREIGN, *WRONG):
        (place / name).mkdir()
    (place / "victim").mkdir()
    (place / f"hedera-run-{HERE}-1-2-link").symlink_to(place / "victim")
    (place / f"hedera-run-{HERE}-1-2-file").touch()
    assert find_left_by(US) == {"1-2": [place / ours]}


def test_who_counts_other_pids_takes_nothing_for_a_dead_one_s(place):
    """A container that shares /tmp, say: none of our processes is alive in there."""
    inside = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if ran(*inside, "true").returncode:
        pytest.skip("this machine has no user namespaces for ordinary users")
    look = "from record.files import find_left_by; print(find_left_by({0}))"
    with temporary_folder("grade"):
        done = ran(*inside, sys.executable, "-c", look, env=os.environ | {"TMPDIR": str(place)}, cwd=PROJECT)
    assert done.stdout == "{}\n", done.stderr


def test_a_tree_goes_however_deep_it_is_and_nothing_beside_it(place):
    (place / "victim").mkdir()
    (place / "victim" / "kept").touch()
    (place / "tree").mkdir()
    (place / "tree" / "link").symlink_to(place / "victim")
    here = os.open(place / "tree", os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("below", dir_fd=here)
        below = os.open("below", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert remove_tree(place / "tree") is None
    assert [path.name for path in place.iterdir()] == ["victim"]
    assert (place / "victim" / "kept").exists()


def test_what_cannot_be_removed_is_said_with_the_reason():
    assert remove_tree(Path("/proc/self/fd")) in ("Operation not permitted", "Permission denied")
