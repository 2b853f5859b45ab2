"""The benchmark suite of Hedera section 6.1, scaled to any fat-tree: the patterns behind Figure 10."""

from __future__ import annotations

from topos.fattree import FatTree

SCHEMES = ("ecmp", "hedera-gff", "hedera-sa", "nonblocking")
"""The four columns of Figures 9, 10 and 11."""
AT_SCALE = ("ecmp", "hedera-gff", "hedera-sa", "hedera-clos", "nonblocking")
"""These, and a placement that shows what the network itself allows, which is not in the paper."""


def suite(tree: FatTree) -> tuple[str, ...]:
    """Names of the patterns, as in Figure 9. Its strides of 1, 2, 4 and 8 hosts at k = 4 become, for any k, one host,
    one edge switch, one pod and half of the network.

    First come patterns in which every host sends and receives one flow, the nearest receivers first; then those in
    which a host may receive many, the most local first, with more and more flows; the hotspot last.
    """
    strides = (1, tree.half, tree.num_cores, tree.num_hosts // 2)
    return (
        *(f"stride:{step}" for step in strides),
        "randbij",
        "staggered:0.5,0.3",
        "staggered:0.2,0.3",
        "random",
        "randx:2",
        "randx:3",
        "randx:4",
        "hotspot",
    )


def ports_for(hosts: int) -> int:
    """The k of the fat-tree with that many hosts; ValueError when there is none."""
    for k in range(4, 129, 2):
        if k**3 // 4 == hosts:
            return k
    raise ValueError(f"no fat-tree has {hosts} hosts; sizes are 16, 54, 128, 250, 432, ..., 1024, 8192, 27648")
