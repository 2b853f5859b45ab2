"""Spraying, sub-flows and paths planned beforehand, against what is known of them."""

import numpy as np
import pytest

from hedera.linkstate import LinkState
from hedera.maxmin import compute_max_min_rates, compute_sprayed_rates
from simulator.config import Config
from simulator.driver import Simulation, simulate
from topos.fattree import FatTree
from topos.links import num_links, path_links

RING = "ring:16,16000000"


def run(scheme, traffic=RING, engine="maxmin", **more):
    return simulate(
        Config(scheme, traffic, seconds=3.0, tick_s=0.0001, engine=engine, **{"placement": "random", "seed": 2} | more)
    )


def completion(*args, **more):
    return run(*args, **more).collective().completion_s


@pytest.mark.parametrize("engine", ["maxmin", "aimd"])
@pytest.mark.parametrize("traffic", [RING, "all-to-all:16,16000000"])
def test_spraying_is_as_good_as_non_blocking(engine, traffic):
    sprayed, control = (run(scheme, traffic, engine).collective() for scheme in ("spray", "nonblocking"))
    assert sprayed.completion_s == pytest.approx(control.completion_s, rel=1e-9 if engine == "maxmin" else 0.02)
    assert sprayed.completion_s < completion("ecmp", traffic, engine)


@pytest.mark.slow
def test_a_flow_sprayed_past_a_failed_link_fills_the_paths_that_are_left():
    # Four flows of a pod leave it by three cores instead of four.
    tree, links = FatTree(4), LinkState(FatTree(4))
    src, dst = np.arange(4, dtype=np.int32), np.array([4, 8, 12, 5], dtype=np.int32)
    assert compute_sprayed_rates(links, src, dst, 1000.0).tolist() == pytest.approx([1000.0] * 4)
    broken = [int(path_links(tree, [0], [4], [3])[0, 2])]
    links.fail(broken)
    rates = compute_sprayed_rates(links, src, dst, 1000.0)
    assert rates == pytest.approx([750.0] * 4), "three links of 1000 carry a third of four flows each"
    links.restore(broken)
    links.fail([0])
    assert compute_sprayed_rates(links, src, dst, 1000.0) == pytest.approx([0.0, *[1000.0] * 3]), "host 0 has no path"


def test_with_one_path_each_sprayed_rates_are_the_fair_ones():
    tree, links = FatTree(4), LinkState(FatTree(4))
    rng = np.random.default_rng(5)
    core = 2
    every = np.arange(tree.num_hosts)
    for other in {0, 1, 3}:  # all paths but those by way of one core
        links.fail(np.unique(path_links(tree, every, (every + 8) % 16, np.full(16, other))[:, 1:5]).tolist())
    links.restore(np.unique(path_links(tree, every, (every + 8) % 16, np.full(16, core))[:, 1:5]).tolist())
    src = rng.integers(0, 16, 30).astype(np.int32)
    dst = ((src + rng.integers(1, 16, 30)) % 16).astype(np.int32)
    expected = compute_max_min_rates(path_links(tree, src, dst, np.full(30, core)), np.full(num_links(tree), 1000.0))
    assert compute_sprayed_rates(links, src, dst, 1000.0) == pytest.approx(expected)


def test_a_failed_link_costs_spraying_time_and_a_mended_one_no_more():
    control = completion("spray")
    broken, mended = (completion("spray", fail=(f"link:0_2_1-4_1_1@0.001{until}",)) for until in ("", ":0.1"))
    assert control < mended < broken


def test_a_ring_and_an_exchange_planned_beforehand_are_as_good_as_non_blocking():
    for traffic in (RING, "halving-doubling:16,16000000", "all-to-all:16,16000000"):
        assert completion("planned", traffic) == pytest.approx(completion("nonblocking", traffic), rel=0.02)
        assert completion("ecmp", traffic) > 1.2 * completion("nonblocking", traffic)


@pytest.mark.parametrize("link", ["0_2_1-4_1_1", "0_0_1-0_2_1"])
@pytest.mark.parametrize("traffic", [RING, "halving-doubling:16,16000000", "all-to-all:16,16000000"])
def test_what_is_planned_keeps_off_a_link_that_has_failed(traffic, link):
    """Where what is left is too little as well: then two of an edge switch's flows share its other link."""
    for seed in range(1, 4):
        config = Config(
            "planned", traffic, seconds=2.0, tick_s=0.0001, engine="maxmin", placement="random", seed=seed,
            fail=(f"link:{link}@0.01",),
        )  # fmt: skip
        simulation = Simulation(config)
        found = simulation.run()
        assert found.collective().completion_s
        down = np.flatnonzero(~simulation.paths.breakage.links.up)
        later = ~found.graph.computes & (found.end_s > 0.011)
        assert later.any()
        assert not np.isin(simulation.paths.links[: len(found.graph)][later], down).any()


def test_sub_flows_shorten_what_one_hash_spoils():
    one, four = (np.mean([completion(s, seed=seed) for seed in range(1, 6)]) for s in ("ecmp", "ecmp-x4"))
    assert completion("nonblocking") < four < one
