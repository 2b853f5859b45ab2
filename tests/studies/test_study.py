"""What all studies share."""

from operator import attrgetter

import numpy as np
import pytest
from rich.console import Console

from simulator.config import Config
from studies import replication, study
from studies.paper.completion import completion
from studies.paper.figures import figure_9, figure_10
from studies.paper.flows_per_host import flows_per_host
from studies.paper.tables import table_2, table_3, table_5
from tests.studies.commands import run


def test_cases_over_seeds_come_in_their_order_whatever_is_begun_first():
    begun, cases = [], [Config(scheme, "randbij") for scheme in ("ecmp", "random")]

    def runner(function, tasks):
        begun.extend(tasks)
        return [function(task) for task in tasks]

    def rows(answers):
        return {"file": [*answers.items()]}

    asked = study.Study(cases, attrgetter("scheme", "seed"), rows, "", seeds=2, cost=attrgetter("scheme"))
    assert asked.compute(runner)["file"] == [(case, [(case.scheme, 1), (case.scheme, 2)]) for case in cases]
    assert [case.scheme for case in begun] == ["random", "random", "ecmp", "ecmp"]


def test_the_mean_over_seeds_and_its_interval():
    rows = [{"scheme": "a", "share": share} for share in (1.0, 2.0, 3.0)] + [{"scheme": "b", "share": 5.0}]
    first, second = study.average_over_seeds(rows, "share", "scheme")
    assert [first[name] for name in ("scheme", "share")] == ["a", 2.0]
    assert (first["from"], first["to"]) == pytest.approx((2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5), rel=1e-4)
    assert second == {"scheme": "b", "share": 5.0, "from": None, "to": None}
    assert study.estimate_over_seeds(np.array([1.0, 2.0])).low is None, "two are too few"


def test_rows_on_a_terminal():
    console = Console(width=80, record=True)
    console.print(
        study.make_table("Title", [{"a_scheme": "x", "mbps": 12533.4, "share": 0.78331, "flows": 16, "no": None}])
    )
    text = console.export_text()
    assert all(word in text for word in ("Title", "a scheme", "12,533", "0.7833", "16"))


@pytest.mark.parametrize(
    ("command", "arguments", "cause"),
    [
        (figure_9, "", "--simulated"),
        (figure_10, "--schemes hedera-best", "'hedera-best'"),
        (figure_10, "--engines aimd,tcp", "'tcp'"),
        (figure_10, f"--out {__file__}/figures", f"{__file__}/figures cannot be written"),
        (table_2, "", "--simulated"),
        (table_3, "--hosts 17", "17 hosts"),
        (table_3, "--iterations many", "--iterations"),
        (table_3, "--intervals 0,1", "--intervals"),
        (table_5, "--seconds -1", "--seconds"),
        (replication, "6", "'6'"),
        (replication, "2", "--suite replication"),
        (replication, "2 .", "no run"),
        (completion, "--loads 0.5,0", "--loads takes numbers above 0"),
        (completion, "--loads 1.5", "at most 1"),
        (completion, "--sizes web", "'web'"),
        (completion, "--sizes fixed:1 --loads 1", "is the limit"),
        (flows_per_host, "--flows-per-host 1.5", "--flows-per-host"),
        (flows_per_host, "--thresholds x", "--thresholds"),
        (flows_per_host, "-k 5", "k"),
        (flows_per_host, "--flows-per-host 1000000000", "more than"),
    ],
)
def test_a_mistake_is_refused_before_the_first_simulation(command, arguments, cause, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(command, "--out", "out", *arguments.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert cause in done.stderr.replace("\n", " ")
