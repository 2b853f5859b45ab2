"""Which links flows must not be sent over: ports that are down, and switches that cannot be told about flows."""

from __future__ import annotations

from functools import cached_property

from hedera.linkstate import LinkState
from topos.fattree import FatTree
from topos.links import links_between
from topos.network import Network


class Failures:
    """Keeps a `LinkState` in step with what switches report. Methods say whether anything has changed.

    A cable fails in both directions when a port at either end is down. An aggregation switch that has lost
    its controller forwards what it knows, but knows no new flow: only the links to it are out of use, in a fat-tree
    those that lead up.
    """

    def __init__(self, tree: Network, links: LinkState):
        self._tree = tree
        self._links = links
        self._down_ports: set[tuple[str, int]] = set()
        self._lost: set[str] = set()
        self._failed: set[int] = set()

    def switch_up(self, name: str) -> bool:
        """A switch has connected, and its ports are up unless it says otherwise."""
        self._down_ports = {(switch, port) for switch, port in self._down_ports if switch != name}
        return self._apply()

    def under_control(self, name: str) -> bool:
        self._lost.discard(name)
        return self._apply()

    def switch_down(self, name: str) -> bool:
        if self._tree.layer(name) == "aggregation":
            self._lost.add(name)
        return self._apply()

    def port_status(self, name: str, port: int, up: bool) -> bool:
        """A port came up or went down. Ports to hosts make no difference to any choice of path."""
        if (name, port) not in self._cables:
            return False
        (self._down_ports.discard if up else self._down_ports.add)((name, port))
        return self._apply()

    def _apply(self) -> bool:
        failed = {link for end in self._down_ports for link in self._cables[end]}
        failed |= {link for name in self._lost for link in self._links_to(name)}
        self._links.fail(failed - self._failed)
        self._links.restore(self._failed - failed)
        changed, self._failed = failed != self._failed, failed
        return changed

    def _links_to(self, name: str) -> list[int]:
        tree = self._tree
        others = [other for other, to in tree.ports if to == name]
        if isinstance(tree, FatTree):
            others = [other for other in others if tree.layer(other) == "edge"]
        return [links_between(tree, other, name)[0] for other in others]

    @cached_property
    def _cables(self) -> dict[tuple[str, int], tuple[int, int]]:
        cables = {}
        for lower, lower_port, upper, upper_port in self._tree.links():
            if self._tree.layer(lower) != "host":
                cables[lower, lower_port] = cables[upper, upper_port] = links_between(self._tree, lower, upper)
        return cables
