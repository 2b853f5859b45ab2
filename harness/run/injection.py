"""Breaking the network in the middle of a run, as ``--fail`` asks for it, and mending it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.run.observation import Outage
from topos.fattree import FatTree
from topos.faults import Fault, cables, links_down, moments

if TYPE_CHECKING:
    from harness.network.fabric import Fabric


class Injector:
    """Call `tick` often while the traffic runs, which began at ``begin`` (seconds since the epoch).

    ``outages`` says what was out of service from when on, as it happened. The control network has none of the
    fat-tree's cables, and nothing happens to it.
    """

    def __init__(self, fabric: Fabric, faults: Sequence[Fault], begin: float) -> None:
        self._fabric = fabric
        self._faults = faults
        self._begin = begin
        self._due = moments(faults) if isinstance(fabric.topo, FatTree) else []
        self.outages: list[Outage] = []

    def tick(self) -> None:
        """Break and mend what is due."""
        tree = self._fabric.topo
        while self._due and time.time() - self._begin >= self._due[0]:
            assert isinstance(tree, FatTree)
            before = self.outages[-1].links if self.outages else frozenset()
            now = links_down(self._faults, tree, self._due.pop(0))
            t = time.time() - self._begin
            self._fabric.set_cables(cables(tree, now - before), up=False)
            self._fabric.set_cables(cables(tree, before - now), up=True)
            self.outages.append(Outage(t, now))
