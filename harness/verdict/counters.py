"""What the counters of the switches' ports say of a run: bwm-ng's samples as rates of hosts and of directed links."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from harness.errors import RunFailed
from harness.verdict.fair import Window
from results.window import mean_over
from topos.network import Network
from traffic.bwmng import Series


class Counters:
    """Samples by port, with times in seconds since ``begin`` (epoch). Rates are on the wire: whole frames, what is
    sent again and acknowledgements of the other direction included.

    ``sent``: (ends of the samples, Mb/s sent) by sending port; a host stands for its own port.
    Raises RunFailed when a host was not sampled.
    """

    def __init__(self, topo: Network, series: Mapping[str, Series], begin: float) -> None:
        ports = {link.lower: link.upper_end for link in topo.links()}
        missing = [host for host in topo.hosts if ports[host] not in series or not len(series[ports[host]].t)]
        if missing:
            raise RunFailed(f"bwm-ng has no samples for {len(missing)} hosts: {', '.join(missing[:4])}")
        self._begin = begin
        self.received = {host: series[ports[host]] for host in topo.hosts}
        self.sent = {name: (one.t - begin, one.out_mbps) for name, one in series.items()}
        # What a host sends shows in what enters its switch.
        self.sent |= {host: (one.t - begin, one.in_mbps) for host, one in self.received.items()}
        self.samples = min(len(one.t) for one in self.received.values())
        first = next(iter(self.received.values()))
        self.times: NDArray[np.float64] = first.t[: self.samples] - begin
        self.total_mbps: NDArray[np.float64] = np.sum(
            [one.out_mbps[: self.samples] for one in self.received.values()], axis=0
        )

    def means(self, window: Window) -> dict[str, float]:
        """Mb/s that each port sent on average."""
        return {name: mean_over(t, mbps, window) for name, (t, mbps) in self.sent.items()}

    def received_mbps(self, window: Window) -> float:
        """Mb/s that all hosts together received on average."""
        return sum(mean_over(one.t - self._begin, one.out_mbps, window) for one in self.received.values())

    @property
    def span(self) -> Window:
        series = self.received.values()
        return max(one.t[0] for one in series) - self._begin, min(one.t[-1] for one in series) - self._begin
