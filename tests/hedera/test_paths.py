"""The compiled numbers of links are those of `topos.links`."""

import itertools

import pytest

from hedera.paths import choice_links
from topos.fattree import FatTree
from topos.links import path_links


@pytest.mark.parametrize("k", [4, 6])
def test_the_links_that_a_core_decides(k):
    tree = FatTree(k)
    for src, dst, core in itertools.product(range(tree.num_hosts), range(tree.num_hosts), range(tree.num_cores)):
        if src != dst and (src + dst + core) % 7 == 0:
            assert (
                list(choice_links(src, dst, core, tree.half)) == path_links(tree, [src], [dst], [core])[0, 1:5].tolist()
            )
