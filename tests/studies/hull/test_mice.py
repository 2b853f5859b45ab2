"""Sweeps of mice beside elephants, beside each other."""

import json
from statistics import mean

import pytest
from click.testing import CliRunner

from plots import load_sweep
from record.output import read_csv
from studies.hull.report import hull
from tests.plots.sweeps import run_document, store

HULL = {"congestion_control": "dctcp", "phantom": "0.95:2500", "pacer": "front", "time": "virtual"}


def flow(src, mbps, size=None):
    lasting = {"src": src, "dst": src + 4, "src_port": 20001, "mbps": mbps, "window_mbps": mbps}
    return lasting if size is None else lasting | {"size_bytes": size, "how": "done", "seconds": 0.1}


def sweep(folder, settings, schemes, **changes):
    """Three seeds: elephants get 5 and so many more Mb/s each, mice take 100 ms and ten times as many less."""
    for scheme, more in schemes.items():
        for trial in (1, 2, 3):
            small = {"size_class": "small", "flows": 9, "cut_off": 0, "known_share": 1.0}
            small |= {"median_s": 0.1 - more / 100 + trial / 1e3, "p99_s": 0.3}
            flows = [flow(0, 5 + more), flow(1, 5.0 + trial), flow(2, 7.7, 10_000)]
            made = run_document("stride:4 + poisson:fixed:10000,0.05", scheme, trial, settings=settings)
            store(folder, made | {"flows": flows, "completion": [small]} | changes)
    return folder


def told(*arguments):
    return CliRunner().invoke(hull, ["mice", *map(str, arguments)])


def test_elephants_and_mice_are_told_with_intervals_and_beside_cubic_s(tmp_path):
    before = sweep(tmp_path / "cubic", {}, {"ecmp": 0, "hedera-sa": 2})
    after = sweep(tmp_path / "hull", HULL, {"ecmp": 1, "hedera-sa": 3})
    answer = told(before, after, "--out", tmp_path / "out", "--json")
    assert answer.exit_code == 0, answer.output
    rows = {(row["tcp"], row["scheme"], row["metric"]): row for row in json.loads(answer.stdout)["rows"]}
    assert len(rows) == 2 * 2 * 3
    plain = rows["cubic", "ecmp", "elephants_mbps"]
    assert (plain["mean"], plain["beyond"], plain["by_seed"]) == (12, None, "11 12 13")
    assert plain["low"] == pytest.approx(12 - 4.303 / 3**0.5, abs=0.01)
    ours = rows["dctcp + phantom queues, pacers", "hedera-sa", "elephants_mbps"]
    assert (ours["mean"], ours["beyond"], ours["adjusted_p"], ours["seeds"]) == (15, 1, 0, 3)
    mice = rows["dctcp + phantom queues, pacers", "ecmp", "mice_median_ms"]
    assert (mice["mean"], mice["beyond"]) == pytest.approx((92, -10))
    assert len(read_csv(tmp_path / "out/mice.csv")) == 12
    assert (tmp_path / "out/mice.png").read_bytes().startswith(b"\x89PNG")
    assert "elephants_mbps (Mb/s)" in told(before, after, "--out", tmp_path / "out").output


def test_where_no_flow_lasts_the_large_ones_are_told_by_their_slowdown(tmp_path):
    lasting = sweep(tmp_path / "lasting", {}, {"ecmp": 0})
    classes = [
        {"size_class": name, "flows": 9, "cut_off": 0, "known_share": 1.0, "median_s": 0.2, "p99_s": 0.4}
        | {"mean_slowdown": 3.0}
        for name in ("small", "medium", "large")
    ]
    ending = {"flows": [flow(0, 7.7, 10_000)], "completion": classes}
    search = sweep(tmp_path / "search", {}, {"ecmp": 0}, **ending)
    answer = told(search, "--out", tmp_path / "out", "--json")
    rows = {row["metric"]: row["mean"] for row in json.loads(answer.stdout)["rows"]}
    times = {"medium_median_ms": 200, "mice_median_ms": 200, "mice_p99_ms": 400}
    received = {"received_mbps": pytest.approx(mean(run.bisection_mbps for run in load_sweep(search).runs))}
    assert rows == {"large_slowdown": 3, "mice_slowdown": 3} | times | received
    assert (tmp_path / "out/mice.png").read_bytes().startswith(b"\x89PNG")
    both = told(lasting, search, "--out", tmp_path / "out")
    assert both.exit_code == 2
    assert "drawn apart" in both.output


def test_runs_that_do_not_count_and_traffic_without_mice_are_told(tmp_path):
    wrong = sweep(tmp_path / "wrong", {}, {"ecmp": 0}, verdict="invalid", reasons=["slow"])
    without = sweep(tmp_path / "without", {}, {"ecmp": 0}, completion=[])
    for folder, said in (
        (wrong, "there are no valid runs"),
        (without, "has no small flows beside lasting or large ones"),
    ):
        answer = told(folder, "--out", tmp_path)
        assert answer.exit_code == 2
        assert said in answer.output
