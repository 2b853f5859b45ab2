"""The streams of random numbers that one seed stands for: each kind of draw has its own, so none disturbs another.

A stream's number is part of what a seed means: with another one, every seed would give other flows or paths.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What is drawn."""

    PATTERN = 1
    SOURCE_PORTS = 2
    SIMULATED_ARRIVALS = 3
    PLACEMENT = 4
    POISSON = 5
    PORT_CYCLE = 6
    OWN_PATTERN = 7
    RANKS = 8
    STARTS = 9


def generator(seed: int, stream: Stream, *part: int) -> np.random.Generator:
    """The numbers of one stream of a seed, or of one ``part`` of it, from the first."""
    return np.random.default_rng((seed, int(stream), *part))
