"""Questions and answers through files, as between a guest and the walls of a submission; here both on one kernel."""

import threading
from pathlib import Path

import numpy as np
import pytest

from classroom import answerer as module
from classroom.answerer import Answerer
from classroom.code import Code
from classroom.relay import FOLDER, Relay
from classroom.sandbox import Unfit, own
from classroom.submission import Submission
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from topos.fattree import FatTree
from virtual.guest import RESULTS

TREE = FatTree(4)
BEGIN = """
import time
class Scheduler:
    def __init__(self, tree, rng, options):
        self.rounds = 0
    def place(self, flows, links):
        self.rounds += 1
        {body}
"""


@pytest.fixture
def results(tmp_path):
    (tmp_path / "out" / "results").mkdir(parents=True)
    return tmp_path / "out" / "results"


def code(body):
    return Code("scheduler.py", BEGIN.format(body=body), "Scheduler")


def flows(count=4):
    host = np.arange(count, dtype=np.int32)
    core = np.zeros(count, dtype=np.int32)
    return LargeFlows(host.astype(np.int64), host, host + 4, np.ones(count), core, core)


def asked(results, body, rounds=1):
    """What a guest's controller gets for its questions, and who answered."""
    answerer = Answerer(lambda: Submission(own(), code(body), call_s=20))
    with answerer.beside(results):
        relay = Relay(TREE, None, None, results / FOLDER.name)
        try:
            got = [relay.place(flows(), LinkState(TREE)).tolist() for _ in range(rounds)]
        except RuntimeError:
            got = None
    return got, answerer


def test_answers_are_the_submission_s_period_by_period(results):
    got, answerer = asked(results, "return (flows.hashed + self.rounds) % 4", rounds=3)
    assert got == [[1] * 4, [2] * 4, [3] * 4]
    assert (answerer.rounds, answerer.wrong, answerer.unfit) == (3, "", "")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise KeyError('no')", "it raises KeyError: 'no' (line 8 of scheduler.py)"),
        ("return flows.hashed + 99", "place answers with cores 99 to 99; there are 0 to 3"),
        ("return None", "place answers with None"),
        ("import os; os._exit(3)", "ended"),
        ("time.sleep(60)", "it did not answer within 1 s"),
    ],
)
def test_what_is_no_answer_ends_the_run_and_is_told(results, monkeypatch, body, words):
    monkeypatch.setattr(module, "CALL_S", 1.0)
    got, answerer = asked(results, body)
    assert got is None
    assert words in answerer.wrong
    assert (answerer.rounds, answerer.unfit) == (0, "")


def test_who_waits_does_not_look_again_and_again(results, monkeypatch):
    """Looking takes time in a guest, and would take more where the machine is slow: runs would not be alike."""
    looks, real = [], Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: looks.append(path.name) or real(path))
    got, _ = asked(results, "time.sleep(0.5); return flows.hashed", rounds=2)
    assert got == [[0] * 4] * 2
    assert len([name for name in looks if name.startswith("a")]) <= 4


def test_a_machine_that_starts_no_submission_is_told(results):
    def start():
        raise Unfit("no bubblewrap")

    answerer = Answerer(start)
    with answerer.beside(results):
        relay = Relay(TREE, None, None, results / FOLDER.name)
        with pytest.raises(RuntimeError, match="no usable answer"):
            relay.place(flows(), LinkState(TREE))
    assert (answerer.unfit, answerer.wrong) == ("no bubblewrap", "")


def test_a_question_that_is_none_is_not_followed(results, tmp_path):
    (tmp_path / "secret").write_text("x")
    answerer = Answerer(lambda: Submission(own(), code("return flows.hashed")))
    ended = threading.Event()
    with answerer.beside(results):
        (results / FOLDER.name / "q0").symlink_to(tmp_path / "secret")
        answer = results / FOLDER.name / "a0"
        threading.Thread(target=lambda: (answer.read_bytes(), ended.set()), daemon=True).start()
        assert ended.wait(60)
    assert "cannot be read" in answerer.unfit


def test_a_run_that_ends_before_it_asks_leaves_nobody_waiting(results):
    answerer = Answerer(lambda: Submission(own(), code("return flows.hashed")))
    with answerer.beside(results):
        pass
    assert (answerer.rounds, answerer.wrong, answerer.unfit) == (0, "", "")


def test_a_guest_finds_them_where_they_lie():
    assert Path(RESULTS) / "asked" == FOLDER
