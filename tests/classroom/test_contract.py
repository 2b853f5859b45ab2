"""The contract: each way to break it is found, with a small example; and what a template, or the example, does
is fine."""

from pathlib import Path

import pytest

from classroom import contract, histories
from classroom.code import Code, find_code
from classroom.milestones import check_milestone
from classroom.process import Misbehaved
from classroom.sandbox import own
from classroom.submission import Submission
from classroom.verdict import Check

ROOT = Path(__file__).parents[2]
START = own()


def checked(code):
    with Submission(START, code, call_s=60) as submission:
        found = contract.check_contract(submission, lambda: Submission(own(1), code), seed=1, examples=40)
    return {one.name: one for one in found}


def placing(*lines, head=""):
    body = "\n        ".join(lines)
    return Code(
        "theirs.py",
        f"import numpy as np\n{head}\nclass Mine:\n    def __init__(self, tree, rng, options):\n"
        f"        self.tree, self.rng = tree, rng\n    def place(self, flows, links):\n        {body}\n",
        "Mine",
    )


GOOD = "links.detour(flows.src, flows.dst, flows.hashed)"
BROKEN = [
    (
        "a list of one too many",
        f"return np.append({GOOD}, 0)",
        contract.ANSWER,
        "shape (1,) where there are 0 flows",
    ),
    ("nothing", "return None", contract.ANSWER, "answers with None"),
    ("no numbers", "return ['core'] * flows.key.size", contract.ANSWER, "answers with a list"),
    ("fractions", f"return {GOOD} * 1.0", contract.ANSWER, "float64"),
    ("a core that is not there", f"return {GOOD} + self.tree.num_cores", contract.ANSWER, "there are 0 to 3"),
    ("writes to its input", "flows.demand[:] = 0; return flows.hashed", contract.INPUTS, "writes to demand"),
    ("mends links", f"links.up[:] = True; return {GOOD}", contract.INPUTS, "links.up"),
    ("no flows", f"flows.key[0]; return {GOOD}", contract.RAISES, "IndexError"),
    ("failed links", "return np.zeros(flows.key.size, dtype=int)", contract.FAILED, "ask links.usable"),
    (
        "global draws",
        "return np.random.randint(0, 4, flows.key.size)",
        contract.SAME,
        "go through sets in a sorted",
    ),
    ("hash order", f"return ({GOOD} + hash('x') % 4) % self.tree.num_cores", contract.SAME, "sorted order"),
    ("exits", "raise SystemExit(3)", contract.RAISES, "SystemExit"),
    ("dies", "import os; os._exit(7)", contract.RAISES, "its process ended (status 7)"),
]


@pytest.mark.parametrize(("what", "line", "which", "words"), BROKEN, ids=[what for what, *_ in BROKEN])
def test_what_breaks_it_is_found(what, line, which, words):
    one = checked(placing(line))[which]
    assert not one.passed
    assert words in one.words
    assert one.example.startswith("k = ")


def test_the_example_is_as_small_as_can_be(monkeypatch):
    """One flow, one broken cable, where there is time to find it."""
    monkeypatch.setattr(histories, "SHRINK_S", 600.0)
    one = checked(placing("return np.zeros(flows.key.size, dtype=int)"))[contract.FAILED]
    assert one.weakness
    assert one.example.count("flow ") == 1
    assert one.example.count("is down") == 1
    assert one.example.startswith("k = 4, 1 period\n")


def test_a_scheduler_that_keeps_to_it(monkeypatch):
    monkeypatch.chdir(ROOT)
    found = checked(find_code("docs/examples/least_loaded.py:LeastLoaded"))
    assert [one for one in found.values() if not one.passed] == []


def test_one_that_leaves_every_flow_on_its_hash_keeps_to_all_but_one():
    found = checked(placing("return flows.hashed.copy()"))
    assert [one.name for one in found.values() if not one.passed] == [contract.MOVES]
    assert found[contract.MOVES].weakness
    assert set(contract.FREE) == set(found) - {contract.MOVES}


def test_one_that_hangs_is_told_once():
    code = placing("while flows.key.size > 2: pass", f"return {GOOD}")
    with Submission(START, code, call_s=0.5) as submission:
        found = contract.check_contract(submission, lambda: Submission(own(1), code), seed=1, examples=30)
    one = next(one for one in found if one.name == contract.RAISES)
    assert one.words == "it did not answer within 0.5 s"
    assert one.example.count("host") >= 3


def test_rounds_are_timed_and_given_up(monkeypatch):
    monkeypatch.setattr(contract, "PERIOD_S", 0.2)
    monkeypatch.setattr(contract, "PATIENCE_S", 20.0)
    work = "import time; limit = time.process_time() + (0.4 if flows.key.size > 100 else 0)"
    code = placing(work, "while time.process_time() < limit: pass", f"return {GOOD}")
    with Submission(START, code) as submission:
        late, times = contract.check_times(submission, 1, sizes=(4, 8))
        assert isinstance(late, Check)
        assert late.weakness
        assert "a round of 128 flows at k = 8 takes 0.4 s; a period has 0.2" in late.words
        assert [one.flows for one in times] == [16, 128]
        monkeypatch.setattr(contract, "PATIENCE_S", 0.1)
        late, times = contract.check_times(submission, 1, sizes=(8, 16))
        assert [one.processor_s for one in times] == [None], "a larger one is not tried"
        assert "did not answer within 0.1 s" in late.words


def test_what_is_wrong_with_loading_a_file_is_told_every_time():
    """By every check, and not that there was nothing to call afterwards."""
    for text, kind, words in (
        ("import nowhere_to_be_found", "raised", "ModuleNotFoundError"),
        ("Mine = 4", "absent", "there is no Mine in theirs.py"),
        ("import os\nos._exit(7)", "ended", "its process ended (status 7)"),
    ):
        code = Code("theirs.py", text, "Mine")
        with Submission(START, code, call_s=60) as submission:
            for _ in range(2):
                with pytest.raises(Misbehaved) as told:
                    submission.fresh()
                assert told.value.kind == kind
                assert words in str(told.value)
        assert words in checked(code)[contract.RAISES].words


def test_what_ends_its_process_when_it_is_loaded_does_so_once(monkeypatch):
    """A file that eats its processor time costs that once, and not for every check of a milestone."""
    started, begin = [], Submission._begin
    monkeypatch.setattr(Submission, "_begin", lambda self: (started.append(self), begin(self)))
    with Submission(START, Code("demand.py", "import os\nos._exit(7)", "estimate_demands"), 60) as submission:
        checks = check_milestone("demand", submission, seed=1)
    assert len(checks) > 1
    assert [check.words for check in checks] == ["its process ended (status 7)"] * len(checks)
    assert started == [submission]
