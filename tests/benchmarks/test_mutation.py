"""Mutants of a project of the test's own. Those that Cosmic Ray makes are tried where it is installed."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks import mutation as module
from benchmarks.mutation import Copy, Mutant, Score, meaning, score

LARGER = "def larger(a, b):\n    return a if a > b else b\n"
SOURCES = {
    "part/__init__.py": "",
    "part/larger.py": LARGER,
    "part/unseen.py": "LIMIT = 5\n",
    "tests/__init__.py": "",
    "tests/part/__init__.py": "",
    "tests/part/test_larger.py": "from part.larger import larger\ndef test(): assert larger(1, 2) == 2\n",
    "tests/part/test_all.py": "from part.larger import larger\ndef test(): assert larger(2, 1) == 2\n",
    ".git/large": "not copied",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name, text in SOURCES.items():
        (tmp_path / "project" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "project" / name).write_text(text)
    monkeypatch.setattr(module, "ROOT", tmp_path / "project")
    return tmp_path / "project"


@pytest.mark.parametrize(
    ("body", "end"),
    [
        ("return a if a < b else b", "killed by its own tests"),
        ("return b", "killed by another module's tests"),
        ("return a if a >= b else b", "survived"),
        ("syntax error", "killed by its own tests"),
        ("while True: pass", "killed by time"),
    ],
)
def test_a_mutant_ends_by_the_first_test_that_sees_it(project, tmp_path, body, end):
    copy = Copy(tmp_path / "copy")
    assert not (tmp_path / "copy" / ".git").exists()
    mutant = Mutant(Path("part/larger.py"), 2, f"def larger(a, b):\n    {body}\n", "")
    assert copy.try_out(mutant, "part", 5.0 if end == "killed by time" else 60.0) == end
    assert (tmp_path / "copy" / "part" / "larger.py").read_text() == LARGER, "what was spoilt is put back"
    assert (project / "part" / "larger.py").read_text() == LARGER


def test_what_changes_nothing_is_no_mutant():
    same = [
        "@compiled\ndef f(x: int | None) -> int:\n    y: int = 1\n    return y\n",
        "def f(x: int & None) -> str:\n    y: bool = 1\n    return y\n",
        "@cache\ndef f(x):\n    y: int = 1  # of no use\n    return y\n",
    ]
    assert len({meaning(text) for text in same}) == 1
    others = [
        "def f(x=1):\n    y: int = 1\n    return y\n",
        "@property\ndef f(x):\n    y: int = 1\n    return y\n",
    ]
    assert len({meaning(text) for text in [*same, *others]}) == 3
    assert meaning("def f(") == "def f("


def test_a_score_tells_how_sure_it_is():
    ends = Counter({"killed by its own tests": 15, "killed by time": 1, "survived": 4})
    assert str(Score("hedera", 1465, ends, ())) == (
        "hedera: 80% of 20 mutants killed (95 % interval 58% to 92%; 15 killed by its own tests, 4 survived, "
        "1 killed by time; 1,465 places could be changed)"
    )


def test_a_sample_is_drawn_tried_and_told(project):
    pytest.importorskip("cosmic_ray", reason="setup/requirements-measure.lock is not installed")
    found = score("part", 50, seed=1, jobs=2)
    assert found.ends["killed by its own tests"] >= 1
    assert [mutant.file.name for mutant in found.survivors].count("unseen.py") == 1
    assert score("part", 2, seed=1, jobs=1).ends.total() == 2


def test_tests_that_fail_as_it_is_measure_nothing(project):
    pytest.importorskip("cosmic_ray", reason="setup/requirements-measure.lock is not installed")
    (project / "tests/part/test_all.py").write_text("def test(): assert False")
    with pytest.raises(RuntimeError, match="the tests of part fail as it is"):
        score("part", 1, seed=1, jobs=1)
