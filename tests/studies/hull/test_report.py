"""The commands and what they show; reductions; docs/hull.md and its note against the committed results."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from record.output import read_csv
from studies.hull.packets import NotInstalled
from studies.hull.report import (
    PUBLISHED,
    _find_static_values,
    compute_by_seed,
    compute_reductions,
    count_within,
    figure_1,
    hull,
    make_cell,
)
from studies.hull.scenario import SCHEMES
from tests.commands import PROJECT
from tests.studies.hull.scenes import scene
from tests.studies.hull.test_packets import result

PAGES = [PROJECT / "docs" / "hull.md", PROJECT / "docs" / "notes" / "hull.md"]
PAGE = " ".join(" ".join(page.read_text(encoding="utf-8") for page in PAGES).split())
COMPARED = (
    "figure1b", "figure1c", "table2", "figure4", "figure5", "reproduction/figure5", "linux/figure1b-linux",
    "linux/figure1c-linux", "linux/table2-linux", "linux/figure4-linux", "linux/figure5-linux",
)  # fmt: skip
NUMBERS = ("published", "ours", "lowest", "highest", "ratio")


def call(*arguments):
    return CliRunner().invoke(hull, [str(each) for each in arguments])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--scheme", "hul", "--workload", "dynamic"], "'hul'"),
        (["run", "--scheme", "hull", "--workload", "static", "--link-delay", "5kg"], "'5kg' is not a number"),
        (["figure", "1", "--drain", "0"], "--drain must be at least 0.01"),
        (["table", "2", "--seeds", "0"], "seeds"),
        (["figure", "4", "--share", "0"], "share"),
        (["figure", "3"], "No such command"),
    ],
)
def test_wrong_use_is_answered_in_words_and_with_status_2(arguments, words):
    answer = call(*arguments)
    assert answer.exit_code == 2
    assert words in answer.output
    assert "Traceback" not in answer.output


def test_a_machine_without_ns3_is_told_what_to_install(monkeypatch, tmp_path):
    def missing(*_):
        raise NotInstalled("the packet simulator needs ns-3: run setup/install.sh --packets")

    monkeypatch.setattr("studies.hull.packets.compute_fingerprint", missing)
    monkeypatch.setattr("studies.hull.report.build_engine", missing)
    for arguments in (
        ["run", "--scheme", "hull", "--workload", "static", "--results", tmp_path],
        ["table", "2", "--quick", "--results", tmp_path, "--out", tmp_path],
    ):
        answer = call(*arguments)
        assert answer.exit_code == 3
        assert "setup/install.sh --packets" in answer.output


@pytest.mark.usefixtures("built")
def test_a_run_in_words_and_as_json(tmp_path):
    arguments = ["run", "--scheme", "hull", "--workload", "dynamic", "--seconds", 0.5, "--load", 0.3]
    words = call(*arguments, "--results", tmp_path)
    assert words.exit_code == 0
    assert "fct_900B_us_mean: " in words.output
    found = json.loads(call(*arguments, "--results", tmp_path, "--json").stdout)
    assert found["verdict"] == "ok"
    assert found["fct_900B_us_mean"] > 37.6
    assert found["seeds"] == 1
    several = json.loads(call(*arguments, "--results", tmp_path, "--json", "--seeds", 2, "--jobs", 1).stdout)
    assert several["fct_900B_us_samples"] > found["fct_900B_us_samples"]


@pytest.mark.slow
@pytest.mark.usefixtures("built")
def test_table_2_as_json_csv_and_picture(tmp_path):
    arguments = ["--share", 0.012, "--seeds", 1, "--jobs", 2, "--results", tmp_path, "--out", tmp_path, "--json"]
    answer = call("table", 2, *arguments)
    assert answer.exit_code == 0, answer.output
    rows = json.loads(answer.stdout)["rows"]
    assert len(rows) == 2 * 3 * 3 * 4 * 2  # variants, metrics, loads, schemes, statistics
    wanted = 20, "reproduction", "hull", "fct_900B_us"
    row = next(r for r in rows if tuple(map(r.get, ("load_percent", "variant", "scheme", "metric"))) == wanted)
    assert row["published"] == 40.3
    assert row["ours"] == pytest.approx(40, rel=0.3)
    assert [r["scheme"] for r in read_csv(tmp_path / "table2.csv")] == [r["scheme"] for r in rows]
    assert (tmp_path / "table2.png").read_bytes().startswith(b"\x89PNG")
    # variants, metrics, statistics, other schemes, and of each the loads and their mean
    assert len(read_csv(tmp_path / "table2_reductions.csv")) == 2 * 3 * 2 * 3 * 4


@pytest.mark.slow
@pytest.mark.usefixtures("built")
def test_one_scheme_one_variant_and_a_drain_rate_that_is_the_tables(tmp_path):
    """95 % is what Table I has, and static flows have 90 %, unless it is asked for."""
    arguments = ["--schemes", "hull", "--variants", "conforming", "--seeds", 1, "--quick", "--json"]
    answer = call("figure", 1, *arguments, "--drain", 0.95, "--results", tmp_path, "--out", tmp_path)
    assert answer.exit_code == 0, answer.output
    rows = json.loads(answer.stdout)["rows"]
    assert {(r["variant"], r["scheme"]) for r in rows} == {("conforming", "hull")}
    assert {r["published"] for r in rows} == {None}
    assert {path.name for path in tmp_path.glob("fig*")} == {"figure1b-drain95.csv", "figure1b-drain95.png"}
    usual = figure_1.make_context("1", ["--results", str(tmp_path)])
    with usual:
        assert _find_static_values() == {"segment_bytes": 600, "drain": 0.9}


@pytest.mark.usefixtures("built")
def test_a_scenario_of_ones_own(tmp_path):
    def answer(text):
        (tmp_path / "mine.json").write_text(text, encoding="utf-8")
        return call("scenario", tmp_path / "mine.json")

    built = scene(exchanges=[(0, 0, 100, 900)], seconds=0.01)
    found = json.loads(answer(json.dumps(built)).stdout)
    assert found["unfinished"] == 0
    assert found["arrays"]["client_received_bytes"] == [900]
    built["links"][0]["to"] = "nowhere"
    refused = answer(json.dumps(built))
    assert refused.exit_code == 2
    assert "nowhere, which is no node of the scenario" in refused.output
    assert "is not JSON" in answer("{").output


@pytest.mark.usefixtures("built")
def test_a_run_that_cannot_be_kept_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.hull.packets.run", lambda *_: pytest.fail("ran in vain"))
    (tmp_path / "file").touch()
    answer = call("run", "--scheme", "hull", "--workload", "static", "--results", tmp_path / "file")
    assert answer.exit_code == 1
    assert "file" in answer.output
    assert "Traceback" not in answer.output


def test_cells_pool_all_seeds_and_show_each():
    seeds = [result(small_us=np.array([1.0, 3.0])), result(small_us=np.array([5.0]))]
    made = make_cell(("table2", 20, "hull", "fct_900B_us", "mean"), seeds)
    assert [made[name] for name in ("ours", "lowest", "highest", "seeds", "by_seed")] == [3, 2, 5, 2, "2 5"]
    assert made["published"] == 40.3
    assert made["ratio"] == pytest.approx(3 / 40.3)


def test_whom_a_pacer_chooses_is_told_in_percent_and_by_kind():
    counts = {"query_packets": 200.0, "query_associations": 10.0, "query_ended": 8.0, "large_packets": 0.0}
    counts |= {"large_associations": 0.0, "large_ended": 0.0}
    chosen = result(counts=counts)
    associated, ended = (
        make_cell(("figure4", 200, "hull", f"query_{what}_percent", "mean"), [chosen])
        for what in ("associated", "association_ended")
    )
    assert associated["ours"] == 5
    assert (ended["ours"], ended["published"]) == (80, 82)
    assert not compute_by_seed([chosen], "large_associated_percent", "mean").size


def seeds(*milliseconds):
    """A result for each seed, of queries that all take as long."""
    return [result(query_ms=np.full(3, each)) for each in milliseconds]


FOUND = {
    ("reproduction", background, scheme): seeds(*took_ms)
    for background, scheme, *took_ms in (
        (0, "tcp", 10, 10, 10), (0, "hull", 10, 10, 10), (400, "tcp", 20, 40, 10), (400, "hull", 10, 20, 5),
        (600, "tcp", 100, 50, 10), (600, "hull", 30, 20, 5),
    )
}  # fmt: skip


def made(found, metric="query_completion_ms"):
    return {(row["x"], row["than"]): row for row in compute_reductions("figure4", "x", found, metric, "p99")}


def test_a_reduction_is_paired_by_seed():
    rows = made(FOUND)
    assert list(rows) == [(0, "tcp"), (400, "tcp"), (600, "tcp"), (None, "tcp")]
    half = rows[400, "tcp"]
    assert [half[name] for name in ("percent", "low", "high", "seeds", "by_seed")] == [50, 50, 50, 3, "50 50 50"]
    assert half["published"] == pytest.approx(100 * (1 - 30.8 / 34.4), abs=0.3)
    other = rows[600, "tcp"]  # 70, 60 and 50 %: t of 2 degrees is 4.303, and 10 / sqrt(3) the error
    assert other["percent"] == pytest.approx(60)
    assert (other["low"], other["high"]) == pytest.approx((60 - 24.84, 60 + 24.84), abs=0.01)


def test_the_mean_is_of_the_loads_above_0_and_two_seeds_have_no_interval():
    mean = made(FOUND)[None, "tcp"]
    assert mean["percent"] == pytest.approx(55)
    # by seed 60, 55 and 50 %
    assert (mean["low"], mean["high"]) == pytest.approx((55 - 12.42, 55 + 12.42), abs=0.01)
    two = made({case: results[:2] for case, results in FOUND.items()})[600, "tcp"]
    assert (two["low"], two["high"]) == (None, None)


def test_what_is_no_time_and_what_is_0_has_none():
    assert made(FOUND, "servers_in_time") == {}
    still = {case: [replace(each, queue_us=np.zeros(4)) for each in results] for case, results in FOUND.items()}
    assert made(still, "switch_latency_us") == {}


def committed(name):
    """The rows of a figure or table, as they were before they were written, with their place on the x axis."""
    return [
        row | {n: float(row[n]) if row[n] else None for n in NUMBERS} | {"x": float(next(iter(row.values())))}
        for row in read_csv(PROJECT / "results" / "hull" / f"{name}.csv")
    ]


def ours(name, *which):
    """One curve, by x."""
    wanted = "conforming", *which
    return np.array(
        [c["ours"] for c in committed(name) if (c["variant"], c["scheme"], c["metric"], c["statistic"]) == wanted]
    )


def shown(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


@pytest.mark.parametrize("name", COMPARED)
def test_what_is_beside_ours_is_the_published(name):
    assert len({row["seeds"] for row in committed(name)}) == 1
    for row in committed(name):
        published = Path(name).name.removesuffix("-linux")
        known = PUBLISHED.get((published, row["x"], row["scheme"], row["metric"], row["statistic"]))
        assert row["published"] == (known if known is None else float(f"{known:.6g}"))
        assert row["lowest"] <= row["highest"]


def test_table_2_is_shown_as_it_was_measured():
    found = {(row["x"], row["scheme"], row["metric"], row["statistic"]): row for row in committed("table2")}
    lines = re.findall(r"\| (\d+) % \| `(.*?)` ", PAGE)
    assert {scheme for _, scheme in lines} >= {"tcp", "hull"}
    for load, scheme in lines:
        line = f"| {load} % | `{scheme}` "
        for metric in ("switch_latency_us", "fct_900B_us", "fct_10MB_ms"):
            for statistic in ("mean", "p99"):
                row = found[int(load), scheme, metric, statistic]
                line += f"| {shown(row['ours'])} ({shown(row['published'])}) "
        assert f"{line}|" in PAGE


def test_near_cells_are_counted_as_the_page_says():
    found = [
        count_within(committed("table2"), statistic, factor) for statistic, factor in (("mean", 1.5), ("p99", 2.0))
    ]
    near, known = (sum(counts) for counts in zip(*found, strict=True))
    assert f"Of {known} numbers, {near} are within a factor 1.5 (means) or 2 (99th percentiles)" in PAGE


DCTCPS = list(SCHEMES)[1:]
LATENCIES = [(metric, statistic) for metric in ("switch_latency_us", "fct_900B_us") for statistic in ("mean", "p99")]


@pytest.mark.parametrize(("table", "metric", "statistic", "schemes", "sign"), [
    *(("table2", metric, statistic, list(SCHEMES), -1) for metric, statistic in LATENCIES),
    ("table2", "fct_10MB_ms", "mean", DCTCPS, 1),
    *(("linux/table2-linux", metric, statistic, list(SCHEMES), -1) for metric, statistic in LATENCIES[:3]),
    *(("linux/table2-linux", *LATENCIES[3], ["tcp", scheme, "hull"], -1) for scheme in DCTCPS[:2]),
    *(("linux/table2-linux", "fct_10MB_ms", "mean", [scheme, "hull"], 1) for scheme in ("tcp", *DCTCPS[:2])),
])  # fmt: skip
def test_orders_are_as_published(table, metric, statistic, schemes, sign):
    """Latency falls from scheme to scheme, and large files pay for it: every DCTCP more than the one before it; on
    Linux, where runs are short, HULL alone. There the two others do not differ in small files' 99th percentile."""
    for before, after in pairwise(ours(table, scheme, metric, statistic) for scheme in schemes):
        assert (sign * after > sign * before).all()


@pytest.mark.parametrize(
    ("name", "metric", "statistic", "first"),
    [
        ("linux/figure1b-linux", "switch_latency_us", "mean", 0),
        ("linux/figure1b-linux", "switch_latency_us", "p99", 0),
        ("linux/figure5-linux", "query_completion_ms", "p99", 1),
        ("linux/figure5-linux", "switch_latency_us", "p99", 1),
    ],
)
def test_orders_of_figures_on_linux_are_as_published(name, metric, statistic, first):
    """At each number of flows, and beside each background but none; of the schemes that were made."""
    curves = [curve for scheme in SCHEMES if (curve := ours(name, scheme, metric, statistic)).size]
    assert len(curves) > 2
    for before, after in pairwise(curve[first:] for curve in curves):
        assert (after < before).all()
