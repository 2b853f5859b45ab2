"""Real networks larger than the paper's testbed: k = 6 has 54 hosts and 45 switches, k = 8 has 128 and 80."""

import pytest

from tests.harness.real_runs import result_of
from topos.fattree import FatTree

pytestmark = pytest.mark.root


@pytest.mark.parametrize(
    ("k", "traffic", "bw", "seconds"),
    [(6, "stride:9", 2, 15), (6, "randbij", 2, 10), (8, "stride:16", 0.5, 15)],
)
def test_a_larger_network_is_built_and_carries_what_its_links_can(tmp_path, clean, k, traffic, bw, seconds):
    scheme = "hedera-sa" if traffic.startswith("stride") else "ecmp"
    result = result_of(tmp_path / "run", "-k", str(k), scheme=scheme, traffic=traffic, bw=bw, seconds=seconds)
    assert (result["verdict"], result["reasons"]) == ("ok", [])
    assert len(result["flows"]) == FatTree(k).num_hosts
    assert len(result["links"]) == 2 * len(list(FatTree(k).links()))  # both directions of every cable
    assert all(flow["mbps"] > 0 for flow in result["flows"])
    if scheme == "hedera-sa":  # no two flows share a link
        assert result["bisection_mbps"] > 0.9 * result["capacity_mbps"]
