"""explain-sa: what section 4.4 claims for a core per host."""

import numpy as np
import pytest

from paper import explain_sa
from tests.paper.commands import rows, run

SHORT = ("-k", 4, "--seconds", 12, "--seeds", 2, "--random-patterns", 2, "--jobs", 1)


def test_it_writes_what_it_tells(tmp_path):
    done = run(explain_sa, *SHORT, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert len(rows(tmp_path / "explain_sa_k4.csv")) == 2 * 2 * (1 + 2 * 3)
    found = rows(tmp_path / "explain_sa_search_k4.csv")
    assert len(found) == 2 * 2 * 7
    assert len(rows(tmp_path / "explain_sa_patterns.csv")) == 3 + 2
    assert "10^11,922 times smaller" in done.stdout
    assert "of 2 random patterns" in done.stdout


def test_gains_are_paired_by_seed():
    found = [
        {"engine": "aimd", "scheme": scheme, "iterations": 1000, "seed": seed, "percent_of_full": percent}
        for scheme, shares in (("hedera-sa", (60, 66)), ("hedera-flow-sa", (50, 60)))
        for seed, percent in enumerate(shares, 1)
    ]
    assert explain_sa.gains(found, "aimd", 1000) == pytest.approx([20, 10])


def test_the_work_for_as_good_a_placement():
    """Per flow it takes ten times the iterations to any excess, each half as long."""
    found = []
    for count in explain_sa.SEARCHED:
        one = {"iterations": count, "seed": 1}
        found.append({**one, "scheme": "hedera-sa", "excess_links": 1e6 / count, "search_ms": 2.0 * count})
        found.append({**one, "scheme": "hedera-flow-sa", "excess_links": 1e7 / count, "search_ms": 1.0 * count})
    more, longer = explain_sa.times_less(found, 10_000)
    assert (more, longer) == (pytest.approx([10]), pytest.approx([5]))


def test_the_search_space_by_counting():
    """16 hosts: four cores for each, or 4! ways in each of four pods."""
    assert explain_sa.search_space(4) == pytest.approx(np.log10(4.0**16 / 24**4))


def test_more_iterations_leave_less_exceeded():
    found = {(row["scheme"], row["iterations"]): row["excess_links"] for row in explain_sa.searches((8, 1))}
    for scheme in ("hedera-sa", "hedera-flow-sa"):
        assert found[scheme, 100_000] < found[scheme, 1_000]
