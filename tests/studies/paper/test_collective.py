"""`hedera collective`."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studies.paper import collective
from studies.paper.collective import LINKS, collective_table, measure, measure_crowding
from tests.studies.commands import described, in_turn, is_png, rows, run_json, told
from topos.fattree import FatTree
from traffic.collectives import make_collective as graph_of

KEPT = Path(__file__).parents[3] / "results/collectives/collectives.csv"


@pytest.mark.slow
def test_a_quick_table_and_its_figure(tmp_path):
    found = run_json(collective, "table", "--quick", "--seeds", "1", "--jobs", "1", "--out", tmp_path)
    assert {row["scheme"] for row in found} >= {"nonblocking", "ecmp", "ecmp-x4", "planned", "spray", "hedera-sa"}
    assert {row["over_control"] for row in found if row["scheme"] in ("nonblocking", "spray")} == {1.0}
    ecmp = [row["over_control"] for row in found if row["scheme"] == "ecmp"]
    assert min(ecmp) >= 1
    assert max(ecmp) > 1.5
    assert len(rows(tmp_path / "collectives.csv")) == len(found)
    assert is_png(tmp_path / "collectives.png")


def compute(cases):
    return replace(described(collective_table, 1, quick=True), cases=cases).compute(in_turn)["collectives"]


def test_crowded_is_the_share_of_time_with_several_flows():
    ring = graph_of("ring:2,1000", FatTree(4), 1)
    assert len(ring) == 32
    start, end = np.zeros(32), np.full(32, 2.0)
    start[16:], end[16:] = 1.0, 3.0
    assert measure_crowding(ring, start, end) == pytest.approx(1 / 3), "0 to 3 s are used, 1 to 2 s twice"
    start[16:] = 2.0
    assert measure_crowding(ring, start, end) == 0.0
    assert measure_crowding(ring.split(3), *(np.resize(t, len(ring.split(3))) for t in (start, end))) >= 0


def test_all_that_is_asked_can_be_run():
    """Every simulation makes sense: its failed link is there, its control beside it, and its steps are many ticks."""
    asked = described(collective_table, 2, quick=False).cases
    assert {task.part for task in asked} == {"size", "sub-flows", "failure", "mice", "period"}
    assert {task.config.seed for task in asked} == {1, 2}
    assert all(task.config.tick_s <= task.config.interval_s for task in asked)
    assert {task.config.fail for task in asked if task.failed} == {(LINKS["core"],), (LINKS["edge"],)}


def test_what_is_kept_comes_from_the_code_as_it_is():
    """One simulation of each part anew, with its control."""
    kept, asked = rows(KEPT), described(collective_table, 5, quick=False).cases
    assert len(kept) == len(asked)

    def flows(task):
        c = task.config
        return task.collective, task.mbytes, c.placement, c.k, task.mice, c.repeats, c.seed

    for part, scheme in [("size", "hedera-clos"), ("failure", "spray"), ("mice", "planned"), ("period", "hedera-gff")]:
        wanted = (part, scheme, "halving-doubling")
        task = next(t for t in asked if (t.part, t.config.scheme, t.collective) == wanted)
        control = next(t for t in asked if t.config.scheme == "nonblocking" and flows(t) == flows(task))
        row = compute([control, task])[1]
        assert told(row) in kept


def test_a_run_that_does_not_end_has_no_times():
    (task,) = [
        t
        for t in described(collective_table, 1, quick=True).cases
        if t.config.scheme == "nonblocking" and t.mbytes == 100
    ][:1]
    short = replace(task, config=replace(task.config, seconds=0.1))
    row = measure(short)
    assert row["completion_s"] is row["crowded"] is compute([short])[0]["over_control"] is None
