"""What a failure did to a run: which flows it hit, how soon they moved again, what was left of the bandwidth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from harness.run.observation import Outage
from harness.run.spec import RunSpec
from harness.verdict.fair import RoutedFlow, Window, capacities, links_down_at
from harness.verdict.flows import MeasuredFlow
from harness.verdict.links import through_queue_s
from hedera.experiment import phases
from hedera.linkstate import LinkState
from hedera.maxmin import most_possible
from record.parts import Failure, Phase
from topos.faults import cables, moments
from topos.links import path_links
from topos.network import Network

STAYED_S = 2.0
"""A flow that comes and goes is asked how it fared after a failure when it was there so long after it."""


class Recovery:
    """``outages``: what was out of service from when on. Times are seconds since the traffic started."""

    def __init__(self, topo: Network, spec: RunSpec, outages: Sequence[Outage], flows: Sequence[MeasuredFlow]) -> None:
        self._topo = topo
        self._spec = spec
        self._outages = outages
        self._flows = flows
        self._src = np.array([flow.routed.src for flow in flows], dtype=np.int64)
        self._dst = np.array([flow.routed.dst for flow in flows], dtype=np.int64)

    @cached_property
    def cut_off(self) -> set[str]:
        """The flows, named by their hosts, that had no path at all at some time."""
        without = {i for outage in self._outages for i in np.flatnonzero(self._stranded(outage.links))}
        return {f"{self._src[i]} to {self._dst[i]}" for i in without}

    def _stranded(self, down: frozenset[int]) -> NDArray[np.bool_]:
        """Whether each flow has no working path, one way or the other: bool (flows,)."""
        if not down:
            return np.zeros(self._src.size, dtype=np.bool_)
        links = LinkState(self._topo)
        links.fail(down)
        return ~(links.connected(self._src, self._dst) & links.connected(self._dst, self._src))

    def _hit(self, down: frozenset[int], t: float) -> NDArray[np.bool_]:
        """Whether each flow, or what acknowledges it, was on a path through these links just before ``t``."""
        hit = np.zeros(self._src.size, dtype=np.bool_)
        for streams in ([one.routed for one in self._flows], [one.acknowledgements for one in self._flows]):
            cores = [stream.core_at(np.nextafter(t, 0.0)) for stream in streams]
            src, dst = [stream.src for stream in streams], [stream.dst for stream in streams]
            hit |= np.isin(path_links(self._topo, src, dst, cores), list(down)).any(axis=1)
        return hit & [one.routed.start < t and one.end > t + STAYED_S for one in self._flows]

    def failures(self) -> tuple[Failure, ...]:
        return tuple(map(self._failure, range(len(self._outages))))

    def phases(self, mean_total: Callable[[Window], float], fair_total: Callable[[Window], float]) -> tuple[Phase, ...]:
        """The parts of the window; what all hosts received on average in one, Mb/s, and what was fair."""
        due = zip(self._outages, moments(self._spec.faults), strict=False)
        windows = phases([outage.t for outage, moment in due if moment > 0], self._spec.window_s, self._spec.seconds)
        return tuple(self._phase(window, mean_total(window), fair_total(window)) for window in windows)

    def _phase(self, window: Window, received: float, predicted: float) -> Phase:
        down = links_down_at(self._outages, window[0])
        best = None
        if all(np.isinf(one.end) for one in self._flows):  # of flows that are there all the time
            capacity = capacities(self._topo, self._spec.link_mbps, down)
            best = most_possible(self._topo, self._src, self._dst, capacity)
        return Phase(
            from_s=round(window[0], 3),
            to_s=round(window[1], 3),
            down=self._names(down),
            mbps=round(received, 3),
            maxmin_mbps=round(predicted, 3),
            best_mbps=None if best is None else round(best, 3),
        )

    def _names(self, down: frozenset[int]) -> tuple[str, ...]:
        return tuple("-".join(cable) for cable in cables(self._topo, down))

    def _failure(self, number: int) -> Failure:
        outage = self._outages[number]
        before = self._outages[number - 1].links if number else frozenset()
        broken, mended = outage.links - before, before - outage.links
        stranded = self._stranded(outage.links)
        hit = self._hit(broken, outage.t) if broken else np.zeros(self._src.size, dtype=np.bool_)
        back = self._stranded(before) & ~stranded
        until = self._outages[number + 1].t if number + 1 < len(self._outages) else self._spec.seconds
        return Failure(
            t=round(outage.t, 3),
            broken=self._names(broken),
            mended=self._names(mended),
            affected=int(hit.sum()),
            cut_off=int((hit & stranded).sum()),
            rerouted_s=self._rerouted_s(np.flatnonzero(hit & ~stranded), outage, until),
            moving_s=self._moving_s(np.flatnonzero((hit | back) & ~stranded), outage.t),
        )

    def _rerouted_s(self, hit: NDArray[np.intp], outage: Outage, until: float) -> float | None:
        """Until the controller had moved the last of these flows, and its acknowledgements, to a path that works
        (by its log); None when there was none to move, or one was not moved before anything else happened."""
        latest = None
        moved = [self._flows[i] for i in hit]
        for stream in (stream for one in moved for stream in (one.routed, one.acknowledgements)):
            if self._works(stream, np.nextafter(outage.t, 0.0), outage):
                continue
            times = [change.t for change in stream.paths if outage.t <= change.t < until]
            then = next((t for t in times if self._works(stream, t, outage)), None)
            if then is None:
                return None
            latest = max(then - outage.t, latest or 0.0)
        return None if latest is None else round(latest, 3)

    def _works(self, stream: RoutedFlow, t: float, outage: Outage) -> bool:
        links = path_links(self._topo, [stream.src], [stream.dst], [stream.core_at(t)])
        return not outage.links.intersection(links[0].tolist())

    def _moving_s(self, flows: NDArray[np.intp], t: float) -> float | None:
        """How long after ``t`` each of these flows had moved again, the last one: to the end of the first of
        iperf's seconds in which it received something. So it is an upper bound, up to a second and a queue high:
        a second counts that begins when what waited in a full queue behind the failure has been delivered. None
        when there is no flow, or one did not move again."""
        drained = t + through_queue_s(self._spec)
        ends = []
        for i in flows:
            end = next((begin + 1 for begin, mbps in self._flows[i].seconds if begin >= drained and mbps > 0), None)
            if end is None:
                return None
            ends.append(end - t)
        return round(max(ends), 3) if ends else None
