"""Which flows are large, and so worth scheduling: the paper has two readings.

Section 3.1 calls large a flow that has been *measured* above a tenth of its link; section 4.2 estimates what flows
would take were the network no limit, and by that a flow held down by a collision is large as well.
"""

from __future__ import annotations

from collections.abc import Callable

from topos.arrays import Bool, Float64

Rule = Callable[[Float64, Float64, float], Bool]
"""``rule(rate, demand, threshold)``: bool (flows,). Rates as measured, demands as estimated among all flows, float64
(flows,), and the threshold, all as fractions of the NIC rate."""


def measured(rate: Float64, demand: Float64, threshold: float) -> Bool:
    """Section 3.1's words."""
    return rate > threshold


def measured_or_estimated(rate: Float64, demand: Float64, threshold: float) -> Bool:
    """Also those that would be above it if only NICs were limits."""
    return (rate > threshold) | (demand > threshold)


RULES: dict[str, Rule] = {"measured": measured, "measured-or-estimated": measured_or_estimated}
