import errno
import json
import math
import os
import re
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.errors import RunFailed, UserMistake
from harness.sweep import store
from harness.sweep.store import RESULT, new_run, read_run, require_writable, slug, write_json
from tests.harness.sweep.run_files import run_json


def test_a_run_is_there_whole_or_not_at_all(tmp_path):
    folder = tmp_path / "sweep" / "trial-1"
    raw = tmp_path / "raw"
    with pytest.raises(KeyboardInterrupt), new_run(folder, raw):
        (raw / "half").write_text("...")
        raise KeyboardInterrupt
    assert not folder.exists()
    assert list(folder.parent.iterdir()) == []
    assert not raw.exists()
    with new_run(folder, raw):
        write_json(raw / RESULT, run_json())
        assert not folder.exists()
    assert read_run(folder).valid


def test_what_a_killed_run_left_is_replaced(tmp_path):
    (tmp_path / ".trial-1.partial").mkdir()
    (tmp_path / ".trial-1.partial" / RESULT).write_text("{")
    with new_run(tmp_path / "trial-1", tmp_path / "raw"):
        (tmp_path / "raw" / "x").write_text("whole")
    assert [path.name for path in (tmp_path / "trial-1").iterdir()] == ["x"]
    assert not (tmp_path / ".trial-1.partial").exists()


def test_results_are_never_overwritten(tmp_path):
    raw = tmp_path / "raw"
    with new_run(tmp_path / "trial-1", raw):
        pass
    with pytest.raises(RunFailed, match="never overwritten"), new_run(tmp_path / "trial-1", raw):
        pass
    (tmp_path / "trial-2").symlink_to(tmp_path / "nowhere")
    with pytest.raises(RunFailed, match="never overwritten"), new_run(tmp_path / "trial-2", raw):
        pass


@pytest.mark.parametrize("text", ["", "{", "[]", "17", '{"schema": 2, "verdict": "ok"}', '{"schema": 1}', "\0\xff"])
def test_what_is_not_a_result_is_not_read_as_one(tmp_path, text):
    (tmp_path / RESULT).write_text(text)
    assert read_run(tmp_path) is None
    assert read_run(tmp_path / "nowhere") is None


def test_names_from_the_command_line_stay_inside_the_folder():
    assert slug("published:stag0(0.2,0.3)") == "published_stag0_0.2,0.3"
    assert slug("file:../../etc/passwd") == "file_.._.._etc_passwd"
    assert slug("../..") == "_" or "/" not in slug("../..")
    for nasty in ("..", ".", "", "/", "a/b", "file:/x y;rm -rf"):
        assert "/" not in slug(nasty)
        assert slug(nasty) not in ("", ".", "..")


def test_json_is_replaced_at_once(tmp_path):
    path = tmp_path / "x.json"
    write_json(path, [1])
    write_json(path, [2])
    assert json.loads(path.read_text()) == [2]
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_a_folder_that_cannot_be_written_is_said_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserMistake, match="results cannot be written to"):
        require_writable(tmp_path / "file" / "below")
    assert os.listdir(tmp_path) == ["file"]


def test_no_half_of_a_result_is_read_as_one(tmp_path):
    write_json(tmp_path / RESULT, run_json(links={"a": 1.5}))
    whole = (tmp_path / RESULT).read_bytes()
    for size in range(len(whole) - 1):  # the last byte is the line's end
        (tmp_path / RESULT).write_bytes(whole[:size])
        assert read_run(tmp_path) is None


def test_a_disk_that_is_full_keeps_what_is_there_and_says_so(tmp_path, monkeypatch):
    free = iter([store.ROOM, store.ROOM, store.ROOM - 1, 0])
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=next(free)))
    with pytest.raises(RunFailed, match="is full"), new_run(tmp_path / "trial-1", tmp_path / "raw"):
        pass  # full at the end
    with pytest.raises(RunFailed, match="is full"), new_run(tmp_path / "trial-1", tmp_path / "raw"):
        pytest.fail("it was full before")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=store.ROOM))
    with pytest.raises(RunFailed, match="is full"), new_run(tmp_path / "trial-1", tmp_path / "raw"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert list(tmp_path.iterdir()) == []


def test_it_is_the_full_disk_that_is_named(tmp_path, monkeypatch):
    results, scratch = tmp_path / "results", tmp_path / "scratch"
    results.mkdir()
    scratch.mkdir()
    free = dict.fromkeys((results, scratch, scratch / "raw"), store.ROOM)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free[path]))
    for full in (results, scratch):
        with (
            pytest.raises(RunFailed, match=f"the disk of {full} is full"),
            new_run(results / "t", scratch / "raw"),
        ):
            free[full] = 0
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        free[full] = store.ROOM
    with (
        pytest.raises(RunFailed, match=f"the disk of {results} is full"),
        new_run(results / "t", scratch / "raw"),
    ):
        free[scratch] = 0  # of its user's share of a disk nothing can be asked
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))


def test_a_long_run_wants_more_room(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=store.ROOM + (1 << 30)))
    with (
        pytest.raises(RunFailed, match="with 2080 MiB free"),
        new_run(tmp_path / "a", tmp_path / "raw", 2 << 30),
    ):
        pytest.fail("there is not enough room for it")
    with new_run(tmp_path / "a", tmp_path / "raw", 1 << 30):
        pass


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_what_is_no_number_is_no_json(tmp_path, number):
    write_json(tmp_path / "x.json", [1])
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "x.json", {"mbps": [number]})
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
    assert json.loads((tmp_path / "x.json").read_text()) == [1]


def test_file_and_names_are_on_the_disk_before_a_run_counts(tmp_path, monkeypatch):
    """What a loss of power must not undo: the content, then the name."""
    done = []
    real_sync, real_rename = os.fsync, os.rename

    def sync(descriptor):
        done.append(("sync", Path(os.readlink(f"/proc/self/fd/{descriptor}")).name))
        real_sync(descriptor)

    def rename(name, target, **where):
        done.append(("rename", name))
        return real_rename(name, target, **where)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "rename", rename)
    with new_run(tmp_path / "trial-1", tmp_path / "raw"):
        (tmp_path / "raw" / RESULT).write_text("{}")
    partial = done[1][1]
    assert re.fullmatch(r"\.trial-1\.[0-9a-f]{16}\.partial", partial)
    assert done == [("sync", RESULT), ("sync", partial), ("rename", partial), ("sync", tmp_path.name)]


@pytest.fixture
def broken(monkeypatch, tmp_path):
    """Folders below these cannot be written to, as on a file server that is gone."""
    places, real = [], store.write_folder
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))

    def write_folder(folder, files):
        if any(folder.is_relative_to(place) for place in places):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        real(folder, files)

    monkeypatch.setattr(store, "write_folder", write_folder)
    return places


def publish(tmp_path):
    with new_run(tmp_path / "results" / "trial-1", tmp_path / "raw"):
        write_json(tmp_path / "raw" / RESULT, run_json())
        (tmp_path / "raw" / "bwm-ng-0.csv").write_text("measured")


def test_a_finished_run_that_cannot_be_published_is_kept_elsewhere(tmp_path, broken):
    broken.append(tmp_path / "results")
    with pytest.raises(RunFailed, match=r"trial-1 could not be written \(Stale file handle\): .* is kept as ") as said:
        publish(tmp_path)
    (kept,) = (tmp_path / "tmp").glob("hedera-unpublished-*/trial-1")
    assert str(kept) in str(said.value)
    assert read_run(kept).valid
    assert (kept / "bwm-ng-0.csv").read_text() == "measured"
    assert kept.parent.stat().st_mode & 0o077 == 0
    shutil.move(kept, tmp_path / "results" / "trial-1")
    assert read_run(tmp_path / "results" / "trial-1").valid
    assert not (tmp_path / "raw").exists()


def test_a_folder_that_somebody_put_there_meanwhile_is_not_taken_for_the_run(tmp_path, broken):
    broken.append(tmp_path / "results")
    there = tmp_path / "results" / "trial-1"
    with pytest.raises(RunFailed, match=r"kept as .*hedera-unpublished-"), new_run(there, tmp_path / "raw"):
        write_json(tmp_path / "raw" / RESULT, run_json())
        there.mkdir()
        (there / RESULT).write_text("{}")
    (kept,) = (tmp_path / "tmp").glob("hedera-unpublished-*/trial-1")
    assert read_run(kept).valid


def test_where_there_is_no_place_for_it_at_all_that_is_said(tmp_path, broken):
    broken += [tmp_path / "results", tmp_path / "tmp"]
    with pytest.raises(RunFailed, match="this finished run is lost"):
        publish(tmp_path)
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("kind", ["pipe", "endless", "folder", "large"])
def test_what_would_never_end_is_not_read(tmp_path, monkeypatch, kind):
    path = tmp_path / RESULT
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        monkeypatch.setattr("results.record.MAX_BYTES", 10)
        write_json(path, run_json())
    assert read_run(tmp_path) is None
