import numpy as np
import pytest

from plots.load import load_sweep
from plots.shares import published_share
from plots.summary import by_scheme, pattern_order, summarise
from tests.plots.sweeps import broken, run_document, store, store_rates, write_sweep


def sweep_of(folder, **rates):
    """A sweep of stride:4 from the rates of each scheme's trials."""
    return summarise(store_rates(folder, {("stride:4", scheme): values for scheme, values in rates.items()}))


def test_percentiles_are_over_trials_not_over_seconds(tmp_path):
    rates = [100.0, 110.0, 90.0, 105.0, 95.0]
    summary = sweep_of(tmp_path, ecmp=rates)
    bar = summary.bars["stride:4", "ecmp"]
    assert (bar.p5_mbps, bar.median_mbps, bar.p95_mbps) == tuple(np.percentile(rates, [5, 50, 95]))
    assert (bar.valid_trials, bar.invalid_trials) == (5, 0)


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


def test_order(tmp_path):
    assert pattern_order(
        ["stride:16", "stride:4", "published:randbij0", "hotspot", "published:stag0(0.2,0.3)", "published:stride1"]
    ) == ["published:stag0(0.2,0.3)", "published:stride1", "published:randbij0", "hotspot", "stride:4", "stride:16"]
    write_sweep(tmp_path, ["stride:4"], ["zebra", "hedera-sa", "random", "nonblocking"])
    assert summarise(load_sweep(tmp_path).runs).schemes == ("nonblocking", "random", "hedera-sa", "zebra")


def rates_of(*thirds):
    """Rates that are one number in each third of 30 s."""
    total = [rate for rate in thirds for _ in range(10)]
    return {"rates": {"t": [second + 1.0 for second in range(30)], "total_mbps": total, "hosts": {}}}


def test_the_last_third_is_of_the_run_and_over_the_control_s(tmp_path):
    store(tmp_path, run_document("stride:4", "nonblocking", **rates_of(100.0, 100.0, 80.0)))
    store(tmp_path, run_document("stride:4", "hedera-sa", **rates_of(10.0, 50.0, 72.0)))
    store(tmp_path, run_document("stride:4", "ecmp", verdict="invalid", reasons=["slow"]))
    bars = summarise(load_sweep(tmp_path).runs).bars
    assert bars["stride:4", "hedera-sa"].late_median_ratio == pytest.approx(0.9)
    assert bars["stride:4", "ecmp"].late_median_ratio is None
    found = by_scheme(summarise(load_sweep(tmp_path).runs).frame)
    assert found.late_median_ratio.dropna().to_dict() == pytest.approx({"nonblocking": 1.0, "hedera-sa": 0.9})
    assert "before_median_ratio" not in found


def test_flows_that_come_and_go_have_no_last_third(tmp_path):
    flow = {"src": 0, "dst": 4, "mbps": 9.1, "size_bytes": 1000}
    for scheme in ("nonblocking", "ecmp"):
        store(tmp_path, run_document("shuffle:1000", scheme, flows=[flow], **rates_of(100.0, 10.0, 0.0)))
    assert summarise(load_sweep(tmp_path).runs).bars["shuffle:1000", "ecmp"].late_median_ratio is None


def test_before_a_failure_and_after_it(tmp_path):
    """The window from 5 to 25 s, a failure from 8.01 to 16.02 s."""
    store(tmp_path, run_document("stride:4", "nonblocking", **rates_of(100.0, 100.0, 100.0)))
    store(tmp_path, broken(traffic="stride:4", scheme="ecmp") | rates_of(90.0, 30.0, 60.0))
    bar = summarise(load_sweep(tmp_path).runs).bars["stride:4", "ecmp"]
    assert bar.before_median_ratio == pytest.approx(0.9)
    assert bar.after_median_ratio == pytest.approx((3.98 * 30 + 5 * 60) / 8.98 / 100)
    assert {"before_median_ratio", "after_median_ratio"} <= set(by_scheme(summarise(load_sweep(tmp_path).runs).frame))


def test_a_published_share_is_of_the_published_control_for_the_same_flows():
    for pattern, scheme, bar in (
        ("published:stride4", "ecmp", 3482),
        ("published:stride4", "spanning-tree", 3482),
        ("published:stride4", "hedera-sa", 11720),
        ("stride:4", "ecmp", 3482),
    ):
        assert published_share(pattern, scheme) == bar / 12465
    assert published_share("published:stride4", "random") is published_share("published:stride4 x2", "ecmp") is None
    assert published_share("stride:4", "ecmp", k=6) is None


def test_jumbo_packets_raise_the_payload_that_links_can_deliver(tmp_path):
    document = run_document("stride:4", "ecmp")
    document["spec"]["mtu"] = 9000
    store(tmp_path, document)
    assert summarise(load_sweep(tmp_path).runs).payload_capacity_mbps == 160 * 8948 / 9014
