"""Which flows are large, and so worth scheduling: the paper has two readings.

Section 3.1 calls large a flow that has been *measured* above a tenth of its link; section 4.2 estimates what flows
would take were the network no limit, and by that a flow held down by a collision is large as well.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rule = Callable[[Floats, Floats, float], NDArray[np.bool_]]
"""``rule(rate, demand, threshold)``: bool (flows,). Rates as measured, demands as estimated among all flows, float64
(flows,), and the threshold, all as fractions of the NIC rate."""


def measured(rate: Floats, demand: Floats, threshold: float) -> NDArray[np.bool_]:
    """Section 3.1's words."""
    return rate > threshold


def measured_or_estimated(rate: Floats, demand: Floats, threshold: float) -> NDArray[np.bool_]:
    """Also those that would be above it if only NICs were limits."""
    return (rate > threshold) | (demand > threshold)


RULES: dict[str, Rule] = {"measured": measured, "measured-or-estimated": measured_or_estimated}
