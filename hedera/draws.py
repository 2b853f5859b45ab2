"""Random numbers for compiled loops: SplitMix64, whose n-th number depends on the seed and n alone.

So the numbers of one iteration do not depend on each other, and none need to be stored.
"""

from __future__ import annotations

import numpy as np

from hedera.compiled import compiled

STEP = np.uint64(0x9E3779B97F4A7C15)


@compiled
def bits(seed: np.uint64, number: np.uint64) -> np.uint64:
    """The ``number``-th 64 random bits of ``seed`` (Steele, Lea, Flood, OOPSLA 2014)."""
    x = seed + number * STEP
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def below(bound: int, random_bits: np.uint64) -> np.int64:
    """A whole number from 0 to ``bound`` - 1, from the upper half of the bits (bias below bound / 2^32)."""
    return np.int64(((random_bits >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@compiled
def two_below(bound: int, first: np.uint64, second: np.uint64) -> tuple[np.int64, np.int64]:
    """Two different whole numbers from 0 to ``bound`` - 1, every ordered pair as likely."""
    a = below(bound, first)
    b = below(bound - 1, second)
    return a, b + (b >= a)


@compiled
def fraction(random_bits: np.uint64) -> float:
    """A number from 0 up to, but not including, 1."""
    return np.float64(random_bits >> np.uint64(11)) * 2.0**-53
