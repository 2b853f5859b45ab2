"""Figure 9, simulated: every published matrix under five schemes, beside the published testbed and simulator."""

import pytest

from paper import figure_9
from results.published import FIGURE_9, FIGURE_9_SIMULATED
from tests.paper.commands import is_png, rows, run, run_json


def test_it_needs_to_be_asked_for_simulated(tmp_path):
    done = run(figure_9, "--out", tmp_path)
    assert done.exit_code == 2
    assert "--simulated" in done.stderr


def test_it_holds_every_matrix_against_its_published_bar(tmp_path):
    found = run_json(figure_9, "--simulated", "--seeds", 1, "--tick", 0.02, "--jobs", 1, "--out", tmp_path)
    assert len(found) == len(rows(tmp_path / "figure9_simulated.csv")) == 20 * 5

    def bar(matrix, scheme):
        return next(row for row in found if (row["matrix"], row["scheme"]) == (matrix, scheme))

    assert bar("stride8", "hedera-sa")["mean_mbps"] == pytest.approx(12_533, rel=0.02)
    for name, published in FIGURE_9_SIMULATED.items():
        for scheme, mbps in published.items():
            if scheme in ("ecmp", "hedera-gff", "hedera-sa", "nonblocking"):
                assert bar(name, scheme)["published_simulator_mbps"] == mbps
                assert bar(name, scheme)["published_testbed_mbps"] == FIGURE_9[name][scheme]
        # What chance has no part in, the paper's simulator and ours agree on.
        assert bar(name, "nonblocking")["mean_mbps"] == pytest.approx(published["nonblocking"], rel=0.01)
    assert bar("stride8", "spanning-tree")["published_simulator_mbps"] is None
    assert bar("hotspot", "ecmp")["published_simulator_mbps"] is None
    assert is_png(tmp_path / "figure9_simulated.png")


def test_an_eighth_scheme_is_there_when_asked_for(tmp_path):
    short = ("--simulated", "--seeds", 1, "--tick", 0.05, "--jobs", 1, "--out", tmp_path)
    done = run(figure_9, "--schemes", "hedera-clos,nonblocking", *short)
    assert done.exit_code == 0, done.output
    assert "hedera-clos" in done.stdout
    found = {(row["matrix"], row["scheme"]): row for row in rows(tmp_path / "figure9_simulated.csv")}
    assert found["stride8", "hedera-clos"]["published_testbed_mbps"] == ""
