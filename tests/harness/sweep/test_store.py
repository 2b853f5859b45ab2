import errno
import json
import os
import shutil
from types import SimpleNamespace

import pytest

from harness.errors import RunFailed, UserMistake
from harness.sweep import store
from harness.sweep.store import RESULT, new_run, read_run, require_writable, slug, write_json


def test_a_run_is_there_whole_or_not_at_all(tmp_path):
    folder = tmp_path / "sweep" / "trial-1"
    with pytest.raises(KeyboardInterrupt), new_run(folder) as raw:
        (raw / "half").write_text("...")
        raise KeyboardInterrupt
    assert not folder.exists()
    assert list(folder.parent.iterdir()) == []
    with new_run(folder) as raw:
        write_json(raw / RESULT, {"schema": 1, "verdict": "ok"})
        assert not folder.exists()
    assert read_run(folder) == {"schema": 1, "verdict": "ok"}


def test_what_a_killed_run_left_is_replaced(tmp_path):
    (tmp_path / ".trial-1.partial").mkdir()
    (tmp_path / ".trial-1.partial" / RESULT).write_text("{")
    with new_run(tmp_path / "trial-1") as raw:
        assert list(raw.iterdir()) == []


def test_results_are_never_overwritten(tmp_path):
    with new_run(tmp_path / "trial-1"):
        pass
    with pytest.raises(RunFailed, match="never overwritten"), new_run(tmp_path / "trial-1"):
        pass


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "17", '{"schema": 2, "verdict": "ok"}', '{"schema": 1}', "\0\xff"]
)
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
    write_json(tmp_path / RESULT, {"schema": 1, "verdict": "ok", "links": {"a": 1.5}})
    whole = (tmp_path / RESULT).read_bytes()
    for size in range(len(whole) - 1):  # the last byte is the line's end
        (tmp_path / RESULT).write_bytes(whole[:size])
        assert read_run(tmp_path) is None


def test_a_disk_that_is_full_keeps_what_is_there_and_says_so(tmp_path, monkeypatch):
    free = iter([store.ROOM, store.ROOM - 1, 0])
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=next(free)))
    with pytest.raises(RunFailed, match="is full"), new_run(tmp_path / "trial-1"):
        pass  # full at the end
    with pytest.raises(RunFailed, match="is full"), new_run(tmp_path / "trial-1"):
        pytest.fail("it was full before")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=store.ROOM))
    with pytest.raises(RunFailed, match="is full"), new_run(tmp_path / "trial-1"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert list(tmp_path.iterdir()) == []
