"""What is read of what others wrote, and what is one sentence instead."""

import os
import signal

import pytest

from files.reader import Unreadable, read_bytes, read_json, read_named


@pytest.fixture(autouse=True)
def at_once():
    """None of this waits."""
    signal.alarm(20)
    yield
    signal.alarm(0)


@pytest.mark.parametrize("read", [read_bytes, read_named])
def test_a_plain_file_up_to_a_size(tmp_path, read):
    (tmp_path / "a").write_bytes(b"12345")
    assert read(tmp_path / "a", 5) == b"12345"
    with pytest.raises(Unreadable, match="is larger than"):
        read(tmp_path / "a", 4)


@pytest.mark.parametrize("read", [read_bytes, read_named])
@pytest.mark.parametrize("kind", ["pipe", "folder", "nothing", "device"])
def test_what_is_no_plain_file(tmp_path, kind, read):
    path = tmp_path / "a"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path = path.parent.joinpath("/dev/zero")
    with pytest.raises(Unreadable, match=r"is not (a regular file|there)|cannot be read: No such file"):
        read(path, 100)


def test_a_link_is_read_where_the_user_named_it_and_only_there(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "link").symlink_to("a")
    assert read_named(tmp_path / "link", 9) == b"1"
    with pytest.raises(Unreadable, match="symbolic links"):
        read_bytes(tmp_path / "link", 9)


@pytest.mark.parametrize("text", [b"", b"{", b"[" * 100_000, b"\xff\xfe\x00", b'{"a": 1}{'])
def test_what_is_no_json(tmp_path, text):
    (tmp_path / "a").write_bytes(text)
    with pytest.raises(Unreadable, match="is not JSON"):
        read_json(tmp_path / "a", 1 << 20)


def test_json(tmp_path):
    (tmp_path / "a").write_text('{"a": [1, null]}')
    assert read_json(tmp_path / "a", 100) == {"a": [1, None]}
