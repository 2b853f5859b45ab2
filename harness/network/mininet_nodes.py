"""Mininet's classes for nodes and cables, which do nothing a second time.

Mininet starts a shell for every node and configures every interface through it, some hundred round trips for k=4. Here
a thread holds a host's namespace, and the fabric has created and configured all cables before Mininet hears of them.
They are apart from the fabric because a machine without Mininet reads the shapes of ports, too: what judges a run.
"""

from __future__ import annotations

from typing import Any

from mininet.link import Intf, Link
from mininet.node import Host, Node, Switch

from harness.network import netlink


class QuietIntf(Intf):  # type: ignore[misc]
    """An interface that the fabric has configured already."""

    def config(self, **params: Any) -> dict[str, Any]:
        return {}


class LaidLink(Link):  # type: ignore[misc]
    """A cable that the fabric has created already, both ends in their namespaces."""

    def __init__(self, node1: Node, node2: Node, **params: Any) -> None:
        super().__init__(node1, node2, **{**params, "intf": QuietIntf})

    @classmethod
    def makeIntfPair(cls, *args: Any, **params: Any) -> None:
        """The pair exists."""

    def delete(self) -> None:
        """The pair goes with the namespaces it lives in."""


class FabricHost(Host):  # type: ignore[misc]
    """A host in a network namespace of its own."""

    def startShell(self, mnopts: str | None = None) -> None:
        """Start no shell: a thread of ours is in the host's namespace."""
        self.pid = netlink.hold_namespace()

    def config(self, **params: Any) -> dict[str, Any]:
        """The fabric configures it."""
        return {}

    def terminate(self) -> None:
        super().terminate()
        netlink.release_namespace(self.pid)


class FabricSwitch(Switch):  # type: ignore[misc]
    """A bridge of our Open vSwitch, in whose namespace it is."""

    def __init__(self, name: str, namespace: int, **params: Any) -> None:
        self._namespace = namespace
        super().__init__(name, **{**params, "inNamespace": True})

    def startShell(self, mnopts: str | None = None) -> None:
        """Start no shell: the switch is in Open vSwitch's namespace."""
        self.pid = self._namespace
