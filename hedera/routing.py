"""Static path choice: the path of a flow before, or instead of, scheduling (Hedera sections 2.2 and 3.1).

The way up has two choices: the source's edge switch picks an aggregation switch, and that picks a core. Routings
differ only in how these two switches draw. When links have failed, a flow whose pick is broken anywhere on the way to
its destination draws again among the working ones; all others keep their paths.

By default switches hash with a mixing hash, because an affine one (a CRC) maps consecutive ports to a regular pattern
of paths, and salted per switch, because two tiers with the same hash polarise: every flow that the edge sent to one
aggregation switch picks the same core there. Switches that are bought often do both (`hedera.hashes`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedera.hash_functions import FUNCTIONS, Hashes, draw_switch_salts, pick
from hedera.hashes import SALTED, Hash
from hedera.linkstate import LinkState
from topos.arrays import Bool, Int64
from topos.fattree import FatTree
from topos.links import Cores, find_canonical_cores, find_edge_numbers
from topos.network import Network
from traffic.user_files import quote_shortly, running_own_code


class FiveTuples(NamedTuple):
    """The header fields of many flows, int64 arrays of shape (flows,); hosts by number."""

    src: Int64
    dst: Int64
    src_port: Int64
    dst_port: Int64
    protocol: Int64

    def take(self, positions: NDArray[np.intp]) -> FiveTuples:
        return FiveTuples(*(field[positions] for field in self))


class Routing(ABC):
    """A static routing. ``links`` holds what has failed; share it with the code that detects
    failures."""

    def __init__(self, tree: Network, seed: int = 0, links: LinkState | None = None) -> None:
        self.tree = tree
        self.seed = seed
        self.links = LinkState(tree) if links is None else links

    def cores(
        self, src: ArrayLike, dst: ArrayLike, src_port: ArrayLike, dst_port: ArrayLike, protocol: ArrayLike = 6
    ) -> Cores:
        """The core of each flow's path, int32 (flows,), in the canonical numbering of `FatTree.path_cores`.

        ``src`` and ``dst`` are host numbers; all arguments have shape (flows,), or are scalars that are
        meant for every flow. A pair that has no working path left gets the path it would have had.
        """
        fields = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(x, dtype=np.int64)) for x in (src, dst, src_port, dst_port, protocol))
        )
        flows = FiveTuples(*fields)
        return find_canonical_cores(self.tree, flows.src, flows.dst, self._choose(flows))

    @abstractmethod
    def _choose(self, flows: FiveTuples) -> Int64:
        """A core for each flow, int64 (flows,), with a working path where there is one."""


class _Drawn(Routing):
    def _choose(self, flows: FiveTuples) -> Int64:
        if not isinstance(self.tree, FatTree):  # the source's switch picks the whole path
            return self._pick(self._draw(flows), self.links.usable_cores(flows.src, flows.dst))
        half = self.tree.half
        up = self._choose_first(self._draw(flows), half).astype(np.int64)
        core = up * half + self._choose_first(self._draw(flows, up), half).astype(np.int64)
        if not self.links.intact:
            broken = np.flatnonzero(~self.links.usable(flows.src, flows.dst, core))
            core[broken] = self._choose_among_working(flows.take(broken))
        return core

    def _choose_among_working(self, flows: FiveTuples) -> Int64:
        half = math.isqrt(self.tree.num_cores)
        usable = self.links.usable_cores(flows.src, flows.dst).reshape(-1, half, half)
        up = self._pick(self._draw(flows), np.any(usable, axis=2))
        return up * half + self._pick(self._draw(flows, up), usable[np.arange(up.size), up])

    def _pick(self, draws: Hashes, allowed: Bool) -> Int64:
        """The draw's choice among n where that is allowed, else its choice among those that are.

        ``allowed`` is bool (flows, n). Where nothing is allowed the first choice stands.
        """
        choices = allowed.shape[1]
        first = self._choose_first(draws, choices).astype(np.int64)
        count = allowed.sum(axis=1)
        rank = (draws // np.uint64(choices) % np.maximum(count, 1).astype(np.uint64)).astype(np.int64)
        second = (allowed.cumsum(axis=1) > rank[:, None]).argmax(axis=1)
        keep = allowed[np.arange(first.size), first] | (count == 0)
        return np.where(keep, first, second).astype(np.int64)

    def _choose_first(self, draws: Hashes, choices: int) -> Hashes:
        """The choice of each draw, below ``choices``, where all are allowed."""
        return draws % np.uint64(choices)

    @abstractmethod
    def _draw(self, flows: FiveTuples, up: Int64 | None = None) -> Hashes:
        """The number, uint64 (flows,), by which each source's edge switch picks an aggregation index; or the
        aggregation switch with index ``up`` in the source's pod a core."""


class Ecmp(_Drawn):
    """Equal-cost multi-path: every switch hashes the flow (Hedera section 2.2), by default its 5-tuple with a salt of
    its own. A hash that has no salt is the same on all switches; which one, of ours, is in the run's seed."""

    def __init__(self, tree: Network, seed: int = 0, links: LinkState | None = None, hash: Hash = SALTED) -> None:
        super().__init__(tree, seed, links)
        self.hash = hash
        dpids = [tree.dpid(name) for name in tree.switches]
        self._salts = draw_switch_salts(seed, dpids if hash.salted else np.zeros(len(dpids)))

    def _draw(self, flows: FiveTuples, up: Int64 | None = None) -> Hashes:
        switch = find_edge_numbers(self.tree, flows.src)
        if up is not None:  # the aggregation switches come next, in the order of the pods
            half = math.isqrt(self.tree.num_cores)
            switch = 2 * self.tree.num_cores + switch // half * half + up
        return FUNCTIONS[self.hash.function](self.tree, self.hash.fields, flows, self._salts[switch])

    def _choose_first(self, draws: Hashes, choices: int) -> Hashes:
        return pick(self.hash.function, draws, choices)


class SpanningTree(_Drawn):
    """All flows by way of core 0, or of the first core that works."""

    def _draw(self, flows: FiveTuples, up: Int64 | None = None) -> Hashes:
        return np.zeros(flows.src.size, dtype=np.uint64)


class RandomPath(Ecmp):
    """A path drawn at random for each flow: from the seed and its 5-tuple, by salts that have nothing to do with those
    of ECMP. So it is the same on every platform, whichever flow's packet comes first."""

    def __init__(self, tree: Network, seed: int = 0, links: LinkState | None = None) -> None:
        super().__init__(tree, ~seed, links)


class NewFlow(NamedTuple):
    """The header fields of one flow; hosts by number."""

    src: int
    dst: int
    src_port: int
    dst_port: int
    protocol: int


class OwnRouting(Routing):
    """What a user's class makes, whose ``route(flow, links)`` gives a `NewFlow`'s core: once for each, in the order
    they come, and again when its path has failed. ValueError, one sentence, where it fails or gives none."""

    def __init__(self, subject: str, made: Any, tree: Network) -> None:
        super().__init__(tree)
        self._subject = subject
        self.made = made

    def _choose(self, flows: FiveTuples) -> Int64:
        fields = zip(*(field.tolist() for field in flows), strict=True)
        with running_own_code(self._subject):
            cores = [self.made.route(NewFlow(*flow), self.links) for flow in fields]
        most = self.tree.num_cores - 1
        for core in cores:
            if not isinstance(core, (int, np.integer)) or not 0 <= core <= most:
                raise ValueError(
                    f"{self._subject}: route must answer with a core, 0 to {most}, not {quote_shortly(str(core))}"
                )
        return self.links.detour(flows.src, flows.dst, cores).astype(np.int64)
