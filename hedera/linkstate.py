"""Which links work, and so which paths may be used (Hedera section 4.6)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from topos.arrays import Bool, Int64
from topos.links import NO_LINK, Cores, find_canonical_cores, link_rates, num_links, path_links
from topos.network import Network, PlannedNetwork

UNIT = 1 << 40
"""The capacity of a host's link in the whole-number units of placement."""


class LinkState:
    """Which directed links of a network work; all do at first.

    A path here is the part that the choice of a core decides, from the source's edge switch to the destination's.
    A failed host link breaks all paths of the host alike, so it says nothing about the choice.
    """

    def __init__(self, tree: Network) -> None:
        self.tree = tree
        self.up: Bool = np.ones(num_links(tree), dtype=np.bool_)
        """bool (links,): which directed links work, by the numbers of `topos.links`."""
        self.capacity: Int64 = np.floor(link_rates(tree) * UNIT).astype(np.int64)
        """int64 (links,): what each carries while it works, in `UNIT`."""
        self.intact = True
        """Whether every link works."""

    def fail(self, links: Iterable[int]) -> None:
        """Take directed links out of service."""
        self._set(links, False)

    def restore(self, links: Iterable[int]) -> None:
        """Put directed links back into service."""
        self._set(links, True)

    def _set(self, links: Iterable[int], up: bool) -> None:
        numbers = list(links)
        self.up[numbers] = up
        self.intact = bool(self.up.all())

    def usable(self, src: ArrayLike, dst: ArrayLike, core: ArrayLike) -> Bool:
        """Whether the path by way of ``core`` works from edge to edge, up and down: bool (flows,)."""
        middle = path_links(self.tree, src, dst, core)[:, 1:-1]
        return np.asarray((self.up[middle] | (middle == NO_LINK)).all(axis=1))

    def usable_cores(self, src: ArrayLike, dst: ArrayLike) -> Bool:
        """Which cores each flow may use: bool (flows, cores)."""
        s, d = np.asarray(src), np.asarray(dst)
        cores = self.tree.num_cores
        each = np.tile(np.arange(cores), s.size)
        usable = self.usable(np.repeat(s, cores), np.repeat(d, cores), each).reshape(s.size, cores)
        if isinstance(self.tree, PlannedNetwork):  # each path once, for it may have more numbers than another
            usable &= np.arange(cores) < self.tree.count[self.tree.edge[s], self.tree.edge[d]][:, None]
        return usable

    def carries(self, src: ArrayLike, dst: ArrayLike, core: ArrayLike) -> Bool:
        """Whether the whole path by way of ``core`` works, the hosts' own links included: bool (flows,)."""
        links = path_links(self.tree, src, dst, core)
        return np.asarray((self.up[links] | (links == NO_LINK)).all(axis=1))

    def connected(self, src: ArrayLike, dst: ArrayLike) -> Bool:
        """Whether there is any path from host to host that works: bool (flows,)."""
        ends = path_links(self.tree, src, dst, 0)[:, [0, 5]]
        return np.asarray(self.up[ends].all(axis=1) & self.usable_cores(src, dst).any(axis=1))

    def detour(self, src: ArrayLike, dst: ArrayLike, core: ArrayLike) -> Cores:
        """Each flow's core, moved on to the next usable one (cyclically) when its path is broken.

        A pair without any working path keeps the core it has. int32 (flows,).
        """
        s, d = np.asarray(src), np.asarray(dst)
        detoured = np.array(core, dtype=np.int32)
        if self.intact:
            return detoured
        broken = np.flatnonzero(~self.usable(s, d, detoured))
        if broken.size:
            usable = self.usable_cores(s[broken], d[broken])
            # Cyclically from where the flow was, not from core 0, which all broken flows would otherwise move to.
            order = (detoured[broken, None] + np.arange(self.tree.num_cores)) % self.tree.num_cores
            step = np.take_along_axis(usable, order, axis=1).argmax(axis=1)
            detoured[broken] = order[np.arange(broken.size), step]
        return find_canonical_cores(self.tree, s, d, detoured)
