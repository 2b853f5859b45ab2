"""Address, neighbours, offloads and TCP of the emulated hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.errors import RunFailed
from harness.network.namespaces import inside
from harness.network.processes import run


def ipv6_off(ipv6: Path = Path("/proc/sys/net/ipv6")) -> list[str]:
    """The settings that switch IPv6 off in a namespace; none where the kernel has no IPv6 (booted without it)."""
    names = ("all", "default") if ipv6.exists() else ()
    return [f"net.ipv6.conf.{name}.disable_ipv6=1" for name in names]


def write_settings(settings: Sequence[str]) -> None:
    """NAME=VALUE, as sysctl takes them, in the namespace of this thread."""
    for setting in settings:
        name, _, value = setting.partition("=")
        Path("/proc/sys", *name.split(".")).write_text(value)


@dataclass(frozen=True)
class HostSetup:
    """What makes a host of a namespace; IPv6 off, and every neighbour known, so that nothing floods.

    ``neighbours``: (address, MAC) of all hosts. ``unsent_bytes``: what its TCP may hold of a connection that has not
    been sent once; None: what the kernel allows. ``sack``: whether it acknowledges selectively. ``min_rto_ms``: its
    shortest retransmission timeout (None: Linux's own, 200 ms), of its only route, as kernels before 6.11 have no
    setting for it.
    """

    interface: str
    ip: str
    mac: str
    neighbours: Sequence[tuple[str, str]]
    congestion_control: str
    unsent_bytes: int | None = None
    sack: bool = True
    min_rto_ms: int | None = None

    @property
    def settings(self) -> list[str]:
        """NAME=VALUE, for `write_settings`."""
        settings = [*ipv6_off(), f"net.ipv4.tcp_congestion_control={self.congestion_control}"]
        if self.unsent_bytes is not None:
            settings.append(f"net.ipv4.tcp_notsent_lowat={self.unsent_bytes}")
        if not self.sack:
            settings.append("net.ipv4.tcp_sack=0")
        return settings

    @property
    def offloads_off(self) -> list[str]:
        """Queues hold packets as they are on a wire, whole and none larger than the MTU."""
        return ["ethtool", "-K", self.interface, "tx", "off", "tso", "off", "gso", "off", "sg", "off"]

    @property
    def batch(self) -> str:
        """Lines for ``ip -batch``."""
        interface = self.interface
        lines = [
            "link set lo up",
            f"link set {interface} address {self.mac}",
            f"addr add {self.ip}/8 dev {interface}",
            f"link set {interface} up",
            *(f"neigh add {a} lladdr {m} dev {interface} nud permanent" for a, m in self.neighbours if a != self.ip),
        ]
        if self.min_rto_ms:
            route = f"10.0.0.0/8 dev {interface} proto kernel scope link src {self.ip}"
            lines.append(f"route change {route} rto_min {self.min_rto_ms}ms")
        return "\n".join([*lines, ""])


def set_up(name: str, namespace: int, setup: HostSetup) -> None:
    """Make a host of a namespace. RunFailed names it."""
    try:
        inside(namespace, partial(write_settings, setup.settings))
        run(setup.offloads_off, namespace=namespace)
        run(["ip", "-batch", "-"], namespace=namespace, given=setup.batch)
    except (OSError, RunFailed) as error:
        raise RunFailed(f"host {name} could not be configured: {error}") from None
