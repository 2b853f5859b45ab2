"""The hash by which a switch spreads flows over equal-cost paths.

A mixing hash, because an affine one (a CRC) maps consecutive ports to a regular pattern of paths, and salted
per switch, because two tiers with the same hash polarise: every flow that the edge sent to one aggregation
switch would pick the same core there.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
