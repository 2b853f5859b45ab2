import pytest

from harness.sweep import source as module
from harness.sweep.source import ChangeWatch, described, fingerprint


@pytest.fixture
def code(tmp_path, monkeypatch):
    """Code of the test's own."""
    (tmp_path / "hedera").mkdir()
    (tmp_path / "hedera" / "a.py").write_text("1")
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(module, "ROOT", tmp_path)
    module.first_source.cache_clear()
    yield tmp_path
    module.first_source.cache_clear()


def test_the_fingerprint_is_of_what_takes_part_in_a_run(code):
    before = fingerprint(code)
    (code / "docs" / "x.py").write_text("not part of a run")
    (code / "hedera" / "a.pyc").write_text("nor this")
    assert fingerprint(code) == before
    (code / "hedera" / "a.py").write_text("2")
    assert fingerprint(code) != before
    (code / "hedera" / "a.py").rename(code / "hedera" / "b.py")
    assert fingerprint(code) != before


def test_a_sweep_says_once_that_the_code_changed_and_results_tell_it(code):
    watch = ChangeWatch()
    began = described()
    assert "harness_source" not in began
    assert watch.sentence() is None
    (code / "hedera" / "a.py").write_text("2")
    assert "the code has changed since this sweep began" in watch.sentence()
    assert watch.sentence() is None
    after = described()
    assert after["source"] != began["source"] == after["harness_source"]
