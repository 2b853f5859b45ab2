"""Mininet nodes and links for this fabric: real Mininet objects, without its one-shell-command-at-a-time set-up.

Mininet configures every interface through a shell of its own, some hundred round trips for k=4. The fabric
creates all cables with one ``ip -batch`` and configures each namespace with one script instead; these
classes keep Mininet from doing it a second time.
"""

from __future__ import annotations

from typing import Any

from mininet.link import Intf, Link
from mininet.node import Host, Node, Switch

from harness.network import namespaces
from harness.network.deadline import deadline
from harness.network.machine import time_travels
from harness.network.processes import REAP_S

SHELL_S = 20.0
"""Seconds a shell may take to start; here it takes 30 ms."""


class ShellWithDeadline(Node):  # type: ignore[misc]
    """A node whose shell starts or fails: Mininet waits for its prompt for ever, even when it has ended. In virtual
    time it has none: a thread holds its namespace (`harness.network.namespaces`)."""

    def startShell(self, mnopts: str | None = None) -> None:
        """As Mininet's; RunFailed when the shell does not say that it is ready."""
        if time_travels():
            self.pid = namespaces.hold()
            return
        reason = f"Mininet's shell for {self.name} (mnexec) did not start within {SHELL_S:g} s"
        try:
            with deadline(SHELL_S, reason):
                super().startShell(mnopts)
        except BaseException:
            if self.shell is not None:
                self.shell.kill()
                self.shell.wait(REAP_S)
            raise

    def terminate(self) -> None:
        """As Mininet's."""
        super().terminate()
        if namespaces.held(self.pid):
            namespaces.release(self.pid)


class QuietIntf(Intf):  # type: ignore[misc]
    """An interface that the fabric has configured already."""

    def config(self, **params: Any) -> dict[str, Any]:
        """Nothing left to do."""
        return {}


class LaidLink(Link):  # type: ignore[misc]
    """A veth pair that the fabric has created already, both ends in their namespaces."""

    def __init__(self, node1: Node, node2: Node, **params: Any) -> None:
        super().__init__(node1, node2, **{**params, "intf": QuietIntf})

    @classmethod
    def makeIntfPair(cls, *args: Any, **params: Any) -> None:
        """The pair exists."""

    def delete(self) -> None:
        """The pair goes with the namespaces it lives in."""


class FabricHost(ShellWithDeadline, Host):  # type: ignore[misc]
    """A host in a network namespace of its own."""

    def config(self, **params: Any) -> dict[str, Any]:
        """The fabric configures it."""
        return {}


class FabricSwitch(Switch):  # type: ignore[misc]
    """A bridge of a private Open vSwitch instance, in whose namespace it is. It has no shell: nothing is asked of one
    switch alone, and twenty shells take half as long to start as all of Open vSwitch."""

    def __init__(self, name: str, instance_pid: int, **params: Any) -> None:
        self._instance_pid = instance_pid
        super().__init__(name, **{**params, "inNamespace": True})

    def startShell(self, mnopts: str | None = None) -> None:
        """None: its process is the instance's."""
        self.pid = self._instance_pid
