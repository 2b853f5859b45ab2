"""Real networks other than the paper's testbed: k = 6 has 54 hosts and 45 switches, k = 8 has 128 and 80; a user's."""

import pytest

from tests.harness.real_runs import LONG, result_of
from tests.topos.test_own import EXAMPLE
from topos.fattree import FatTree

pytestmark = [pytest.mark.root, pytest.mark.alone]


def assert_whole(result, k):
    """Every flow arrived, every port of every cable was counted."""
    assert len(result["flows"]) == FatTree(k).num_hosts
    assert len(result["links"]) == 2 * len(list(FatTree(k).links()))  # both directions
    assert all(flow["mbps"] > 0 for flow in result["flows"])


@pytest.mark.parametrize(("scheme", "traffic"), [("hedera-sa", "stride:9")])
def test_54_hosts_make_a_valid_run(tmp_path, clean, scheme, traffic):
    options = ("-k", "6", "--mtu", "9000", "--queue", "25")  # large packets cost less, and a short queue settles soon
    result = result_of(tmp_path / "run", *options, scheme=scheme, traffic=traffic, bw=5, seconds=15)
    assert (result["verdict"], result["reasons"]) == ("ok", [])
    assert_whole(result, 6)


@LONG
def test_128_hosts_are_forwarded_for(tmp_path, clean):
    """A short queue lets TCP settle soon."""
    options = ("-k", "8", "--queue", "25", "--mtu", "9000")
    result = result_of(tmp_path / "run", *options, scheme="hedera-sa", traffic="stride:16", bw=0.5, seconds=15)
    assert_whole(result, 8)
    # Which share of it arrives is up to the machine; what the network and its controller do is not.
    assert [reason for reason in result["reasons"] if not reason.startswith("the machine was too slow")] == []
    assert len(result["rounds"]) >= 5, "one every 2 s"
    moved = [flow for flow in result["flows"] if len(flow["paths"]) > 1]
    assert len(moved) > 32, "hashing puts most of 128 flows on links they share"
    last = {(flow["dst"] // 16, flow["paths"][-1]["core"]) for flow in result["flows"]}
    assert len(last) > 100, "in the end a receiver has a core of its own in its pod, or nearly all have"
    assert 0.5 < result["bisection_mbps"] / result["capacity_mbps"] <= 1.01


def test_a_user_s_network_with_slower_links_makes_a_valid_run(tmp_path, clean):
    """A ring of four switches: a path has up to three entries."""
    file = tmp_path / "my_net.py"
    file.write_text(EXAMPLE)
    options = ("--topology", f"{file}:Ring", "--oversubscribe", "2")
    result = result_of(tmp_path / "run", *options, scheme="hedera-gff", traffic="stride:4", bw=10, seconds=9)
    assert (result["verdict"], result["reasons"]) == ("ok", [])
    assert all(flow["paths"] and flow["mbps"] > 0 for flow in result["flows"])
    assert all(result["links"][f"s{a}-eth3"] < 5.1 for a in range(4)), "2 hosts share 2 cables of 5 Mb/s"
    assert 0.6 < result["bisection_mbps"] / result["bound_mbps"] <= 1.02
    assert (tmp_path / "run/topology.json").exists()
