"""Whole or not at all, and through no link. What enemies do with it is in tests/hostile."""

import io
import os
import stat
import time

import pytest

from files.writer import remove_abandoned, whole, write_folder, write_whole


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_there_whole(tmp_path):
    write_whole(tmp_path / "a", b"one")
    write_whole(tmp_path / "a", "zwei \N{SNOWMAN}")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "zwei \N{SNOWMAN}"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o666 & ~umask()
    assert names(tmp_path) == ["a"]


def umask():
    found = os.umask(0o22)
    os.umask(found)
    return found


def test_or_not_at_all(tmp_path):
    write_whole(tmp_path / "a", b"before")
    with pytest.raises(KeyboardInterrupt), whole(tmp_path / "a") as out:
        out.write(b"half")
        assert len(names(tmp_path)) == 2
        raise KeyboardInterrupt
    assert (tmp_path / "a").read_bytes() == b"before"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
def test_nothing_is_left_when_the_machine_fails_it(tmp_path, monkeypatch, call):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    if call != "write":
        monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="No space left"), whole(tmp_path / "a") as out:
        out.write(b"x")
        if call == "write":
            fail()
    assert names(tmp_path) == []


def test_the_name_meanwhile_cannot_be_guessed(tmp_path):
    seen = set()
    for _ in range(20):
        with whole(tmp_path / "a"):
            seen |= set(names(tmp_path)) - {"a"}
    assert len(seen) == 20


def test_a_link_by_its_name_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "other").write_text("other")
    for made in ("symlink_to", "hardlink_to"):
        getattr(tmp_path / "a", made)(tmp_path / "other")
        write_whole(tmp_path / "a", b"ours")
        assert (tmp_path / "other").read_text() == "other"
        assert (tmp_path / "a").read_text() == "ours"
        (tmp_path / "a").unlink()


def test_a_folder_that_is_a_link_is_refused_in_words(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to("real")
    with pytest.raises(OSError, match=r"will not write through a link: .*linked"):
        write_whole(tmp_path / "linked" / "a", b"x")
    (tmp_path / "real" / "below").mkdir()
    write_whole(tmp_path / "linked" / "below" / "a", b"x")  # the user's own, further up: a larger disk
    assert (tmp_path / "real" / "below" / "a").read_bytes() == b"x"
    assert names(tmp_path / "real") == ["below"]


def test_errors_name_the_file(tmp_path):
    with pytest.raises(FileNotFoundError) as told:
        write_whole(tmp_path / "nowhere" / "a", b"x")
    assert told.value.filename == str(tmp_path / "nowhere")
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError) as told:
        write_whole(tmp_path / "a", b"x")
    assert told.value.filename == str(tmp_path / "a")
    assert names(tmp_path) == ["a"]


def test_a_folder_is_there_whole_or_not_at_all(tmp_path):
    write_folder(tmp_path / "run", {"a": io.BytesIO(b"1"), "b": io.BytesIO(b"2")})
    assert [(path.name, path.read_bytes()) for path in sorted((tmp_path / "run").iterdir())] == [
        ("a", b"1"),
        ("b", b"2"),
    ]
    with pytest.raises(OSError, match="not empty"):
        write_folder(tmp_path / "run", {"c": io.BytesIO(b"3")})
    with pytest.raises(TypeError):
        write_folder(tmp_path / "other", {"c": io.BytesIO(b"3"), "d": io.StringIO("no bytes")})
    assert names(tmp_path) == ["run"]
    assert names(tmp_path / "run") == ["a", "b"]


def test_what_a_killed_writer_left_goes_with_the_next_one_s_work(tmp_path):
    old, new, foreign = (tmp_path / f".{name}.partial" for name in ("a." + "0" * 16, "a." + "1" * 16, "a.b"))
    for path in (old, new, foreign):
        path.write_text("half")
    os.utime(old, (time.time() - 4000,) * 2)
    write_whole(tmp_path / "a", b"x")
    assert names(tmp_path) == sorted(["a", new.name, foreign.name]), "another may still be writing the new one"


def test_long_names(tmp_path):
    write_whole(tmp_path / ("n" * 250), b"x")
    assert names(tmp_path) == ["n" * 250]


def test_what_a_killed_writer_left_is_found_by_any_of_its_names(tmp_path):
    halves = [".run.json.0123456789abcdef.partial", ".trial-1.partial", ".trial-2-again.partial", ".probe-17"]
    others = [
        ".partial",
        "run.json.0123456789abcdef.partial",
        ".mine.partial",
        ".trial-1",
        ".probe-x",
        "trial-1",
    ]
    for name in [*halves, *others]:
        (tmp_path / name).mkdir() if "trial" in name else (tmp_path / name).touch()
    (tmp_path / ".trial-1.partial" / "half").touch()
    assert remove_abandoned(tmp_path, 60.0) == []
    for name in [*halves, *others]:
        os.utime(tmp_path / name, (0, 0))
    assert remove_abandoned(tmp_path, 60.0) == sorted(tmp_path / name for name in halves)
    assert names(tmp_path) == sorted(others)


def test_only_what_is_gone_is_said_to_be(tmp_path):
    half = tmp_path / ".trial-1.partial"
    (half / "not" / "flat").mkdir(parents=True)
    os.utime(half, (0, 0))
    assert remove_abandoned(tmp_path, 60.0) == []
    assert half.exists()
