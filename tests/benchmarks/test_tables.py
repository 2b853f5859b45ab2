from __future__ import annotations

import re

from click.testing import CliRunner

from benchmarks import annealing, demand
from benchmarks.tables import TABLES
from results.published import TABLE_4


def test_table_4_prints_paper_ours_and_ratio() -> None:
    done = CliRunner().invoke(TABLES["4"], ["--seconds", "0"], catch_exceptions=False)
    assert done.exit_code == 0
    for (k, flows), paper in TABLE_4.items():
        assert re.search(rf"{k} .* {flows:,} .* {paper:.2f} .* \d+x", done.output)
    assert re.search(r"flows at k=48: \d+\.\d MB", done.output)


def test_a_cell_of_table_5_does_all_its_iterations() -> None:
    case = next(annealing.cases(seconds=0))
    assert (case.k, case.flows, case.iterations, case.paper_ms) == (16, 3215, 1000, 2.997)
    assert 0 < case.setup.best < case.placement.median
    assert 0 < case.energy[1] < case.energy[0]  # above 0: the search has not ended early


def test_memory_stays_below_the_papers() -> None:
    assert 4 < demand.megabytes_needed() < 20


def test_a_table_takes_no_negative_time() -> None:
    done = CliRunner().invoke(TABLES["5"], ["--seconds", "-1"])
    assert done.exit_code == 2
