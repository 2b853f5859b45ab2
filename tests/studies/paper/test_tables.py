"""Tables 1 to 6: what is measured, what is modelled, and what is refused."""

from dataclasses import replace

import pytest

from record.published import TABLE_3, TABLE_4, TABLE_6
from studies.paper import tables
from studies.paper.tables import MB, Round, Shuffle, find_ports, make_shuffle_rows, table_2, table_3
from tests.studies.commands import described, in_turn, rows, run, run_json
from topos.fattree import FatTree

SMALL_3 = ("--hosts", "16", "--iterations", "1000,50000", "--seconds", 12, "--seeds", 2, "--jobs", 1)


def test_growth_is_found_in_what_grows_so():
    made = [
        {
            "k": k, "flows_per_host": many, "step_us": 3e-3 * (k / 2) ** 2 * many**0.5,
            "megabytes": (7 * k**3 + 50 * many * k**3 / 4) / 1e6,
        }
        for k in (8, 16, 32)
        for many in (1, 2, 4)
    ]  # fmt: skip
    wanted = {"k_power": 2, "flows_power": 0.5, "per_k3": 7, "per_flow": 50}
    assert tables.fit_growth(made) == pytest.approx(wanted)


@pytest.mark.slow
def test_table_1_measures_both_placements(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "SIZES", (16,))
    monkeypatch.setattr(tables, "FLOWS_PER_HOST", (1, 8))
    done = run(tables.table_1, "--seconds", 0, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    found = rows(tmp_path / "table1.csv")
    assert [(row["algorithm"], int(row["flows_per_host"])) for row in found] == [
        (name, many) for name in tables.STEPS for many in (1, 8)
    ]
    assert all(float(row["step_us"]) > 0 for row in found)
    last = float(found[1]["megabytes"])
    assert last > 32 * 8 * 1024 / 1e6, "the flows that are given alone are that much"
    assert done.stdout.count("memory ") == 2


def test_table_2_has_times_ratios_and_the_published_ones(tmp_path):
    found = run_json(table_2, "--simulated", "--seeds", 1, "--jobs", 1, "--out", tmp_path)
    assert [row["scheme"] for row in found] == ["ecmp", "hedera-gff", "hedera-sa", "nonblocking"]
    for row in found:
        assert row["shuffle_s"] >= row["host_completion_s"] > 15 * 500 * MB * 8e-9
        assert row["bisection_mbps"] == pytest.approx(16 * row["goodput_mib_per_s"] * MB * 8e-6)
        published = row["published_shuffle_to_control"]
        assert row["shuffle_difference"] == pytest.approx(row["shuffle_to_control"] - published)
    assert found[0]["published_shuffle_to_control"] == 438.44 / 306.37
    assert found[3]["goodput_to_control"] == 1
    assert found[0]["shuffle_to_control"] > 1, "collisions cost time"
    assert len(rows(tmp_path / "table2.csv")) == 4


def test_rows_of_table_2_are_means_over_shuffles():
    (row,) = make_shuffle_rows({"random": [Shuffle(10, 8), Shuffle(14, 4)]}, 2, 8 * MB)
    assert (row["shuffle_s"], row["host_completion_s"], row["shuffles"]) == (12, 6, 2)
    assert (row["lowest_shuffle_s"], row["highest_shuffle_s"]) == (10, 14)
    assert row["goodput_mib_per_s"] == 1.5
    assert row["shuffle_to_control"] is None, "no control was run"


def test_a_shuffle_that_does_not_end_is_told(monkeypatch):
    monkeypatch.setattr(tables, "PATIENCE", 1)
    with pytest.raises(RuntimeError, match="under spanning-tree the shuffle did not end within"):
        tables.simulate_shuffle(tables.shuffle_config("spanning-tree", 10**6))


def test_table_3_has_cells_and_their_shares_of_the_control(tmp_path):
    found = run_json(table_3, *SMALL_3, "--intervals", "1,0.1", "--out", tmp_path)
    cells = [(row["engine"], row["scheme"], row["interval_s"], row["iterations"]) for row in found]
    one = [
        ("nonblocking", 5.0, None), ("hedera-clos", 5.0, None), ("hedera-sa", 1.0, 1000), ("hedera-sa", 1.0, 50_000),
        ("hedera-sa", 0.1, 1000),
    ]  # fmt: skip
    assert cells == [(engine, *cell) for engine in ("aimd", "maxmin") for cell in one], "50,000 in 0.1 s: too many"
    for row in found:
        assert row["seeds"] == 2
        assert row["lowest_percent"] <= row["percent"] <= row["highest_percent"]
        spread = row["highest_percent"] - row["lowest_percent"]
        assert row["sd_percent"] == pytest.approx(spread / 2**0.5, abs=1e-9)
        assert row["published_percent"] == (None if row["scheme"] == "hedera-clos" else TABLE_3[16, row["iterations"]])
        if row["scheme"] == "nonblocking":
            assert row["of_control_percent"] == row["final_of_control_percent"] == 100
        elif row["engine"] == "maxmin" and row["scheme"] == "hedera-sa":  # placed well before the window begins
            assert row["of_control_percent"] == pytest.approx(row["final_of_control_percent"], abs=1)
            assert row["of_control_percent"] <= 100 + 1e-9
    assert len(rows(tmp_path / "table3.csv")) == len(found)


def test_table_4_times_demand_estimation(tmp_path):
    found = run_json(tables.table_4, "--seconds", 0, "--out", tmp_path)
    assert len(rows(tmp_path / "table4.csv")) == len(found) == len(TABLE_4)
    for row in found:
        assert 0 < row["best_ms"] <= row["median_ms"]
        assert row["ratio"] == pytest.approx(row["published_ms"] / row["median_ms"])


def test_a_cell_of_table_5_does_all_its_iterations():
    case = tables.measure_annealing((16, 3215, 0.5))[0]  # medians of many: it is a difference of two times
    assert (case["k"], case["flows"], case["iterations"], case["published_ms"]) == (16, 3215, 1000, 2.997)
    assert 0 < case["annealing_ms"] < case["median_ms"]
    assert 0 < case["excess_after"] < case["excess_before"]  # above 0: the search has not ended early


@pytest.mark.parametrize(("size", "flows"), list(TABLE_6))
def test_the_model_gives_the_papers_table_6_when_it_assumes_what_the_paper_assumes(size, flows):
    ours = 1000 * (tables.compute_message_s(FatTree(find_ports(size)), flows) + tables.ASSUMED_COMPUTATION_S)
    assert ours == pytest.approx(TABLE_6[size, flows], rel=0.02)


@pytest.mark.parametrize(("k", "hops"), [(4, 1), (6, 1), (8, 2), (32, 2), (48, 3)])
def test_the_control_network_is_as_deep_as_its_switches_have_ports_for(k, hops):
    assert tables.count_control_hops(FatTree(k)) == hops


def test_table_6_measures_and_models():
    short = replace(described(tables.table_6, seeds=1), cases=[Round(FatTree(4), 1), Round(FatTree(6), 2)])
    found = short.compute(in_turn)["table6"]
    assert [(row["hosts"], row["flows_per_host"]) for row in found] == [(16, 1), (54, 2)]
    for row in found:
        assert row["loop_ms"] == pytest.approx(row["messages_ms"] + row["computed_ms"])
        assert row["model_with_100_ms"] == pytest.approx(row["messages_ms"] + 100)
        assert 0 < row["computed_ms"] < 5000
    assert len(tables.measure_rounds(Round(FatTree(4), 2))) == tables.MEASURED_ROUNDS
