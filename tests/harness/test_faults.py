"""Real runs in which something breaks: cables, switches, or the controller."""

import pytest

from tests.harness.real_runs import LONG, result_of

pytestmark = [pytest.mark.root, pytest.mark.alone]


def run(out, scheme, seconds, *options, bw=5):
    return result_of(out, "--platform", "os-ken", *options, scheme=scheme, bw=bw, seconds=seconds)


@pytest.mark.real  # in a guest nothing is slow but TCP, which this run's rules of speed take for the machine
@pytest.mark.parametrize("scheme", ["hedera-gff"])
def test_flows_leave_a_switch_that_fails_and_the_run_counts(tmp_path, clean, scheme):
    # Long enough for the second or two that TCP needs to recover to be a small part of the run.
    result = run(tmp_path / "run", scheme, 20, "--fail", "switch:4_1_1@6:12")
    assert (result["verdict"], result["reasons"]) == ("ok", [])
    assert result["spec"]["fail"] == ["switch:4_1_1@6:12"]
    broken, mended = result["failures"]
    assert len(broken["broken"]) == len(mended["mended"]) == 4
    assert 6 <= broken["t"] < 6.5
    assert 12 <= mended["t"] < 12.5
    assert broken["affected"] > 0
    assert broken["cut_off"] == 0
    assert 0 <= broken["rerouted_s"] < 1, "by the controller's log"
    assert broken["moving_s"] < 4, "by iperf, to the second"
    before, during, after = result["phases"]
    assert before["best_mbps"] == after["best_mbps"] == 80
    assert during["best_mbps"] == pytest.approx(60)
    assert 0.5 * during["maxmin_mbps"] < during["mbps"] <= 1.03 * during["best_mbps"]
    cut = 6.0
    for flow in result["flows"]:
        on = [path["core"] for path in flow["paths"] if path["t"] < cut]
        later = [path["core"] for path in flow["paths"] if broken["t"] <= path["t"] < mended["t"]]
        if on[-1] == 0:
            assert later, "a flow that was on the core that failed is moved"
        assert 0 not in later


def test_a_host_without_any_path_is_not_blamed_and_comes_back(tmp_path, clean):
    result = run(tmp_path / "run", "ecmp", 10, "--fail", "switch:0_0_1@4:6")
    assert (result["verdict"], result["reasons"]) == ("ok", [])
    broken, mended = result["failures"]
    assert broken["affected"] == broken["cut_off"] == 4
    assert broken["rerouted_s"] is None
    assert mended["moving_s"] is not None
    assert [phase["best_mbps"] for phase in result["phases"]] == pytest.approx([80, 60, 80])


@pytest.mark.parametrize("how", [pytest.param("kill", marks=LONG), "freeze"])
def test_a_controller_that_is_gone_is_replaced_and_flows_go_on(tmp_path, clean, how):
    result = run(tmp_path / "run", "hedera-gff", 20, "--disturb", f"controller:{how}@4")
    assert (result["verdict"], result["reasons"]) == ("ok", [])
    (restart,) = result["controller_restarts"]
    assert 4 <= restart["t"] < 9, "noticed within 5 s"
    assert restart["ready_t"] - restart["t"] < 5
    assert restart["adopted"] >= 32, "every flow, and what acknowledges it, is known again"
    during = [mbps for t, mbps in zip(*(result["rates"][k] for k in ("t", "total_mbps")), strict=True) if 5 < t < 10]
    assert min(during) > 0.7 * result["bisection_mbps"], "flows go on without it"
    assert any(one["t"] > restart["ready_t"] for one in result["rounds"])
