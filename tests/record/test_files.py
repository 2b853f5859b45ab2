"""Files are written whole or not at all, and read within bounds."""

import errno
import os

import pytest

from record.files import find_files, read_json, write_whole
from traffic.textfile import Unreadable, read_regular


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
