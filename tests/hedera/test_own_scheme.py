"""A scheduler from the user's own file: the examples of docs/own-scheduler.md, and what can be wrong with one."""

import os
import re
from pathlib import Path

import pytest

from classroom.answering import answer
from hedera.schemes import find_scheme
from record.errors import UserMistake
from record.spec import RunSpec
from simulator.config import Config
from simulator.driver import measure_bisection, simulate
from tests.controllers.fake_network import FakeNetwork
from tests.controllers.frames import between
from tests.hedera.reference import NO_FLOWS
from tests.refused import refused
from topos.fattree import FatTree
from traffic.user_files import job_files

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = f"{DOCS}/examples/least_loaded.py:LeastLoaded"
ROUTING = f"{DOCS}/examples/fewest_flows.py:FewestFlows"
PLB, CONGA = f"{DOCS}/examples/plb.py:Plb", f"{DOCS}/examples/conga.py:Conga"


def test_they_work_in_the_simulator():
    found = {
        name: measure_bisection(Config(name, "stride:16", k=8, seconds=20.0, tick_s=0.01, interval_s=1.0))
        for name in ("ecmp", EXAMPLE, ROUTING, "nonblocking")
    }
    assert found["ecmp"] < 0.8 * found[EXAMPLE]
    assert found[EXAMPLE] > 0.9 * found["nonblocking"]
    assert found["ecmp"] < found[ROUTING]


def test_one_object_routes_new_flows_and_moves_them_later():
    """PLB moves who is slow, by chance; CONGA sees loads."""
    common = {"traffic": "stride:8", "seconds": 30.0, "tick_s": 0.01, "interval_s": 1.0, "threshold": 0.0}
    found = {name: simulate(Config(name, **common)) for name in ("ecmp", PLB, CONGA)}
    total = {name: result.bisection_mbps for name, result in found.items()}
    moved = {name: sum(one.changed for one in result.rounds) for name, result in found.items()}
    assert moved[PLB] > 0
    assert moved["ecmp"] == 0
    assert total["ecmp"] < 0.9 * total[CONGA]


def test_an_object_that_routes_has_the_options_of_its_run(tmp_path):
    file = tmp_path / "both.py"
    file.write_text(
        "class Both:\n    def __init__(self, tree, rng, options): self.core = options.iterations\n"
        "    def route(self, flow, links): return self.core\n"
        "    def place(self, flows, links): return flows.core\n"
    )
    found = simulate(Config(f"{file}:Both", "stride:4", seconds=12.0, tick_s=0.01, iterations=3))
    assert set(found.core.tolist()) == {3}
    net = FakeNetwork(scheme=f"{file}:Both", iterations=2)
    net.send(0, between(net.topo, 0, 8))
    assert [flow["core"] for flow in net.log.of("flow")] == [2]


def test_a_controller_sets_up_flows_by_a_routing():
    net = FakeNetwork(scheme=ROUTING)
    paths = {tuple(net.send(host, between(net.topo, host, host + 8))[2:5]) for host in (0, 1)}
    assert len({path[0] for path in paths}) == 2, "both neighbours have an uplink of their own"
    assert RunSpec(ROUTING, "shuffle:20000", scale_sizes=False).for_its_traffic().new_flows == "controller"
    with pytest.raises(UserMistake, match="no switch can choose paths"):
        RunSpec(ROUTING, "stride:4", new_flows="switch")


@pytest.mark.parametrize(
    ("code", "name", "words"),
    [
        (None, "gone.py:Mine", "is not there"),
        (None, f"{DOCS.parent}/hedera/global_first_fit.py:GlobalFirstFit", "GlobalFirstFit cannot be made from"),
        (None, "a_module:Mine", "there is no scheme 'a_module:Mine'"),
        ("class Mine: pass", "own.py:Mine", "not a class with a method place"),
        ("1 / 0", "own.py:Mine", "ZeroDivisionError: division by zero"),
        ("class Mine(:", "own.py:Mine", "SyntaxError"),
        ("import os; os._exit(0)", "own.py:Mine", "os._exit"),
    ],
)
def test_what_cannot_be_had_is_one_sentence(code, name, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if code is not None:
        Path("own.py").write_text(code)
    with refused(re.escape(words)):
        find_scheme(name)


@pytest.mark.parametrize(
    ("method", "answer", "words"),
    [
        ("place", "None", "must answer with one whole number per flow"),
        ("place", "flows.core + 4", "there are 0 to 3"),
        ("route", "4", "a core, 0 to 3, not '4'"),
        ("place", "1 // 0", r"wrong.py.*ZeroDivisionError.*line 3"),
        ("place", "__import__('os')._exit(0)", "os._exit"),
    ],
)
def test_a_wrong_answer_is_one_sentence(method, answer, words, tmp_path):
    file = tmp_path / "wrong.py"
    file.write_text(
        f"class Wrong:\n    def __init__(self, *given): pass\n    def {method}(self, flows, links): return {answer}\n"
    )
    with pytest.raises(ValueError, match=words):
        simulate(Config(f"{file}:Wrong", "stride:4", seconds=12.0, tick_s=0.01))


def test_what_it_is_given_is_read_only_and_an_error_names_file_and_lines(tmp_path):
    """A path that is written into the flows' own would count as the one that they were on, and move nothing."""
    file = tmp_path / "writes.py"
    file.write_text(
        "def move(flows):\n    flows.core[0] = 1\n    return flows.core\nclass Writes:\n"
        "    def __init__(self, *given): pass\n    def place(self, flows, links): return move(flows)\n"
    )
    with pytest.raises(ValueError, match=r"read-only \(line 2 of writes\.py, called from line 6\)"):
        simulate(Config(f"{file}:Writes", "stride:4", seconds=12.0, tick_s=0.01))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hedera_sa", r"did you mean hedera-sa\?"),
        ("mine.py", "name the class in the file"),
        ("zzz", "no scheme 'zzz';"),
    ],
)
def test_a_name_that_is_nearly_one_is_answered_with_that(name, words):
    with pytest.raises(ValueError, match=words):
        find_scheme(name)


def test_a_dataclass_is_graded_and_runs(tmp_path):
    code = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass Kept:\n"
        "    tree: object\n    rng: object\n    options: object\n    def place(self, flows, links): return flows.core\n"
    )
    file = tmp_path / "kept.py"
    file.write_text(code)
    said = []
    answer({"code": {"file": str(file), "source": code, "attribute": "Kept"}, "questions": []}, said.append)
    assert said == [{}]
    one = {"traffic": "stride:4", "seconds": 12.0, "tick_s": 0.01}
    assert measure_bisection(Config(f"{file}:Kept", **one)) == measure_bisection(Config("ecmp", **one))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has so much to lose")
def test_root_runs_nothing_that_others_can_write(tmp_path):
    file = tmp_path / "open.py"
    file.write_text("class Mine:\n    def place(self, flows, links): return flows.core\n")
    file.chmod(0o666)
    with pytest.raises(ValueError, match="which other users can write"):
        find_scheme(f"{file}:Mine")


def test_a_job_carries_the_file(tmp_path, monkeypatch):
    file = tmp_path / "mine.py"
    file.write_text("class Mine:\n    def __init__(self, *given): pass\n    def place(self, flows, links): return 7\n")
    taken = Config(f"{file}:Mine", "stride:4").user_files()
    file.unlink()
    monkeypatch.setitem(job_files, str(file), taken[str(file)])
    assert find_scheme(f"{file}:Mine").placement(FatTree(4), 1).place(NO_FLOWS, None) == 7
