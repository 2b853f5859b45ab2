"""Which flows are large, and so worth scheduling: the paper can be read in two ways.

In section 3.1 a flow is large if its *measured* rate is above a tenth of its link. Section 4.2 estimates the rates
that flows would have if the network were no limit; by this estimate a flow slowed by a collision is large as well.
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
    """Also flows that would be above the threshold if only NICs were limits."""
    return (rate > threshold) | (demand > threshold)


RULES: dict[str, Rule] = {"measured": measured, "measured-or-estimated": measured_or_estimated}
