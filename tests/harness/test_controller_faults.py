"""Real runs in which the controller is killed or frozen."""

import pytest

from tests.harness.real_runs import LONG, result_of

pytestmark = [pytest.mark.root, pytest.mark.alone]


def run(out, scheme, seconds, *options):
    return result_of(out, "--platform", "os-ken", *options, scheme=scheme, bw=2, seconds=seconds)


@pytest.mark.parametrize("how", [pytest.param("kill", marks=LONG), "freeze"])
def test_a_controller_that_is_gone_is_replaced_and_flows_go_on(tmp_path, clean, how):
    result = run(tmp_path / "run", "hedera-gff", 12, "--disturb", f"controller:{how}@4")
    assert (result["verdict"], result["reasons"]) == ("ok", [])
    (restart,) = result["controller_restarts"]
    assert 4 <= restart["t"] < 9, "noticed within 5 s"
    assert restart["ready_t"] - restart["t"] < 5
    assert restart["adopted"] >= 32, "every flow, and what acknowledges it, is known again"
    during = [mbps for t, mbps in zip(*(result["rates"][k] for k in ("t", "total_mbps")), strict=True) if 5 < t < 10]
    assert min(during) > 0.7 * result["bisection_mbps"], "flows go on without it"
    assert any(one["t"] > restart["ready_t"] for one in result["rounds"])
