"""What all studies share."""

from operator import attrgetter

import numpy as np
import pytest
from rich.console import Console

from simulator.config import Config
from studies import study


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
