import os

import pytest

from record.errors import WorkerFailed
from virtual import results
from virtual.results import copy_results


@pytest.fixture
def left(tmp_path):
    source, target = tmp_path / "left", tmp_path / "taken"
    (source / "run").mkdir(parents=True)
    target.mkdir()
    (source / "run/run.json").write_text("{}")
    return source, target


def test_plain_files_are_taken_and_nothing_is_written_over(left):
    source, target = left
    assert copy_results(source, target) == 2
    assert (target / "run/run.json").read_text() == "{}"
    (source / "run/run.json").write_text("another")
    with pytest.raises(FileExistsError):
        copy_results(source, target)
    assert (target / "run/run.json").read_text() == "{}"


def test_links_pipes_and_second_names_are_not(left):
    source, target = left
    for make in (
        lambda odd: odd.symlink_to("/etc/passwd"),
        lambda odd: odd.symlink_to("/etc"),
        os.mkfifo,
        lambda odd: os.link(source / "run/run.json", odd),
    ):
        make(source / "odd")
        with pytest.raises(WorkerFailed, match="'odd', which is not a regular file"):
            copy_results(source, target)
        (source / "odd").unlink()


@pytest.mark.parametrize(
    ("limit", "said"), [("MAX_FILES", "0 files"), ("MAX_RESULTS_BYTES", "0 MiB"), ("DEEPEST", "0 deep")]
)
def test_too_much_of_anything(left, monkeypatch, limit, said):
    monkeypatch.setattr(results, limit, 0)
    with pytest.raises(WorkerFailed, match=said):
        copy_results(*left)


def test_what_is_read_is_a_plain_file_of_some_size(tmp_path):
    (tmp_path / "a").write_text("abc")
    assert results.read_small(tmp_path / "a", 2) == "ab"
    assert results.read_small(tmp_path / "a", 1 << 50) == "abc"
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("a")
    for odd in ("pipe", "link", "none"):
        with pytest.raises(OSError, match=odd):
            results.read_small(tmp_path / odd)
