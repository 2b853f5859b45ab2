import subprocess
import sys
from pathlib import Path

import pytest

from files.imports import closure
from harness.sweep import source as module
from harness.sweep.source import ROOT, RUN, ChangeWatch, described, fingerprint

SOURCES = {
    "harness/run/experiment.py": "from hedera import a",
    "hedera/a.py": "1",
    "hedera/sizes.csv": "1",
    "hedera/unneeded.py": "1",
    "docs/x.py": "1",
    "docs/sizes.csv": "1",
}


@pytest.fixture
def code(tmp_path, monkeypatch):
    """Code of the test's own."""
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    module.first_source.cache_clear()
    yield tmp_path
    module.first_source.cache_clear()


def test_the_fingerprint_is_of_what_takes_part_in_a_run(code):
    def changed(name, text="2"):
        before = fingerprint(code)
        (code / name).write_text(text)
        return fingerprint(code) != before

    assert [name for name in SOURCES if changed(name, SOURCES[name] + "#")] == list(SOURCES)[:3]
    assert not changed("hedera/a.pyc")
    assert changed("hedera/a.py", "import hedera.unneeded"), "which is needed now"
    assert changed("hedera/unneeded.py", "3")
    assert changed("hedera/a.py", "def unfinished("), "while somebody types it"
    before = fingerprint(code)
    (code / "hedera" / "a.py").rename(code / "hedera" / "b.py")
    assert fingerprint(code) != before


def test_a_guest_reads_the_files_that_it_is_told_itself(code, monkeypatch):
    """Which they are takes a third of a second to find out, and is the same in every guest."""
    told = {"parts": [str(path.relative_to(code)) for path in module.parts(code)]}
    right = fingerprint(code)
    monkeypatch.setattr(module, "told", lambda: told)
    monkeypatch.setattr(module, "closure", lambda *_: pytest.fail("it looked"))
    assert fingerprint(code) == right
    (code / "hedera/a.py").write_text("2")
    assert fingerprint(code) != right


def test_all_that_takes_part_in_a_run_counts():
    """What judges, what is imported late, and the programs that a run starts, on whatever platform."""
    needed = closure([RUN], ROOT)
    assert {
        "topos.wire",
        "results.record",
        "harness.verdict.judgement",
        "hedera.maxmin",
        "hedera.simulated_annealing",
        "controllers.os_ken_main",
        "controllers.pox_component",
        "transfers.sender",
        "transfers.sink",
        "topos",
    } <= set(needed)
    assert not {name.split(".")[0] for name in needed} & {
        "plots",
        "paper",
        "simulator",
        "packets",
        "classroom",
    }
    assert all(path.is_relative_to(Path(ROOT)) for path in needed.values())


def test_what_a_run_has_imported_was_counted():
    """Held against what the interpreter says: a module that runs would be missing from the sources' own words."""
    script = (
        f"import sys, {RUN}, hedera.schemes, harness.verdict.result\n"
        "files = {name: getattr(module, '__file__', None) or '' for name, module in sys.modules.items()}\n"
        "print(*(name for name, file in files.items() if file.startswith(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, f"{ROOT}/"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    ours = {name for name in done.stdout.split() if (ROOT / name.split(".")[0] / "__init__.py").exists()}
    assert len(ours) > 60
    assert ours <= set(closure([RUN], ROOT))


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
