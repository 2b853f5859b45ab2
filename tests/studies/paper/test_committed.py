"""What is in results/simulated comes from the code as it is: one cheap part of every file is computed anew.

Numbers are kept with six digits. Times, which are of the machine that took them, are left out.
"""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from record.published import TABLE_3, TABLE_6
from simulator.config import Config
from simulator.driver import measure_bisection, simulate
from studies.paper import KEPT_RULE, explain, figures, flows_per_host, tables
from tests.studies.commands import described, in_turn, rows, told
from traffic.patterns import PUBLISHED

KEPT = Path(__file__).parents[3] / "results/simulated"


def where(found, **cells):
    return [row for row in found if all(told(row)[column] == value for column, value in cells.items())]


def part(study, name, wanted, other):
    """The rows of a file, with some tasks alone; the others are answered with ``other``."""
    return study.compute(lambda function, tasks: [function(t) if wanted(t) else other for t in tasks])[name]


TREE = {"routing": "spanning tree", "engine": "maxmin"}


def predicted(name):
    study = described(explain.explain_ecmp, 1, 1)
    shown = ("spanning-tree", "nonblocking")
    return part(study, name, lambda case: case.scheme in shown and case.engine == "maxmin", np.ones(20))


AT_SCALE = {"tick_s": 0.01, "iterations": 100_000, "large_flows": KEPT_RULE}


def figure_10_of(engine, traffic, scheme):
    wanted = Config(scheme, traffic, 32, seed=2, engine=engine, **AT_SCALE)
    study = described(figures.figure_10, figures.SCHEMES, ("aimd", "maxmin"), 2, k=32, **AT_SCALE)
    cells = {"engine": engine, "traffic": traffic, "scheme": scheme, "seed": "2"}
    return cells, lambda: part(study, "figure10_k32", lambda task: task == wanted, 1.0)


def figure_11_again(scheme):
    return figures.average_curve(simulate(figures.Arriving(scheme, "randbij", 16, seed=2, **AT_SCALE)))


def flows_again():
    fields = {"seconds": 12.0, "interval_s": 2.0, "tick_s": 0.01, "large_flows": KEPT_RULE}
    study = described(flows_per_host.flows_per_host, ("hedera-gff",), ("maxmin",), "12", "0.1,0.01", 5, **fields)
    return study.compute(in_turn)["flows_per_host_k4"]


def figure_9_of(seeds, wanted):
    return part(
        described(figures.figure_9, figures.FIGURE_9_SCHEMES, seeds, large_flows=KEPT_RULE),
        "figure9_simulated",
        wanted,
        1.0,
    )


def slow(*case):
    """One that computes for a second or more."""
    return pytest.param(*case, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("name", "cells", "compute"),
    [
        slow(
            "figure3.csv",
            {"model": "worst link"},
            lambda: part(
                described(figures.figure_3, 48, 1, 5), "figure3", lambda case: case.model == "worst link", 0.0
            ),
        ),
        slow(
            "figure9_simulated.csv",
            {"matrix": "stride8", "scheme": "ecmp"},
            lambda: figure_9_of(10, lambda task: task.traffic == "published:stride8"),
        ),
        ("figure10_k32.csv", *figure_10_of("aimd", "stride:1", "nonblocking")),
        ("figure10_k32.csv", *figure_10_of("maxmin", "randbij", "ecmp")),
        ("figure11_k16.csv", {"seed": "2", "scheme": "nonblocking"}, partial(figure_11_again, "nonblocking")),
        ("figure11_k16.csv", {"seed": "2", "scheme": "ecmp"}, partial(figure_11_again, "ecmp")),
        slow("flows_per_host_k4.csv", {"flows_per_host": "12"}, flows_again),
        ("explain_ecmp.csv", TREE, lambda: predicted("explain_ecmp")),
        ("explain_ecmp_fits.csv", TREE, lambda: predicted("explain_ecmp_fits")),
        slow(  # rows of other readings are of revision 98ceff6
            "explain_gff.csv",
            {"matrix": "randx4", "reading": "as read"},
            lambda: part(
                described(explain.explain_gff, 30, 0.001),
                "explain_gff",
                lambda task: task.traffic == "published:randx4",
                12_000.0,
            ),
        ),
        slow(
            "explain_sa_patterns.csv",
            {"k": "4"},
            lambda: part(
                described(explain.explain_sa, 1, 5, k=4, large_flows=KEPT_RULE),
                "explain_sa_patterns",
                lambda case: isinstance(case, explain.Pattern),
                1.0,
            ),
        ),
        slow(
            "table3.csv",
            {"interval_s": "5"},
            lambda: described(tables.table_3, "16", "1000", "5", ("aimd", "maxmin"), 3, 3, 60.0, 0.01).compute(in_turn)[
                "table3"
            ],
        ),
    ],
)
def test_a_part_is_as_it_was(name, cells, compute):
    kept, fresh = where(rows(KEPT / name), **cells), where(compute(), **cells)
    assert fresh
    for row in fresh:
        words = {column: text for column, text in told(row).items() if not isinstance(row[column], float)}
        times = {column: told(row)[column] for column in ("seconds", "interval_s") if column in row}
        (same,) = where(kept, **words, **times)
        assert list(same) == list(row)
        for column in row.keys() - words.keys():
            assert float(same[column]) == pytest.approx(row[column], rel=2e-5, abs=1e-9), column


def test_every_published_number_is_there():
    published = {
        (int(row["hosts"]), int(row["iterations"] or 0) or None): float(row["published_percent"])
        for row in rows(KEPT / "table3.csv")
        if row["scheme"] != "hedera-clos"
    }
    assert published == dict(TABLE_3)
    columns = ("matrix", "scheme", "published_testbed_mbps", "published_simulator_mbps")
    nothing = figure_9_of(1, lambda task: False)
    for kept, fresh in zip(rows(KEPT / "figure9_simulated.csv"), map(told, nothing), strict=True):
        assert [kept[column] for column in columns] == [fresh[column] for column in columns]


def test_sensitivity():
    """The file is of revision 664a803."""
    configs = [Config("nonblocking", f"published:{name}", tick_s=0.01) for name in PUBLISHED]
    shares = [measure_bisection(config) / config.capacity_mbps for config in configs]
    (row,) = where(rows(KEPT / "sensitivity.csv"), study="Figure 9: tick [s]", choice="0.01", scheme="nonblocking")
    assert float(row["percent"]) == pytest.approx(100 * np.mean(shares), rel=2e-5)


def test_explain_sa():
    config = Config(
        "hedera-flow-sa",
        "random",
        16,
        tick_s=0.01,
        iterations=1000,
        flows_per_host=2,
        engine="maxmin",
        large_flows=KEPT_RULE,
    )
    cells = {"engine": "maxmin", "scheme": "hedera-flow-sa", "seed": "1", "iterations": "1000"}
    (row,) = where(rows(KEPT / "explain_sa_k16.csv"), **cells)
    assert float(row["percent_of_full"]) == pytest.approx(
        100 * measure_bisection(config) / config.capacity_mbps, rel=2e-5
    )


def test_table_6():
    """The model's messages. What is computed takes as long as it does on a machine."""
    fresh = part(described(tables.table_6, 1), "table6", lambda task: False, [0.0])
    assert [(row["hosts"], row["flows_per_host"]) for row in fresh] == list(TABLE_6)
    for row, model in zip(rows(KEPT / "table6.csv"), fresh, strict=True):
        for column in ("published_ms", "model_with_100_ms", "messages_ms"):
            assert float(row[column]) == pytest.approx(model[column], rel=2e-5)
