import itertools

import numpy as np

from hedera.linkstate import LinkState
from topos.fattree import FatTree
from topos.links import find_canonical_cores, find_links_between, path_links

TREE = FatTree(4)
PAIRS = [(s, d) for s, d in itertools.product(range(16), repeat=2) if s != d]


def test_canonical_cores_name_the_same_path_by_one_number():
    for s, d in PAIRS:
        for core in range(4):
            one = int(find_canonical_cores(TREE, [s], [d], [core])[0])
            assert one in TREE.path_cores(s, d)
            assert TREE.path(s, d, one) == TREE.path(s, d, core)


def test_usable_is_what_the_path_says():
    links = LinkState(TREE)
    links.fail([*find_links_between(TREE, "0_0_1", "0_2_1"), find_links_between(TREE, "4_2_1", "3_3_1")[0]])
    failed = np.flatnonzero(~links.up)
    for s, d in PAIRS:
        path = path_links(TREE, [s] * 4, [d] * 4, range(4))
        expected = ~np.isin(path, failed).any(axis=1)
        assert (links.usable_cores([s], [d])[0] == expected).all()
        assert (links.usable([s] * 4, [d] * 4, range(4)) == expected).all()


def test_host_links_argue_against_no_path():
    links = LinkState(TREE)
    links.fail([0, 5 * 16 + 4])
    assert not links.intact
    assert links.usable_cores([0], [4]).all()
