"""The contract: each way to break it is found, with a small example; what a template, or the example, does is fine."""

import os

import pytest

from classroom import checks as contract
from classroom.answering import History
from classroom.cases import make_cases
from classroom.submission import SCHEDULER, Code, Misbehaved, Submission, _start_process, start_own_process
from record.files import find_left_by, name_owner

ASKED = make_cases(1)[SCHEDULER]


def checked(code, call_s=60.0):
    return {one.name: one for one in contract.run_checks(Submission(start_own_process, code, call_s), ASKED)}


def placing(*lines):
    body = "\n        ".join(lines)
    return Code(
        "theirs.py",
        "import numpy as np\nclass Mine:\n    def __init__(self, tree, rng, options):\n"
        f"        self.tree, self.rng = tree, rng\n    def place(self, flows, links):\n        {body}\n",
        "Mine",
    )


GOOD = "links.detour(flows.src, flows.dst, flows.hashed)"
BROKEN = [
    ("a list of one too many", f"return np.append({GOOD}, 0)", contract.ANSWER, "shape (1,) where there are 0 flows"),
    ("nothing", "return None", contract.ANSWER, "answers with None"),
    ("fractions", f"return {GOOD} * 1.0", contract.ANSWER, "float64"),
    ("a core that is not there", f"return {GOOD} + self.tree.num_cores", contract.ANSWER, "there are 0 to "),
    ("writes to its input", "flows.demand[:] = 0; return flows.hashed", contract.INPUTS, "writes to demand"),
    ("mends links", f"links.up[:] = True; return {GOOD}", contract.INPUTS, "links.up"),
    ("no flows", f"flows.key[0]; return {GOOD}", contract.RAISES, "IndexError"),
    ("failed links", "return np.zeros(flows.key.size, dtype=int)", contract.FAILED, "ask links.usable"),
    ("global draws", "return np.random.randint(0, 4, flows.key.size)", contract.SAME, "go through sets in a sorted"),
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


def test_the_example_is_small():
    one = checked(placing("return np.zeros(flows.key.size, dtype=int)"))[contract.FAILED]
    assert one.weakness
    assert one.example.count("flow ") == 1
    assert one.example.count("is down") <= 2


def test_one_that_hangs_is_told_once():
    one = checked(placing("while flows.key.size > 2: pass", f"return {GOOD}"), call_s=2.0)[contract.RAISES]
    assert one.words == "it did not answer within 2 s"
    assert one.example.count("host") >= 3


def test_what_is_wrong_with_loading_a_file_is_told_every_time(monkeypatch):
    """By every check, and not that there was nothing to call afterwards; a file that eats its time does so once."""
    started, said = [], Submission._read_lines
    monkeypatch.setattr(Submission, "_read_lines", lambda self, request: (started.append(self), said(self, request))[1])
    for text, kind, words in (
        ("import nowhere_to_be_found", "raised", "ModuleNotFoundError"),
        ("Mine = 4", "absent", "there is no Mine in theirs.py"),
        ("import os\nos._exit(7)", "ended", "its process ended (status 7)"),
    ):
        submission = Submission(start_own_process, Code("theirs.py", text, "Mine"), call_s=60)
        for replies in submission.ask([[History(4, ()).question()]] * 2) + submission.ask(
            [[History(4, ()).question()]]
        ):
            replies.begin()
            with pytest.raises(Misbehaved) as told:
                replies.next()
            assert told.value.kind == kind
            assert words in str(told.value)
    assert len(started) == 3


def test_what_hangs_or_dies_costs_its_own_check_alone():
    """The next one is asked in another process, and what was answered before counts."""
    dies = "import os\ndef f(src, dst, hosts):\n    if hosts == 5: os._exit(7)\n    return [hosts] * len(src)\n"
    asked = [[{"src": [0], "dst": [1], "hosts": hosts} for hosts in each] for each in ((2, 3), (4, 5, 6), (7,))]
    found = []
    for replies, questions in zip(
        Submission(start_own_process, Code("theirs.py", dies, "f")).ask(asked), asked, strict=True
    ):
        for _ in questions:
            replies.begin()
            try:
                found.append(int(replies.next().values["demand"][0]))
            except Misbehaved as error:
                found.append(error.kind)
    assert found == [2, 3, 4, "ended", "ended", 7]


def test_what_a_killed_grader_leaves_is_known_to_hedera_clean():
    with _start_process(start_own_process(), b""):
        (folder,) = (each for each in find_left_by({os.geteuid()})[name_owner()] if "-answers-" in each.name)
    assert not folder.exists()
