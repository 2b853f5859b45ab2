import csv
import io

import pytest

from plots.stored_sweep import load_sweep
from plots.summary import COLUMNS, average_by_scheme, format_csv, show, summarise
from tests.plots.sweeps import WIRE, broken, failed, run_document, store, store_rates


def sweep_of(folder, **rates):
    """A sweep of stride:4 from the rates of each scheme's trials."""
    return summarise(store_rates(folder, {("stride:4", scheme): values for scheme, values in rates.items()}))


def test_invalid_trials_are_counted_and_never_averaged_in(tmp_path):
    summary = sweep_of(tmp_path, ecmp=[100.0, None, 104.0], random=[None])
    bar = summary.bars["stride:4", "ecmp"]
    assert (bar.valid_trials, bar.invalid_trials, bar.median_mbps, bar.p5_mbps) == (2, 1, 102.0, pytest.approx(100.2))
    assert bar.reasons == "reason 2"
    bar = summary.bars["stride:4", "random"]
    assert (bar.valid_trials, bar.invalid_trials, bar.invalid_median_mbps) == (0, 1, 11.0)
    assert bar.median_mbps is bar.median_ratio is None


def test_each_trial_is_compared_to_the_control_of_its_own_trial(tmp_path):
    summary = sweep_of(tmp_path, nonblocking=[100.0, 150.0, None], ecmp=[50.0, 75.0, 149.0])
    bar = summary.bars["stride:4", "ecmp"]
    assert (bar.p5_ratio, bar.median_ratio, bar.p95_ratio) == (0.5, 0.5, 0.5)  # medians would give 0.6
    assert bar.median_mbps == 75.0
    assert summary.bars["stride:4", "nonblocking"].median_ratio == 1.0


def rates_of(*thirds):
    """Rates that are one number in each third of 30 s."""
    total = [rate for rate in thirds for _ in range(10)]
    return {"rates": {"t": [second + 1.0 for second in range(30)], "total_mbps": total, "hosts": {}}}


def test_the_last_third_is_of_the_run_and_over_the_control_s(tmp_path):
    store(tmp_path, run_document("stride:4", "nonblocking", **rates_of(100.0, 100.0, 80.0)))
    store(tmp_path, run_document("stride:4", "hedera-sa", **rates_of(10.0, 50.0, 72.0)))
    store(tmp_path, run_document("stride:4", "ecmp", verdict="invalid", reasons=["slow"]))
    bars = summarise(load_sweep(tmp_path)).bars
    assert bars["stride:4", "hedera-sa"].late_median_ratio == pytest.approx(0.9)
    assert bars["stride:4", "ecmp"].late_median_ratio is None
    found = average_by_scheme(summarise(load_sweep(tmp_path)).frame)
    assert found.late_median_ratio.dropna().to_dict() == pytest.approx({"nonblocking": 1.0, "hedera-sa": 0.9})
    assert "before_median_ratio" not in found


def test_before_a_failure_and_after_it(tmp_path):
    """The window from 5 to 25 s, a failure from 8.01 to 16.02 s."""
    store(tmp_path, run_document("stride:4", "nonblocking", **rates_of(100.0, 100.0, 100.0)))
    store(tmp_path, broken(traffic="stride:4", scheme="ecmp") | rates_of(90.0, 30.0, 60.0))
    bar = summarise(load_sweep(tmp_path)).bars["stride:4", "ecmp"]
    assert bar.before_median_ratio == pytest.approx(0.9)
    assert bar.after_median_ratio == pytest.approx((3.98 * 30 + 5 * 60) / 8.98 / 100)
    assert {"before_median_ratio", "after_median_ratio"} <= set(
        average_by_scheme(summarise(load_sweep(tmp_path)).frame)
    )


def test_jumbo_packets_raise_the_payload_that_links_can_deliver(tmp_path):
    store(tmp_path, run_document("stride:4", "ecmp", settings={"mtu": 9000}))
    assert summarise(load_sweep(tmp_path)).payload_capacity_mbps == 160 * 8948 / 9014


def small_sweep(folder):
    for trial, rate in enumerate((150.0, 152.0, 154.0), 1):
        store(folder, run_document("published:stride4", "nonblocking", trial, bisection_mbps=rate))
        verdict = {"verdict": "invalid", "reasons": ["CPU, too busy"]} if trial == 2 else {}
        store(folder, run_document("published:stride4", "ecmp", trial, bisection_mbps=rate / 2, **verdict))
    store(folder, failed(traffic="file:/tmp/[a]|b.csv", scheme="ecmp", trial=1))
    return load_sweep(folder)


def test_the_tables_are_in_payload_as_the_picture_and_names_are_no_markup(tmp_path):
    rows = [line.split() for line in show(small_sweep(tmp_path)).splitlines()]
    half = f"{76 / WIRE:.1f}"
    assert ["stride4", f"{152 / WIRE:.1f}", half, "50%", "(2", "of", "3),", "all", half, "50%"] in rows
    assert ["file:[a]|b.csv", "-", "INVALID"] in rows
    assert ["mean", "share", "100.0%", "(1)", "50.0%", "(1)"] in rows
    (tmp_path / "empty").mkdir()
    assert show(load_sweep(tmp_path / "empty")) == "no runs"


def test_all_tries_are_told_only_where_some_were_left_out(tmp_path):
    """Of Hedera's two trials one was left out at first, and counts at the second try, the other is not judged."""
    for trial in (1, 2):
        store(tmp_path, run_document("stride:4", "nonblocking", trial, bisection_mbps=100.0))
    store(tmp_path, run_document("stride:4", "hedera-gff", 1, bisection_mbps=96.0), attempt="-again")
    sweep = load_sweep(tmp_path)
    assert "do not count" not in show(sweep)
    slow = {"verdict": "invalid", "reasons": ["slow"]}
    store(tmp_path, run_document("stride:4", "hedera-gff", 1, bisection_mbps=80.0, **slow))
    short = {"verdict": "not judged", "reasons": ["too short"]}
    store(tmp_path, run_document("stride:4", "hedera-gff", 2, bisection_mbps=88.0, **short))
    sweep = load_sweep(tmp_path)
    assert show(sweep).splitlines()[2].split()[3:] == ["96%", "(1", "of", "2),", "all", "82.4", "88%"]
    bar = list(csv.DictReader(io.StringIO(format_csv(sweep))))[1]
    counts = [bar[name] for name in ("tries", "left_out_tries", "not_judged_trials", "invalid_trials")]
    assert counts == ["3", "2", "1", "0"]
    medians = [bar[name] for name in ("median_ratio", "all_median_ratio", "all_median_mbps")]
    assert medians == ["0.9600", "0.8800", "88.0000"]


def test_csv_holds_every_number(tmp_path):
    rows = list(csv.DictReader(io.StringIO(format_csv(small_sweep(tmp_path)))))
    assert tuple(rows[0]) == COLUMNS
    assert (rows[0]["capacity_mbps"], float(rows[0]["payload_capacity_mbps"])) == ("160", round(160 * 1448 / 1514, 4))
    assert float(rows[0]["median_payload_mbps"]) == round(152 / WIRE, 4)
    ecmp = rows[1]
    assert list(ecmp.values())[:4] == ["published:stride4", "ecmp", "2", "1"]
    assert (ecmp["median_mbps"], ecmp["median_ratio"]) == ("76.0000", "0.5000")
    assert (ecmp["invalid_median_mbps"], ecmp["reasons"]) == ("76.0000", "CPU, too busy")
    assert (rows[2]["median_mbps"], rows[2]["median_ratio"]) == ("", "")
    (tmp_path / "empty").mkdir()
    assert list(csv.DictReader(io.StringIO(format_csv(load_sweep(tmp_path / "empty"))))) == []


def test_flows_that_come_and_go_have_no_last_third(tmp_path):
    flow = {"src": 0, "dst": 4, "mbps": 9.1, "size_bytes": 1000}
    for scheme in ("nonblocking", "ecmp"):
        store(tmp_path, run_document("shuffle:1000", scheme, flows=[flow], **rates_of(100.0, 10.0, 0.0)))
    assert summarise(load_sweep(tmp_path)).bars["shuffle:1000", "ecmp"].late_median_ratio is None
