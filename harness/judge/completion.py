"""How long flows that come and go took: completion times and slowdown, over all and by size class.

The classes are the field's: up to 100 KB, up to 10 MB, and above, at 1 Gb/s; they scale with the sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALL_BYTES, LARGE_BYTES = 100e3, 10e6


@dataclass(frozen=True)
class Completion:
    """One sized flow: its bytes, the seconds it took, or had lasted when it was ``cut_off``, and how long it would
    have taken ``alone_s`` on idle links."""

    size_bytes: int
    took_s: float
    cut_off: bool
    alone_s: float


def by_class(flows: Sequence[Completion], size_scale: float) -> dict[str, dict[str, Any]]:
    """For all flows and each class that has any: how many, how many were cut off, and of time and slowdown (time over
    time alone, 1 at least) the mean, the median, the 95th and the 99th percentile.

    A flow that was cut off counts with the time it had until then, so these are lower bounds where there are some.
    """
    size = np.array([flow.size_bytes for flow in flows])
    took = np.array([flow.took_s for flow in flows])
    cut = np.array([flow.cut_off for flow in flows])
    alone = np.array([flow.alone_s for flow in flows])
    classes = {
        "all": size >= 0,
        "small": size <= SMALL_BYTES * size_scale,
        "medium": (size > SMALL_BYTES * size_scale) & (size < LARGE_BYTES * size_scale),
        "large": size >= LARGE_BYTES * size_scale,
    }
    return {
        name: {
            "flows": int(inside.sum()),
            "cut_off": int(cut[inside].sum()),
            **_described("s", took[inside]),
            **_described("slowdown", np.maximum(took[inside] / alone[inside], 1)),
        }
        for name, inside in classes.items()
        if inside.any()
    }


def _described(name: str, values: NDArray[np.float64]) -> dict[str, float]:
    median, p95, p99 = np.percentile(values, [50, 95, 99])
    numbers = {"mean": values.mean(), "median": median, "p95": p95, "p99": p99}
    return {f"{which}_{name}": round(float(number), 6) for which, number in numbers.items()}
