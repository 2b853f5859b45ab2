"""A scheduler from the user's own file: the example of docs/own-scheduler.md, and what can be wrong with one."""

import os
import re
from pathlib import Path

import pytest

from hedera.schemes import scheme
from simulator.config import Config
from simulator.driver import bisection_mbps, simulate
from topos.fattree import FatTree
from traffic.textfile import given

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = f"{DOCS}/examples/least_loaded.py:LeastLoaded"


def test_the_page_shows_the_whole_example():
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "own-scheduler.md").read_text(), re.DOTALL)
    assert code == (DOCS / "examples/least_loaded.py").read_text()


def test_it_schedules_in_the_simulator():
    found = {
        name: bisection_mbps(Config(name, "stride:16", k=8, seconds=20.0, tick_s=0.01, interval_s=1.0))
        for name in ("ecmp", EXAMPLE, "nonblocking")
    }
    assert found["ecmp"] < 0.8 * found[EXAMPLE]
    assert found[EXAMPLE] > 0.9 * found["nonblocking"]


def test_a_class_that_cannot_be_made_from_what_it_gets():
    with pytest.raises(ValueError, match="GlobalFirstFit cannot be made from"):
        scheme(f"{DOCS.parent}/hedera/global_first_fit.py:GlobalFirstFit")


@pytest.mark.parametrize(
    ("code", "name", "words"),
    [
        (None, "gone.py:Mine", "is not there"),
        (None, "a_module:Mine", "there is no scheme 'a_module:Mine'"),
        ("class Mine: pass", "own.py:Mine", "not a class with a method place"),
        ("def Mine(): pass", "own.py:Mine", "not a class with a method place"),
        ("1 / 0", "own.py:Mine", "ZeroDivisionError: division by zero"),
        ("class Mine(:", "own.py:Mine", "SyntaxError"),
    ],
)
def test_what_cannot_be_had_is_one_sentence(code, name, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if code is not None:
        Path("own.py").write_text(code)
    with pytest.raises(ValueError, match=re.escape(words)) as error:
        scheme(name)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("None", "must answer with one whole number per flow"),
        ("flows.core * 1.0", "must answer with one whole number per flow"),
        ("flows.core + 4", "there are 0 to 3"),
    ],
)
def test_a_wrong_answer_is_one_sentence(answer, words, tmp_path):
    file = tmp_path / "wrong.py"
    file.write_text(
        f"class Wrong:\n    def __init__(self, *given): pass\n    def place(self, flows, links): return {answer}\n"
    )
    with pytest.raises(ValueError, match=words):
        simulate(Config(f"{file}:Wrong", "stride:4", seconds=12.0, tick_s=0.01))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has so much to lose")
def test_root_runs_nothing_that_others_can_write(tmp_path):
    file = tmp_path / "open.py"
    file.write_text("class Mine:\n    def place(self, flows, links): return flows.core\n")
    file.chmod(0o666)
    with pytest.raises(ValueError, match="which other users can write"):
        scheme(f"{file}:Mine")


def test_a_job_carries_the_file(tmp_path, monkeypatch):
    file = tmp_path / "mine.py"
    file.write_text("class Mine:\n    def __init__(self, *given): pass\n    def place(self, flows, links): return 7\n")
    taken = Config(f"{file}:Mine", "stride:4").user_files()
    file.unlink()
    monkeypatch.setitem(given, str(file), taken[str(file)])
    assert scheme(f"{file}:Mine").placement(FatTree(4), 1).place(None, None) == 7
