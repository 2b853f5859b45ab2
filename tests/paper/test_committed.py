"""What is in results/simulated comes from the code as it is: one cheap part of every file is computed anew.

Numbers are kept with six digits. Times, which are of the machine that took them, are left out.
"""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import simulator_sensitivity
from paper import explain_ecmp, explain_gff, explain_sa, figure_3, figure_11, table_3, table_6
from results.published import FIGURE_9, FIGURE_9_SIMULATED, TABLE_3, TABLE_6
from simulator.config import Config
from simulator.driver import bisection_mbps, simulate
from tests.paper.commands import rows
from topos.fattree import FatTree
from traffic.published import PUBLISHED

KEPT = Path(__file__).parents[2] / "results/simulated"


def kept(name, **where):
    """The rows of a file with these cells."""
    found = [row for row in rows(KEPT / name) if all(row[column] == str(v) for column, v in where.items())]
    assert found, f"{name} has no row with {where}"
    return found


def same(row, fresh):
    """A kept row and a fresh one."""
    assert list(row) == list(fresh)
    for column, value in fresh.items():
        if isinstance(value, float):
            assert float(row[column]) == pytest.approx(value, rel=2e-5, abs=1e-9), column
        else:
            assert row[column] == ("" if value is None else str(value)), column


def test_table_3():
    fresh = table_3.compute([16], [1000], intervals=[5.0], seeds=3)
    assert len(fresh) == 6
    for cell in fresh:
        (row,) = (
            row for row in kept("table3.csv", engine=cell["engine"], hosts=16, scheme=cell["scheme"], interval_s="5")
            if row["iterations"] in ("", "1000")
        )  # fmt: skip
        same(row, cell)
    published = {
        (int(row["hosts"]), int(row["iterations"] or 0) or None): row["published_percent"]
        for row in kept("table3.csv")
        if row["scheme"] != "hedera-clos"
    }
    assert {cell: float(share) for cell, share in published.items()} == dict(TABLE_3), "all of it is there"


@pytest.mark.parametrize(
    ("engine", "traffic", "scheme"), [("aimd", "stride:1", "nonblocking"), ("maxmin", "randbij", "ecmp")]
)
def test_figure_10(engine, traffic, scheme):
    config = Config(scheme, traffic, 32, seed=2, tick_s=0.01, iterations=100_000, engine=engine)
    fresh = bisection_mbps(config)
    (row,) = kept("figure10_k32.csv", engine=engine, traffic=traffic, scheme=scheme, seed=2)
    assert float(row["bisection_mbps"]) == pytest.approx(fresh, rel=2e-5)
    assert float(row["percent_of_full"]) == pytest.approx(100 * fresh / config.capacity_mbps, rel=2e-5)


def test_figure_11():
    config = Config("nonblocking", "randbij", 16, seed=2, tick_s=0.01, arrivals_per_s=0.1, mean_mbytes=1250.0)
    fresh = figure_11.series(simulate(config))
    for row, point in zip(kept("figure11_k16.csv", scheme="nonblocking", seed=2), fresh, strict=True):
        same(row, point)


def test_figure_3():
    fresh = figure_3.compute(
        FatTree(48), 1, 5, lambda loss, tasks: [loss(task) if task[3] == "worst link" else 0.0 for task in tasks]
    )
    (row,) = kept("figure3.csv", model="worst link", flows_per_host=1)
    same(row, next(point for point in fresh if point["model"] == "worst link"))


def test_figure_9():
    values = [bisection_mbps(Config("ecmp", "published:stride8", seed=seed)) for seed in range(1, 11)]
    (row,) = kept("figure9_simulated.csv", matrix="stride8", scheme="ecmp")
    assert float(row["mean_mbps"]) == pytest.approx(sum(values) / 10, rel=2e-5)
    assert float(row["lowest_mbps"]) == pytest.approx(min(values), rel=2e-5)
    assert float(row["highest_mbps"]) == pytest.approx(max(values), rel=2e-5)
    for row in kept("figure9_simulated.csv"):
        assert float(row["published_testbed_mbps"]) == FIGURE_9[row["matrix"]][row["scheme"]]
        simulated = FIGURE_9_SIMULATED.get(row["matrix"], {}).get(row["scheme"])
        if row["scheme"] == "spanning-tree" or simulated is None:
            assert row["published_simulator_mbps"] == ""
        else:
            assert float(row["published_simulator_mbps"]) == simulated


def test_explain_ecmp():
    values = explain_ecmp.predict(("spanning tree", "maxmin", 1, PUBLISHED))
    predicted = kept("explain_ecmp.csv", routing="spanning tree", engine="maxmin")
    assert [float(row["predicted_mbps"]) for row in predicted] == pytest.approx(values, rel=2e-5)
    fits, _ = explain_ecmp.compute(1, 1, _only("spanning tree", "maxmin"))
    (row,) = kept("explain_ecmp_fits.csv", routing="spanning tree", engine="maxmin")
    same(row, next(fit for fit in fits if (fit["routing"], fit["engine"]) == ("spanning tree", "maxmin")))


def _only(routing, engine):
    """Runs that routing's tasks, and answers with ones for the others."""
    return lambda function, tasks: [
        function(task) if task[:2] == (routing, engine) else np.ones(len(task[3])) for task in tasks
    ]


def test_explain_gff():
    """Rows of other readings are of revision 98ceff6."""
    configs = [Config("hedera-gff", "published:randx4", seed=seed) for seed in range(1, 31)]
    fresh = explain_gff.compute(30, run=lambda function, tasks: [
        function(task) if task in configs else 12_000.0 for task in tasks
    ])  # fmt: skip
    (row,) = kept("explain_gff.csv", reading="as read", matrix="randx4")
    same(row, next(one for one in fresh if one["matrix"] == "randx4"))


def test_sensitivity():
    study = next(study for study in simulator_sensitivity.studies() if study.name == "Figure 9: tick [s]")
    configs = [Config("nonblocking", run.traffic, tick_s=0.01) for run in study.runs]
    shares = [simulator_sensitivity.summary(config)[0] for config in configs]
    (row,) = kept("sensitivity.csv", study=study.name, choice="0.01", scheme="nonblocking")
    assert float(row["percent"]) == pytest.approx(sum(shares) / len(shares), rel=2e-5)


def test_explain_sa():
    config = Config("hedera-flow-sa", "random", 16, tick_s=0.01, iterations=1000, flows_per_host=2, engine="maxmin")
    (row,) = kept("explain_sa_k16.csv", engine="maxmin", scheme="hedera-flow-sa", iterations=1000, seed=1)
    assert float(row["percent_of_full"]) == pytest.approx(100 * bisection_mbps(config) / config.capacity_mbps, rel=2e-5)
    for fresh in explain_sa.searches((16, 1)):
        (row,) = kept("explain_sa_search_k16.csv", scheme=fresh["scheme"], iterations=fresh["iterations"], seed=1)
        assert float(row["excess_links"]) == pytest.approx(fresh["excess_links"], rel=2e-5, abs=1e-9)
    for fresh in explain_sa.patterns(5):
        (row,) = kept("explain_sa_patterns.csv", k=fresh["k"], pattern=fresh["pattern"])
        same(row, fresh)


def test_table_6():
    """The model's messages. What is computed takes as long as it does on a machine."""
    fresh = table_6.compute(1, lambda function, tasks: [[0.0] for _ in tasks])
    assert [(row["hosts"], row["flows_per_host"]) for row in fresh] == list(TABLE_6)
    for row, model in zip(kept("table6.csv"), fresh, strict=True):
        for column in ("published_ms", "model_with_100_ms", "messages_ms"):
            assert float(row[column]) == pytest.approx(model[column], rel=2e-5)
