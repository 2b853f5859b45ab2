"""The control network of Hedera section 6.2: every host on one non-blocking switch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from topos.fattree import FatTree, Link


@dataclass(frozen=True)
class NonBlocking:
    """n hosts on one switch. Host names and addresses are those of the smallest fat-tree with at least n hosts.

    So traffic matrices, iperf commands and results use the same host names on the control as on the fat-tree.
    The switch is ``0_0_1`` with one port per host: host i is on port i + 1.

    Raises ValueError when n is below 2.
    """

    n: int

    SWITCH = "0_0_1"

    def __post_init__(self) -> None:
        if not isinstance(self.n, int) or self.n < 2:
            raise ValueError(f"a non-blocking network needs at least 2 hosts, not {self.n}")

    @cached_property
    def tree(self) -> FatTree:
        k = 4
        while k**3 // 4 < self.n:
            k += 2
        return FatTree(k)

    @property
    def num_hosts(self) -> int:
        return self.n

    @property
    def num_switches(self) -> int:
        return 1

    def host_name(self, host: int) -> str:
        return self.tree.host_name(host)

    def host_ip(self, host: int) -> str:
        return self.tree.host_ip(host)

    def host_mac(self, host: int) -> str:
        return self.tree.host_mac(host)

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        return tuple(self.host_name(h) for h in range(self.n))

    @cached_property
    def host_by_ip(self) -> dict[str, int]:
        return {self.host_ip(h): h for h in range(self.n)}

    @property
    def switches(self) -> tuple[str, ...]:
        return (self.SWITCH,)

    def edge_of(self, host: int) -> str:
        return self.SWITCH

    def layer(self, name: str) -> str:
        return "core" if name == self.SWITCH else "host"

    @staticmethod
    def dpid(name: str) -> int:
        return FatTree.dpid(name)

    @cached_property
    def switch_by_dpid(self) -> dict[int, str]:
        return {self.dpid(self.SWITCH): self.SWITCH}

    @property
    def num_cores(self) -> int:
        return 1

    @property
    def tiers(self) -> int:
        return 2

    def cable(self, number: int) -> Link:
        if not 0 <= number < self.n:
            raise IndexError(f"there is no cable {number}")
        return Link(self.host_name(number), 0, self.SWITCH, number + 1)

    def links(self) -> Iterator[Link]:
        return map(self.cable, range(self.n))

    def cables_at(self, name: str) -> list[int]:
        if name == self.SWITCH:
            return list(range(self.n))
        if name not in self.hosts:
            raise KeyError(name)
        return [self.hosts.index(name)]

    def path_cores(self, src: int, dst: int) -> range:
        return range(1)

    def path(self, src: int, dst: int, core: int = 0) -> tuple[str, ...]:
        """Host, switch, host. Raises ValueError when src is dst."""
        if src == dst:
            raise ValueError(f"host {src} has no path to itself")
        return (self.host_name(src), self.SWITCH, self.host_name(dst))
