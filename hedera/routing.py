"""Static path choice: the path of a flow before, or instead of, scheduling (Hedera sections 2.2 and 3.1).

The way up has two choices: the source's edge switch picks an aggregation switch, and that picks a core. Routings
differ only in how these two switches draw. When links have failed, a flow whose pick is broken anywhere on the way to
its destination draws again among the working ones; all others keep their paths.

Switches hash with a mixing hash, because an affine one (a CRC) maps consecutive ports to a regular pattern of paths,
and salted per switch, because two tiers with the same hash polarise: every flow that the edge sent to one aggregation
switch would pick the same core there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedera.linkstate import LinkState
from topos.arrays import Bool, Int64
from topos.fattree import FatTree
from topos.links import Cores, canonical_cores, edge_numbers
from topos.network import Network
from traffic.textfile import running_own_code, short

Hashes = NDArray[np.uint64]
Words = TypeVar("Words", Hashes, np.uint64)
STEP = np.uint64(0x9E3779B97F4A7C15)
"""What SplitMix64's state grows by from one output to the next."""


def mix(words: ArrayLike) -> Hashes:
    """Scatter 64-bit words so that every input bit changes each output bit with probability near one half.

    An output of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), a bijection. Any shape; returns uint64.
    """
    with np.errstate(over="ignore"):
        return np.asarray(scatter(np.asarray(words, dtype=np.uint64) + STEP))


def scatter(x: Words) -> Words:
    """SplitMix64's finaliser, of one word or many; `hedera.compiled` has it for its loops."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def switch_salts(seed: int, dpids: ArrayLike) -> Hashes:
    """One salt per switch, from the run's seed (any integer) and the switch's datapath id."""
    return mix(mix(seed % 2**64) ^ np.asarray(dpids, dtype=np.uint64))


def hash_five_tuple(
    salt: ArrayLike, src: ArrayLike, dst: ArrayLike, protocol: ArrayLike, src_port: ArrayLike, dst_port: ArrayLike
) -> Hashes:
    """The hash of a flow at a switch with this salt: uint64, all arguments of shape (flows,) or scalars.

    Hosts are given by number, which stands for their address: the two map one to one.
    """
    hosts = _words(src) << np.uint64(32) | _words(dst)
    ports = _words(src_port) << np.uint64(24) | _words(dst_port) << np.uint64(8) | _words(protocol)
    return mix(mix(hosts ^ _words(salt)) ^ ports)


def hash_word(salt: ArrayLike, word: ArrayLike) -> Hashes:
    """The hash of one number, a destination for example, at a switch with this salt."""
    return mix(_words(word) ^ _words(salt))


def _words(values: ArrayLike) -> Hashes:
    return np.asarray(values, dtype=np.uint64)


class FiveTuples(NamedTuple):
    """The header fields of many flows, int64 arrays of shape (flows,); hosts by number."""

    src: Int64
    dst: Int64
    src_port: Int64
    dst_port: Int64
    protocol: Int64

    def take(self, which: NDArray[np.intp]) -> FiveTuples:
        return FiveTuples(*(field[which] for field in self))


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
        return canonical_cores(self.tree, flows.src, flows.dst, self._choose(flows))

    @abstractmethod
    def _choose(self, flows: FiveTuples) -> Int64:
        """A core for each flow, int64 (flows,), with a working path where there is one."""


class _Drawn(Routing):
    def _choose(self, flows: FiveTuples) -> Int64:
        if not isinstance(self.tree, FatTree):  # the source's switch picks the whole path
            return _pick(self._draw(flows), self.links.usable_cores(flows.src, flows.dst))
        half = np.uint64(self.tree.half)
        up = (self._draw(flows) % half).astype(np.int64)
        core = up * self.tree.half + (self._draw(flows, up) % half).astype(np.int64)
        if not self.links.intact:
            broken = np.flatnonzero(~self.links.usable(flows.src, flows.dst, core))
            core[broken] = self._choose_among_working(flows.take(broken))
        return core

    def _choose_among_working(self, flows: FiveTuples) -> Int64:
        half = math.isqrt(self.tree.num_cores)
        usable = self.links.usable_cores(flows.src, flows.dst).reshape(-1, half, half)
        up = _pick(self._draw(flows), np.any(usable, axis=2))
        return up * half + _pick(self._draw(flows, up), usable[np.arange(up.size), up])

    @abstractmethod
    def _draw(self, flows: FiveTuples, up: Int64 | None = None) -> Hashes:
        """The number, uint64 (flows,), by which each source's edge switch picks an aggregation index; or the
        aggregation switch with index ``up`` in the source's pod a core."""


def _pick(draws: Hashes, allowed: Bool) -> Int64:
    """The draw's choice among n where that is allowed, else its choice among those that are.

    ``allowed`` is bool (flows, n). Where nothing is allowed the first choice stands.
    """
    choices = np.uint64(allowed.shape[1])
    first = (draws % choices).astype(np.int64)
    count = allowed.sum(axis=1)
    rank = (draws // choices % np.maximum(count, 1).astype(np.uint64)).astype(np.int64)
    second = (allowed.cumsum(axis=1) > rank[:, None]).argmax(axis=1)
    keep = allowed[np.arange(first.size), first] | (count == 0)
    return np.where(keep, first, second).astype(np.int64)


class _SaltedRouting(_Drawn):
    def __init__(self, tree: Network, seed: int = 0, links: LinkState | None = None) -> None:
        super().__init__(tree, seed, links)
        self._salts = switch_salts(seed, [tree.dpid(name) for name in tree.switches])

    def _draw(self, flows: FiveTuples, up: Int64 | None = None) -> Hashes:
        switch = edge_numbers(self.tree, flows.src)
        if up is not None:  # the aggregation switches come next, in the order of the pods
            half = math.isqrt(self.tree.num_cores)
            switch = 2 * self.tree.num_cores + switch // half * half + up
        return self._hash(self._salts[switch], flows)

    @abstractmethod
    def _hash(self, salt: Hashes, flows: FiveTuples) -> Hashes:
        """The hash of each flow at a switch with this salt."""


class Ecmp(_SaltedRouting):
    """Equal-cost multi-path: every switch hashes the flow's 5-tuple (Hedera section 2.2)."""

    def _hash(self, salt: Hashes, flows: FiveTuples) -> Hashes:
        return hash_five_tuple(salt, flows.src, flows.dst, flows.protocol, flows.src_port, flows.dst_port)


class EcmpDestination(_SaltedRouting):
    """Every switch hashes the destination address alone, as the paper says its testbed did (section 6.2)."""

    def _hash(self, salt: Hashes, flows: FiveTuples) -> Hashes:
        return hash_word(salt, flows.dst)


class EdgePairHash(_SaltedRouting):
    """Every switch hashes the pair of edge switches: all flows between two edge switches share one path.

    Some replications called this ECMP. On stride patterns it collapses to a spanning tree.
    """

    def _hash(self, salt: Hashes, flows: FiveTuples) -> Hashes:
        src, dst = edge_numbers(self.tree, flows.src), edge_numbers(self.tree, flows.dst)
        edges = int(edge_numbers(self.tree, np.arange(self.tree.num_hosts)).max()) + 1
        return hash_word(salt, src * edges + dst)


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

    def __init__(self, what: str, made: Any, tree: Network) -> None:
        super().__init__(tree)
        self._what = what
        self.made = made

    def _choose(self, flows: FiveTuples) -> Int64:
        fields = zip(*(field.tolist() for field in flows), strict=True)
        with running_own_code(self._what):
            cores = [self.made.route(NewFlow(*flow), self.links) for flow in fields]
        most = self.tree.num_cores - 1
        for core in cores:
            if not isinstance(core, (int, np.integer)) or not 0 <= core <= most:
                raise ValueError(f"{self._what}: route must answer with a core, 0 to {most}, not {short(str(core))}")
        return self.links.detour(flows.src, flows.dst, cores).astype(np.int64)
