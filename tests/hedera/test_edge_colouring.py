from __future__ import annotations

import numpy as np
import pytest

from hedera.edge_colouring import NO_COLOUR, colour_flows

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


@pytest.mark.parametrize("nodes", [2, 3, 8, 40])
@pytest.mark.parametrize("colours", [2, 3, 12])
def test_full_flows_get_links_of_their_own_up_to_the_last(nodes, colours):
    for seed in range(10):
        ends = regular(np.random.default_rng(seed), nodes, colours)
        _, room = coloured(*ends, np.full(nodes * colours, LINK), nodes, colours)
        assert (room == 0).all()


def test_any_sizes_above_half_a_link_find_room():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        ends = regular(rng, 10, 5)
        size = np.sort(rng.integers(LINK // 2 + 1, LINK + 1, 50))[::-1]
        _, room = coloured(*ends, size, 10, 5)
        assert room.min() >= 0


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
