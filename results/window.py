"""Means of sampled rates over a time window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mean_over(times: NDArray[np.float64], rates: NDArray[np.float64], window: tuple[float, float]) -> float:
    """The mean over ``window`` of a rate sampled as averages, sample i covering (times[i-1], times[i]].

    ``times`` and ``rates`` have one shape (samples,); the first sample is taken to cover one second.
    Samples that the window cuts count by the part inside it; NaN if the window has no sample.
    """
    if len(times) == 0:
        return float("nan")
    starts = np.concatenate([[times[0] - 1.0], times[:-1]])
    inside = np.clip(np.minimum(times, window[1]) - np.maximum(starts, window[0]), 0, None)
    return float(np.sum(inside * rates) / np.sum(inside)) if np.sum(inside) > 0 else float("nan")
