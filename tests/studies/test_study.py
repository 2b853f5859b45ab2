"""What the paper's commands share."""

from operator import attrgetter

import numpy as np
import pytest
from rich.console import Console

from simulator.config import Config
from studies import study
from studies.paper import completion, flows_per_host
from tests.studies.commands import run


def test_cases_over_seeds_come_in_their_order_whatever_is_begun_first():
    begun = []

    def runner(function, tasks):
        begun.extend(tasks)
        return [function(task) for task in tasks]

    cases = [Config(scheme, "randbij") for scheme in ("ecmp", "random")]
    found = study.over_seeds(runner, attrgetter("scheme", "seed"), cases, 2, cost=attrgetter("scheme"))
    assert found == [[("ecmp", 1), ("ecmp", 2)], [("random", 1), ("random", 2)]]
    assert [case.scheme for case in begun] == ["random", "random", "ecmp", "ecmp"]


def test_rows_are_grouped_in_their_order():
    rows = [{"x": 2, "y": "b"}, {"x": 1, "y": "a"}, {"x": 2, "y": "a"}]
    assert list(study.grouped(rows, "x")) == [2, 1]
    assert study.grouped(rows, "x", "y")[2, "a"] == rows[2:]


def test_the_mean_over_seeds_and_its_interval():
    rows = [{"scheme": "a", "share": share} for share in (1.0, 2.0, 3.0)] + [{"scheme": "b", "share": 5.0}]
    first, second = study.means(rows, "share", "scheme")
    assert [first[name] for name in ("scheme", "share")] == ["a", 2.0]
    assert (first["from"], first["to"]) == pytest.approx((2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5), rel=1e-4)
    assert second == {"scheme": "b", "share": 5.0, "from": None, "to": None}
    assert study.interval(np.array([1.0, 2.0])).low is None, "two are too few"


def test_rows_on_a_terminal():
    console = Console(width=80, record=True)
    console.print(study.table("Title", [{"a_scheme": "x", "mbps": 12533.4, "share": 0.78331, "flows": 16, "no": None}]))
    text = console.export_text()
    assert all(word in text for word in ("Title", "a scheme", "12,533", "0.7833", "16"))


def test_the_ports_of_a_size():
    assert [study.ports_for(hosts) for hosts in (16, 1024, 27648)] == [4, 16, 48]
    with pytest.raises(ValueError, match="no fat-tree has 17 hosts"):
        study.ports_for(17)


@pytest.mark.parametrize(
    ("module", "options", "words"),
    [
        (completion, ["--loads", "0.5,0"], "--loads takes numbers above 0"),
        (completion, ["--loads", "1.5"], "at most 1"),
        (completion, ["--sizes", "web"], "no law of flow sizes"),
        (completion, ["--sizes", "fixed:1", "--loads", "1"], "is the limit"),
        (flows_per_host, ["--flows-per-host", "1.5"], "--flows-per-host takes whole numbers above 0"),
        (flows_per_host, ["--thresholds", "x"], "--thresholds takes numbers above 0"),
        (flows_per_host, ["-k", "5"], "k"),
        (flows_per_host, ["--flows-per-host", "1000000000"], "more than"),
    ],
)
def test_mistakes_come_to_light_before_the_first_simulation(module, options, words, tmp_path):
    done = run(module, *options, "--out", tmp_path)
    assert done.exit_code == 2
    assert words in done.stderr.replace("\n", " ")
