from dataclasses import replace

import numpy as np
import pytest

from hedera.clos import NO_COLOUR, ClosColouring, _move_by_first_fit, colour_flows
from hedera.demand import estimate_demands
from hedera.linkstate import LinkState
from hedera.placement import UNIT, LargeFlows
from tests.hedera.reference import excess, flows_of, random_flows
from topos.fattree import FatTree
from topos.links import num_links, path_links


def permutation(tree, rng, share=1.0):
    """A flow from a ``share`` of all hosts, no two to one host."""
    dst = rng.permutation(tree.num_hosts)
    some = np.flatnonzero((dst != np.arange(tree.num_hosts)) & (rng.random(tree.num_hosts) < share))
    return flows_of(tree, some, dst[some], rng)


@pytest.mark.parametrize("k", [4, 6, 8, 10, 16, 24, 48])
def test_any_permutation_goes_without_a_collision(k):
    tree, rng = FatTree(k), np.random.default_rng(k)
    links = LinkState(tree)
    for share in (1, 1, 0.9) if k == 48 else (1, 1, 1, 1, 0.9, 0.5):
        flows = permutation(tree, rng, share)
        core = ClosColouring(tree).place(flows, links)
        paths = path_links(tree, flows.src, flows.dst, core)
        assert np.bincount(paths[paths >= 0]).max() == 1


@pytest.mark.parametrize("k", [4, 8])
@pytest.mark.parametrize("per_host", [2, 3, 5])
def test_so_do_equal_shares_of_every_host(k, per_host):
    tree, rng = FatTree(k), np.random.default_rng(k)
    hosts = np.arange(tree.num_hosts)
    for _ in range(5):
        several = [rng.permutation(tree.num_hosts) for _ in range(per_host)]
        src, dst = np.tile(hosts, per_host), np.concatenate(several)
        flows = flows_of(tree, src, dst, rng, np.full(src.size, 1 / per_host))
        placement = ClosColouring(tree)
        assert excess(tree, flows, placement.place(flows, LinkState(tree)), LinkState(tree)) == 0
        assert placement.energy == 0


@pytest.mark.parametrize(("k", "count", "most"), [(4, 20, 0.032), (4, 48, 0.025), (8, 300, 0.009), (16, 3000, 0.002)])
def test_mixed_sizes_exceed_little(k, count, most):
    """As a share of all demand, the worst of 20 sets of random flows."""
    tree, links = FatTree(k), LinkState(FatTree(k))
    for seed in range(1, 5):
        rng = np.random.default_rng(seed)
        for _ in range(5):
            flows, placement = random_flows(tree, count, rng), ClosColouring(tree)
            core = placement.place(flows, links)
            assert placement.energy == excess(tree, flows, core, links)
            assert placement.energy <= most * flows.demand.sum()
            assert placement.energy < excess(tree, flows, flows.hashed, links)


def test_failed_links_carry_nothing_where_there_is_another_way():
    tree = FatTree(8)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        links = LinkState(tree)
        links.fail(rng.choice(np.arange(tree.num_hosts, 5 * tree.num_hosts), 5))
        flows = permutation(tree, rng, 0.4)
        core = ClosColouring(tree).place(flows, links)
        assert links.usable(flows.src, flows.dst, core).all()
        assert excess(tree, flows, core, links) == 0


def test_first_fit_moves_those_alone_that_meet_an_exceeded_link():
    """The first two share an edge link upwards that has room for one; the third's links have room for it."""
    tree = FatTree(4)
    src, dst, core = np.array([[0, 1, 8], [4, 12, 5], [3, 3, 3]], dtype=np.int32)
    size = np.full(3, UNIT)
    room = np.full(num_links(tree), UNIT)
    for path in path_links(tree, src, dst, core):
        room[path] -= UNIT
    _move_by_first_fit(src, dst, size, core, room, tree.half)
    assert core.tolist() == [0, 3, 3]
    assert room.min() == 0


def test_flows_move_only_for_a_smaller_excess():
    """Flows come and go, so that demands change; in some periods there is something to gain, in some not."""
    tree, links = FatTree(4), LinkState(FatTree(4))
    moves = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        everything = random_flows(tree, 24, rng)
        core = everything.core.copy()
        for _ in range(10):
            on = np.flatnonzero(rng.random(core.size) < 0.9)
            src, dst = everything.src[on], everything.dst[on]
            demand = estimate_demands(src, dst, tree.num_hosts)
            flows = LargeFlows(on, src, dst, demand, core[on], core[on])
            before, placement = excess(tree, flows, flows.core, links), ClosColouring(tree)
            core[on] = placement.place(flows, links)
            moved = placement.energy < before
            assert moved or stayed(tree, flows, core[on])
            moves += moved
    assert 0 < moves < 100


def stayed(tree, flows, core):
    """Whether every flow is on the path it was on."""
    same = path_links(tree, flows.src, flows.dst, core) == path_links(tree, flows.src, flows.dst, flows.core)
    return bool(same.all())


@pytest.mark.parametrize("k", [8, 16])
def test_a_new_flow_moves_those_of_a_few_trails(k):
    """It may turn two flows out of their edge links; the trail of each passes each edge switch at most twice."""
    tree, rng, links = FatTree(k), np.random.default_rng(k), LinkState(FatTree(k))
    flows = permutation(tree, rng)
    core = ClosColouring(tree).place(flows, links)
    moved = []
    for _ in range(20):
        new = rng.integers(core.size)
        on = core.copy()
        on[new] = rng.integers(tree.num_cores)
        core = ClosColouring(tree).place(replace(flows, core=on), links)
        assert excess(tree, flows, core, links) == 0
        moved.append((core // tree.half != on // tree.half).sum())
    assert max(moved) <= 2 * (k**2 - 1)
    assert min(moved) < k


# --- one stage

LINK = 60


def coloured(sender, receiver, size, nodes, colours, wish=None, failed=()):
    """The colours, and what is left of all links, (2, nodes, colours); flows must come by falling size."""
    colour = np.full(len(size), NO_COLOUR, dtype=np.int32) if wish is None else np.array(wish, dtype=np.int32)
    up, down = (np.full(nodes * colours, LINK, dtype=np.int64) for _ in range(2))
    up[list(failed)] = -(1 << 60)
    ends = (np.asarray(end, dtype=np.int32) for end in (sender, receiver))
    sizes = np.asarray(size, dtype=np.int64)
    colour_flows(*ends, sizes, (2 * sizes > LINK).sum(), colour, up, down, colours)
    return colour, np.stack([up, down]).reshape(2, nodes, colours)


def regular(rng, nodes, degree):
    """Every node sends and receives ``degree`` flows; pairs repeat."""
    sender = np.repeat(np.arange(nodes), degree)
    return sender, rng.permutation(sender)


@pytest.mark.slow
def test_the_books_are_right_whatever_comes():
    """Mixed sizes, too many of them, wishes, failed links: what is left is what was there less what was given."""
    stuck = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        size = np.sort(rng.integers(0, LINK + 1, 120))[::-1]
        ends = rng.integers(8, size=(2, 120))
        failed = rng.integers(8 * 4, size=seed % 4)
        colour, room = coloured(*ends, size, 8, 4, rng.integers(-1, 4, 120), failed)
        assert 0 <= colour.min() <= colour.max() < 4
        left = np.full((2, 8, 4), LINK, dtype=np.int64)
        left[0].reshape(-1)[failed] = -(1 << 60)
        for side in (0, 1):
            np.subtract.at(left[side], (ends[side], colour), size)
        assert (room == left).all()
        stuck += (room < 0).any()
    assert stuck  # trails were undone, too


def test_wishes_that_fit_together_are_granted():
    rng = np.random.default_rng(1)
    ends = regular(rng, 12, 6)
    first, _ = coloured(*ends, np.full(72, LINK), 12, 6)
    again, _ = coloured(*ends, np.full(72, LINK), 12, 6, first)
    assert (again == first).all()


def test_a_wish_is_granted_where_there_is_more_room_than_it_takes():
    colour, _ = coloured([0, 0], [1, 1], [40, 10], 2, 3, wish=[2, 2])
    assert colour.tolist() == [2, 2]
