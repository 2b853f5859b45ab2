"""Random numbers for compiled loops: splitmix64, whose state only adds a constant.

So the n-th number can be had without those before it, and draws in a loop do not wait for each other.
"""

from __future__ import annotations

import numpy as np
from numba import njit

STEP = np.uint64(0x9E3779B97F4A7C15)
"""What the state grows by from one number to the next."""


@njit(cache=True, inline="always")  # type: ignore[untyped-decorator]
def mixed(state: np.uint64) -> np.uint64:
    """The number that belongs to a state: 64 well-mixed bits."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, inline="always")  # type: ignore[untyped-decorator]
def below(bound: int, bits: np.uint64) -> np.int64:
    """A number from 0 to ``bound`` - 1 out of the upper half of 64 random bits (bias below bound / 2^32)."""
    return np.int64(((bits >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))
