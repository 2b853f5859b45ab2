"""Real runs in which the controller is killed or frozen."""

import json
import subprocess
import sys

import pytest

from tests.harness.test_experiment import clean, footprint  # noqa: F401  (a fixture)

pytestmark = pytest.mark.root

HEDERA = [sys.executable, "-c", "from harness.cli import main; main()"]


def run(out, scheme, seconds, *options):
    words = ["run", "--scheme", scheme, "--traffic", "stride:4", "--bw", "2", "--seconds", str(seconds)]
    words += ["--platform", "os-ken", "--out", str(out), "--json", *options]
    done = subprocess.run([*HEDERA, *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("how", ["kill", "freeze"])
def test_a_controller_that_is_gone_is_replaced_and_flows_go_on(tmp_path, clean, how):  # noqa: F811
    result = run(tmp_path / "run", "hedera-gff", 12, "--disturb", f"controller:{how}@4")
    assert (result["verdict"], result["reasons"]) == ("ok", [])
    (restart,) = result["controller_restarts"]
    assert 4 <= restart["t"] < 9, "noticed within 5 s"
    assert restart["ready_t"] - restart["t"] < 5
    assert restart["adopted"] >= 32, "every flow, and what acknowledges it, is known again"
    during = [
        mbps for t, mbps in zip(*(result["rates"][k] for k in ("t", "total_mbps")), strict=True) if 5 < t < 10
    ]
    assert min(during) > 0.7 * result["bisection_mbps"], "flows go on without it"
    assert any(one["t"] > restart["ready_t"] for one in result["rounds"])
