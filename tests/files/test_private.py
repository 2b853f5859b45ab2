import os

import pytest

from files.private import NotPrivate, Store, private_folder


def test_root_s_own_place_is_in_root_s_home(tmp_path, monkeypatch):
    """HOME and XDG_CACHE_HOME may be the user's behind sudo."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("pwd.getpwuid", lambda uid: type("Known", (), {"pw_dir": str(tmp_path / "root")}))
    home = tmp_path / "root" / ".cache" if os.geteuid() == 0 else tmp_path / "cache"
    assert private_folder("x") == home / "hedera" / "x"
    assert (home / "hedera" / "x").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("what", ["others may write", "a link", "a file"])
def test_a_folder_that_is_not_private_is_none(tmp_path, what):
    place = tmp_path / "x"
    if what == "others may write":
        place.mkdir()
        place.chmod(0o777)
    elif what == "a link":
        (tmp_path / "other").mkdir()
        place.symlink_to(tmp_path / "other")
    else:
        place.touch()
    with pytest.raises(NotPrivate, match=r"others can write|File exists"):
        private_folder("x", str(tmp_path))


@pytest.fixture
def store(tmp_path):
    return Store(private_folder("x", str(tmp_path)), most=3)


def test_what_was_written_is_read(store):
    store.write("a", b"1")
    store.write("a", b"2")
    assert store.read("a") == b"2"
    assert store.read("b") is None
    assert [path.name for path in store.folder.iterdir()] == ["a"]


def test_the_files_that_were_used_last_are_kept(store):
    for n, name in enumerate("abc"):
        store.write(name, b"")
        os.utime(store.folder / name, (n, n))
    assert store.read("a") == b"", "used just now"
    store.write("d", b"")
    assert sorted(path.name for path in store.folder.iterdir()) == ["a", "c", "d"]


def test_a_file_that_was_cut_short_others_can_write_or_is_none_is_not_there(store, tmp_path):
    for name in "abc":
        store.write(name, b"12345")
    (store.folder / "a").write_bytes((store.folder / "a").read_bytes()[:-1])
    (store.folder / "b").chmod(0o666)
    (store.folder / "c").rename(tmp_path / "c")
    (store.folder / "c").symlink_to(tmp_path / "c")
    os.mkfifo(store.folder / "d")
    assert [store.read(name) for name in "abcd"] == [None] * 4


def test_a_store_that_others_can_write_is_not_read(store):
    store.write("a", b"1")
    store.folder.chmod(0o777)
    assert store.read("a") is None


def test_a_file_is_nobody_else_s_to_write_whatever_the_umask(store):
    before = os.umask(0o002)
    try:
        store.write("a", b"1")
    finally:
        os.umask(before)
    assert store.read("a") == b"1"


@pytest.mark.root
def test_root_keeps_nothing_below_another_user_s_folder(tmp_path):
    for folder in (tmp_path, *tmp_path.parents):
        folder.chmod(folder.stat().st_mode | 0o001)
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(NotPrivate, match="another user's folder"):
        private_folder("x", str(tmp_path))
    assert not list(tmp_path.iterdir())
