"""A grade that is kept is that of the same files, graded in the same way, and of nothing else."""

import pytest

from classroom.grading import Grade
from classroom.store import Store
from classroom.verdict import Check

GRADE = Grade("ann", 20.0, 1.0, None, None, None, None, None, None, 1.0, "", "")
CHECKS = {
    "demand": [Check("Figure 4", "section 4.2"), Check("order", "section 4.2", "other demands", "a\nb")]
}


@pytest.fixture
def kept(tmp_path):
    folder = tmp_path / "ann"
    folder.mkdir()
    (folder / "demand.py").write_text("right")
    (tmp_path / "kept").mkdir()
    store = Store(tmp_path / "kept", "7 120")
    assert store.find(folder) is None
    store.keep(folder, GRADE, CHECKS)
    return store, folder


def test_what_is_kept_is_found_again_whole(kept):
    store, folder = kept
    found = store.find(folder)
    assert (found.grade, found.checks) == (GRADE, CHECKS)


def test_another_seed_or_file_is_graded_anew(kept):
    store, folder = kept
    assert Store(store.folder, "8 120").find(folder) is None
    (folder / "loop.py").write_text("more")
    assert store.find(folder) is None
    (folder / "loop.py").unlink()
    assert store.find(folder)
    (folder / "demand.py").write_text("wrong")
    assert store.find(folder) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"of": 1}', "\x00" * 99])
def test_what_cannot_be_read_is_graded_anew(kept, text):
    store, folder = kept
    (file,) = store.folder.iterdir()
    file.write_text(text)
    assert store.find(folder) is None
