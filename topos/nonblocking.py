"""The control network of Hedera section 6.2: every host on one non-blocking switch."""

from __future__ import annotations

from types import SimpleNamespace

from topos.own import Own


class NonBlocking(Own):
    """n hosts on one switch, ``0_0_1``: host i is on its port i + 1. Raises ValueError when n is below 2."""

    SWITCH = "0_0_1"

    def __init__(self, n: int) -> None:
        one_switch = SimpleNamespace(hosts=n, links=lambda: ((host, self.SWITCH) for host in range(n)))
        super().__init__("nonblocking", one_switch)
        self.middle = self.middle[..., :0]  # nothing between switches: a path has two links

    def layer(self, name: str) -> str:
        return "core" if name == self.SWITCH else "host"
