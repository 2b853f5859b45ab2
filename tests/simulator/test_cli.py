import csv
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from simulator.cli import COMMANDS, FIGURES, TABLES, explain_ecmp, simulate
from simulator.config import Config
from simulator.driver import bisection_mbps


def run(command, *arguments):
    return CliRunner().invoke(command, [str(a) for a in arguments])


def test_the_registries_hold_what_the_hedera_command_looks_for():
    assert [simulate, explain_ecmp] == COMMANDS
    assert list(FIGURES) == ["3", "9", "10", "11"]
    assert list(TABLES) == ["3", "6"]


def test_json_is_one_object_with_the_agreed_keys():
    done = run(simulate, "--scheme", "hedera-gff", "--traffic", "published:rand0", "--seconds", 12, "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert {"scheme", "traffic", "bisection_mbps", "capacity_mbps", "verdict", "reasons", "flows"} <= set(
        found
    )
    assert found["verdict"] == "ok"
    assert found["reasons"] == []
    assert found["capacity_mbps"] == 16_000
    assert {"src", "dst", "mbps"} <= set(found["flows"][0])
    assert sum(flow["mbps"] for flow in found["flows"]) == pytest.approx(found["bisection_mbps"], abs=0.1)
    expected = bisection_mbps(Config("hedera-gff", "published:rand0", seconds=12.0))
    assert found["bisection_mbps"] == pytest.approx(expected, abs=0.001)
    assert len(found["total_mbps_per_second"]) == 12


def test_json_of_flows_that_come_and_go_has_their_times():
    done = run(simulate, "--scheme", "ecmp", "--traffic", "randbij", "--seconds", 6, "--arrivals", 2,
               "--mean-size", 2, "--engine", "maxmin", "--json")  # fmt: skip
    found = json.loads(done.stdout)
    assert found["completed"] > 10
    assert found["mean_completion_s"] > 0
    ended = [flow for flow in found["flows"] if flow["end_s"] is not None]
    assert len(ended) == found["completed"]
    assert all(flow["end_s"] > flow["start_s"] for flow in ended)


def test_without_json_it_says_the_result_in_words():
    done = run(simulate, "--scheme", "nonblocking", "--traffic", "stride:1", "--seconds", 6)
    assert done.exit_code == 0
    assert "12,5" in done.stdout


def test_a_lower_link_rate_takes_its_increase_along():
    done = run(simulate, "--scheme", "nonblocking", "--traffic", "stride:1", "--bw", 10, "--json")
    assert json.loads(done.stdout)["bisection_mbps"] == pytest.approx(125.33, abs=0.02)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--scheme", "hedera", "--traffic", "stride:1"], "no scheme 'hedera'"),
        (["--scheme", "ecmp", "--traffic", "strode:1"], "no traffic pattern"),
        (["--scheme", "ecmp", "--traffic", "stride:1", "-k", "5"], "even k"),
        (["--scheme", "ecmp", "--traffic", "stride:1", "--seconds", "0"], "above 0"),
        (["--scheme", "ecmp", "--traffic", "stride:1", "--engine", "fluid"], "no engine"),
        (["--scheme", "ecmp", "--traffic", "file:/nowhere.csv"], "nowhere"),
        (["--traffic", "stride:1"], "--scheme"),
    ],
)
def test_wrong_use_is_one_sentence_and_status_2(arguments, words):
    done = run(simulate, *arguments, "--json")
    assert done.exit_code == 2
    assert done.stdout == ""
    message = done.stderr.partition("Error: ")[2].strip()
    assert words in message
    assert "\n" not in message
    assert "Traceback" not in done.stderr


def test_a_call_takes_less_than_two_seconds_start_up_included():
    code = (
        "import sys; from simulator.cli import simulate;"
        "simulate(['--scheme', 'hedera-sa', '--traffic', 'published:rand0', '--json'], standalone_mode=False);"
        "assert 'matplotlib' not in sys.modules; assert 'rich' not in sys.modules"
    )
    spent = []
    for _ in range(4):  # the first may have to compile
        before = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, timeout=120, stdout=subprocess.DEVNULL)
        spent.append(time.perf_counter() - before)
    assert min(spent) < 2.0


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def is_png(path: Path):
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5000


def test_figure_3_writes_picture_csv_and_comparison(tmp_path):
    done = run(FIGURES["3"], "-k", 8, "--max-flows", 10, "--seeds", 2, "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    found = rows(tmp_path / "figure3.csv")
    assert {row["model"] for row in found} == {"worst link", "max-min"}
    assert is_png(tmp_path / "figure3.png")
    assert "60.80" in done.stdout


def test_figure_9_needs_to_be_asked_for_simulated(tmp_path):
    done = run(FIGURES["9"], "--out", tmp_path)
    assert done.exit_code == 2
    assert "--simulated" in done.stderr


def test_figure_9_holds_every_matrix_against_its_published_bar(tmp_path):
    done = run(FIGURES["9"], "--simulated", "--seeds", 1, "--tick", 0.02, "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    found = rows(tmp_path / "figure9_simulated.csv")
    assert len(found) == 20 * 5
    bar = next(row for row in found if row["matrix"] == "stride8" and row["scheme"] == "hedera-sa")
    assert float(bar["published_testbed_mbps"]) == 12_550
    assert float(bar["mean_mbps"]) == pytest.approx(12_533, rel=0.02)
    assert is_png(tmp_path / "figure9_simulated.png")
    assert "12,550" in done.stdout


def test_figure_10_covers_the_suite_and_says_what_the_text_says(tmp_path):
    done = run(FIGURES["10"], "-k", 4, "--seconds", 12, "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert len(rows(tmp_path / "figure10_k4.csv")) == 12 * 4
    assert is_png(tmp_path / "figure10_k4.png")
    assert "113.0" in done.stdout
    assert "96.0" in done.stdout


def test_figure_11_is_a_series_over_time(tmp_path):
    done = run(FIGURES["11"], "-k", 4, "--seconds", 12, "--arrivals", 1, "--mean-size", 20, "--jobs", 1,
               "--out", tmp_path)  # fmt: skip
    assert done.exit_code == 0, done.output
    found = rows(tmp_path / "figure11_k4.csv")
    assert len(found) == 24
    assert float(found[-1]["nonblocking_gbps"]) > 0
    assert is_png(tmp_path / "figure11_k4.png")


def test_table_3_holds_iterations_against_the_paper(tmp_path):
    done = run(
        TABLES["3"], "--hosts", "16", "--iterations", "1000", "--seconds", 12, "--jobs", 1, "--out", tmp_path
    )
    assert done.exit_code == 0, done.output
    found = rows(tmp_path / "table3.csv")
    assert [row["published_percent"] for row in found] == ["81.24", "78.73"]
    assert is_png(tmp_path / "table3.png")


@pytest.mark.parametrize(
    "arguments", [["--hosts", "17"], ["--iterations", "many"], ["--hosts", ""], ["--iterations", "0"]]
)
def test_table_3_refuses_sizes_and_counts_that_make_no_sense(arguments, tmp_path):
    done = run(TABLES["3"], *arguments, "--out", tmp_path)
    assert done.exit_code == 2
    assert "Error: " in done.stderr


def test_table_6_measures_and_models(tmp_path, monkeypatch):
    monkeypatch.setattr("results.published.TABLE_6", {(16, 1): 100.0, (54, 2): 100.0})
    done = run(TABLES["6"], "--out", tmp_path)
    assert done.exit_code == 0, done.output
    found = rows(tmp_path / "table6.csv")
    assert len(found) == 2
    for row in found:
        assert float(row["loop_ms"]) == pytest.approx(
            float(row["messages_ms"]) + float(row["computed_ms"]), rel=1e-4
        )
    assert is_png(tmp_path / "table6.png")


def test_explain_ecmp_compares_four_routings_and_two_engines(tmp_path):
    done = run(explain_ecmp, "--seeds", 3, "--aimd-seeds", 1, "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    fits = rows(tmp_path / "explain_ecmp_fits.csv")
    assert len(fits) == 8
    best = min(fits, key=lambda row: float(row["mean_relative_error_percent"]))
    assert best["routing"] == "spanning tree"
    assert len(rows(tmp_path / "explain_ecmp.csv")) == 20
    assert is_png(tmp_path / "explain_ecmp.png")


def test_a_cluster_that_is_not_there_is_one_sentence(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("commands.pool.CONNECT_S", 0.5)
    done = run(
        explain_ecmp, "--seeds", 1, "--aimd-seeds", 1, "--cluster", "tcp://127.0.0.1:9", "--out", tmp_path
    )
    assert done.exit_code == 1
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr
