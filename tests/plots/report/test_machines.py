import json

import pytest

from plots.load import load_sweep
from plots.report import write_report
from plots.report.machines import compare_machines
from results.record import decode
from tests.plots import computed
from tests.plots.sweeps import store


def made_by(worker, scheme="ecmp", trial=1, share=0.97, valid=True, traffic="stride:4"):
    document = computed.document(traffic, scheme, trial, seconds=12)
    rate = share * document["maxmin_mbps"]
    document |= {
        "bisection_mbps": rate,
        "verdict": "ok" if valid else "invalid",
        "reasons": [] if valid else ["slow"],
    }
    environment = {**document["environment"], **({"worker": worker} if worker else {})}
    return document | {"environment": environment}


def compared(*documents):
    return compare_machines([decode(json.dumps(document).encode()) for document in documents])


def test_one_machine_is_not_compared():
    assert compared(made_by(None), made_by(None, "nonblocking")) is None
    assert compared(made_by("a"), made_by("a", "nonblocking")) is None


def test_a_slow_machine_is_named():
    runs = [made_by(name, scheme, trial) for trial, name in enumerate("abc", 1) for scheme in ("nonblocking", "ecmp")]
    assert compared(*runs).slow == ()
    slow = [made_by("d", scheme, 4, share=0.93) for scheme in ("nonblocking", "ecmp")]
    found = compared(*runs, *slow)
    assert [machine.name for machine in found.slow] == ["d"]
    assert found.machines[3].of_maxmin == pytest.approx(0.93)
    assert found.machines[3].others_of_maxmin == pytest.approx(0.97)


def test_invalid_runs_are_counted_and_weigh_nothing():
    found = compared(made_by("a"), made_by("a", trial=2, share=0.2, valid=False), made_by("b"))
    assert (found.machines[0].valid, found.machines[0].runs) == (1, 2)
    assert found.slow == ()


def test_a_control_of_another_machine_is_told():
    found = compared(made_by("a", "nonblocking"), made_by("b", "ecmp"), made_by("b", "random", trial=2))
    assert found.mixed == (("stride:4", 1),)


def test_the_page_has_a_part_for_them(tmp_path):
    for trial, name in enumerate("ab", 1):
        for scheme in ("nonblocking", "ecmp"):
            store(tmp_path, made_by(name, scheme, trial, share=0.97 if name == "a" else 0.9))
    page = write_report(tmp_path).read_text()
    assert 'id="machines"' in page
    assert "Slow: b" in page
    assert load_sweep(tmp_path).runs
