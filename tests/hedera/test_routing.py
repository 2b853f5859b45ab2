from functools import partial

import numpy as np
import pytest

from hedera.hashes import HASHES, parse_hash
from hedera.linkstate import LinkState
from hedera.routing import Ecmp, RandomPath, SpanningTree
from topos.fattree import FatTree
from topos.links import find_links_between, list_links_of_switch

TREE = FatTree(4)
EVERY_HASH = [f"{name}:{fields}" for name, function in HASHES.items() for fields in function.fields]


def by(hash):
    return partial(Ecmp, hash=parse_hash(hash))


ROUTINGS = [*map(by, EVERY_HASH), SpanningTree, RandomPath]
HOSTS = np.arange(16)
STRIDE = (HOSTS, (HOSTS + 4) % 16)


def paths_used(core):
    """The part of stride(4)'s ideal that is reached when each source pod's flows fill as many core links."""
    return float(np.mean([np.unique(core[pod * 4 : pod * 4 + 4]).size / 4 for pod in range(4)]))


@pytest.mark.parametrize("routing", ROUTINGS)
def test_every_pair_gets_a_path_of_its_own_numbering(routing):
    src, dst = (x.ravel() for x in np.meshgrid(HOSTS, HOSTS))
    src, dst = src[src != dst], dst[src != dst]
    core = routing(TREE, 1).cores(src, dst, 40000, 5001)
    assert core.dtype == np.int32
    assert core.shape == src.shape
    assert all(c in TREE.path_cores(s, d) for s, d, c in zip(src.tolist(), dst.tolist(), core, strict=True))


def test_ecmp_looks_at_ports_and_ecmp_dst_does_not():
    src, dst, ports = np.full(200, 0), np.full(200, 4), np.arange(200)
    assert np.unique(Ecmp(TREE, 1).cores(src, dst, ports, 5001)).size == 4
    assert np.unique(by("salted:destination")(TREE, 1).cores(src, dst, ports, 5001)).size == 1


def test_consecutive_ports_do_not_fall_into_a_pattern():
    """A CRC over consecutive ports gives stride exactly half of the ideal for every base port; a hash varies."""
    ports = [20000 + base + HOSTS for base in range(0, 4000, 16)]
    used = [paths_used(Ecmp(TREE, 1).cores(*STRIDE, p, 5001)) for p in ports]
    assert np.std(used) > 0.05
    expected = 1 - (3 / 4) ** 4  # of 4 flows over 4 cores
    assert np.mean(used) == pytest.approx(expected, abs=0.02)


def test_the_two_tiers_are_independent():
    """With one salt for both, all flows that share an aggregation index would share the core index too."""
    src = np.zeros(4000, dtype=int)
    core = Ecmp(TREE, 2).cores(src, src + 4, np.arange(4000), 5001)
    assert np.bincount(core, minlength=4) == pytest.approx(np.full(4, 1000), abs=120)


SALTED = [hash for hash in EVERY_HASH if parse_hash(hash).salted]


@pytest.mark.parametrize("hash", EVERY_HASH)
@pytest.mark.parametrize("k", [4, 8])
def test_tiers_choose_alike_where_no_switch_has_a_salt(hash, k):
    """Then what an edge switch sends up by its i-th port the next one sends up by its i-th port: k/2 cores are used."""
    tree, ends = FatTree(k), np.random.default_rng(5).integers(k**3 // 4, size=(2, 3000))
    between_pods = ends[0] // tree.num_cores != ends[1] // tree.num_cores
    src, dst = ends[:, between_pods]
    core = by(hash)(tree, 1).cores(src, dst, 20000 + np.arange(src.size), 5001)
    alike = core // tree.half == core % tree.half
    if hash in SALTED:
        assert alike.mean() == pytest.approx(2 / k, abs=0.15)
        assert np.unique(core).size == tree.num_cores
    else:
        assert alike.all()
        # CRC-16 of a destination alone finds two of four ports.
        assert np.unique(core).size == (2 if hash == "crc16:destination" else tree.half)


def test_which_hash_all_switches_have_is_drawn_by_the_seed():
    polarized = [by("unsalted:destination")(TREE, seed).cores(*STRIDE, 40000, 5001).tolist() for seed in range(20)]
    assert len({tuple(core) for core in polarized}) > 10
    fixed = [by("crc32:destination")(TREE, seed).cores(*STRIDE, 40000, 5001).tolist() for seed in range(20)]
    assert len({tuple(core) for core in fixed}) == 1


def test_edge_pair_hash_puts_neighbours_on_one_path():
    """What some replications called ECMP: on stride, both flows of an edge switch always collide."""
    for seed in range(20):
        core = by("salted:edge-pair")(TREE, seed).cores(*STRIDE, 40000 + HOSTS, 5001)
        assert (core[0::2] == core[1::2]).all()


def test_random_is_drawn_by_flow_whatever_their_order():
    routing, order = RandomPath(TREE, 1), np.random.default_rng(0).permutation(HOSTS.size)
    core = routing.cores(*STRIDE, 40000 + HOSTS, 5001)
    again = [routing.cores(STRIDE[0][i], STRIDE[1][i], 40000 + HOSTS[i], 5001)[0] for i in order]
    assert core[order].tolist() == again
    assert core.tolist() != Ecmp(TREE, 1).cores(*STRIDE, 40000 + HOSTS, 5001).tolist()
    assert core.tolist() != RandomPath(TREE, 2).cores(*STRIDE, 40000 + HOSTS, 5001).tolist()


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("where", ["0_0_1 0_2_1", "0_2_1 4_1_1", "4_1_1 1_2_1", "1_2_1 1_0_1"])
def test_failed_links_are_avoided_up_and_down(routing, where):
    links = LinkState(TREE)
    chosen = routing(TREE, 1, links)
    src, dst = np.repeat(HOSTS[:4], 50), np.tile([4, 5], 100)
    ports = np.arange(200)
    before = chosen.cores(src, dst, ports, 5001)
    links.fail(find_links_between(TREE, *where.split()))
    after = chosen.cores(src, dst, ports, 5001)
    assert links.usable(src, dst, after).all()
    untouched = links.usable(src, dst, before)
    assert (before[untouched] == after[untouched]).all()
    links.restore(find_links_between(TREE, *where.split()))
    assert (chosen.cores(src, dst, ports, 5001) == before).all()
    links.fail(range(16, 80))
    assert (chosen.cores(src, dst, ports, 5001) == before).all(), "no path is left"


def test_flows_of_a_failed_switch_spread_over_the_rest():
    links = LinkState(TREE)
    routing = Ecmp(TREE, 1, links)
    links.fail(list_links_of_switch(TREE, "4_1_1"))
    zeros = np.zeros(3000, dtype=int)
    core = routing.cores(zeros, zeros + 4, np.arange(3000), 5001)
    # The aggregation switch that loses one of its two cores sends all it gets by the other one.
    assert np.bincount(core, minlength=4) == pytest.approx([0, 1500, 750, 750], abs=120)
