"""Addresses, neighbours, offloads and TCP of the emulated hosts, and leave of the kernel for their TCP."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.network import machine, netlink
from harness.network.netlink import call_inside
from harness.network.processes import run_program
from record.errors import RunFailed, UnfitMachine
from record.spec import ONLY_RACK

ALLOWED = "tcp_allowed_congestion_control"
# A signal may not reach a process that waits for the kernel to load a module.
LOADED_S = 20.0
"""A module that takes longer to load is left to the kernel."""


@dataclass(frozen=True)
class Tcp:
    """TCP of the hosts. ``unsent_bytes``: what it may hold of a connection that has not been sent once; None: what the
    kernel allows. ``sack``: whether it acknowledges selectively. ``rack``: whether it then detects losses by time.
    ``tail_loss_probes``: whether it probes for a loss at the end. ``min_rto_ms``: its shortest retransmission timeout
    (None: Linux's own, 200 ms), of its only route, as kernels before 6.11 have no setting for it; ``initial_window``
    too (None: Linux's own, 10 segments). ``timestamps``: whether segments have them (RFC 7323), in 12 bytes each.
    ``prompt``: whether each segment is acknowledged at once. ``one_by_one``: whether TCP sends each segment as soon as
    it may, and not several as one packet, which a pacer would take for one.
    """

    congestion_control: str = "cubic"
    unsent_bytes: int | None = None
    sack: bool = True
    rack: bool = True
    tail_loss_probes: bool = True
    min_rto_ms: int | None = None
    initial_window: int | None = None
    timestamps: bool = True
    prompt: bool = False
    one_by_one: bool = False

    @property
    def settings(self) -> list[str]:
        """NAME=VALUE, for `write_settings`."""
        settings = [f"net.ipv4.tcp_congestion_control={self.congestion_control}"]
        if self.unsent_bytes is not None:
            settings.append(f"net.ipv4.tcp_notsent_lowat={self.unsent_bytes}")
        if not self.sack:
            settings.append("net.ipv4.tcp_sack=0")
        if not self.timestamps:
            settings.append("net.ipv4.tcp_timestamps=0")
        if not self.rack:
            settings.append("net.ipv4.tcp_recovery=0")
        if not self.tail_loss_probes:
            settings.append("net.ipv4.tcp_early_retrans=0")
        return settings

    @property
    def of_route(self) -> list[str]:
        """What the only route of a host says of its TCP, in the words of `ip route`."""
        of_route = [] if self.min_rto_ms is None else ["rto_min", f"{self.min_rto_ms}ms"]
        of_route += [] if self.initial_window is None else ["initcwnd", str(self.initial_window)]
        return [*of_route, "quickack", "1"] if self.prompt else of_route


def list_ipv6_settings(ipv6: Path = Path("/proc/sys/net/ipv6")) -> list[str]:
    """The settings that switch IPv6 off in a namespace; none where the kernel has no IPv6 (booted without it)."""
    names = ("all", "default") if ipv6.exists() else ()
    return [f"net.ipv6.conf.{name}.disable_ipv6=1" for name in names]


def write_settings(settings: Sequence[str]) -> None:
    """NAME=VALUE, as sysctl takes them, in the namespace of this thread."""
    for setting in settings:
        name, _, value = setting.partition("=")
        Path("/proc/sys", *name.split(".")).write_text(value)


def set_up_host(name: str, namespace: int, interface: str, ip: str, neighbours: Mapping[str, str], tcp: Tcp) -> None:
    """Make a host of a namespace; IPv6 off, and its neighbours known, so that nothing floods. RunFailed names it.

    ``neighbours``: the MAC of each address, its own as well.
    """
    try:
        call_inside(namespace, partial(write_settings, [*list_ipv6_settings(), *tcp.settings]))
        # Queues hold packets as they are on a wire, none larger than the MTU. Nobody needs to compute their checksums.
        netlink.switch_offload(interface, namespace, tx=True, sg=True, tso=False, gso=False)
        index = netlink.index_of(interface, namespace)
        others = [netlink.add_neighbour(index, to, mac) for to, mac in neighbours.items() if to != ip]
        own_addresses = [netlink.set_hardware_address(index, neighbours[ip]), netlink.add_address(index, ip, 8)]
        single = [netlink.limit_segments(index, 1)] if tcp.one_by_one else []
        netlink.send(
            namespace, [netlink.set_up(netlink.LOOPBACK), *own_addresses, *single, netlink.set_up(index), *others]
        )
        if tcp.of_route:
            route = f"10.0.0.0/8 dev {interface} proto kernel scope link src {ip}"
            run_program(["ip", "route", "change", *route.split(), *tcp.of_route], namespace=namespace)
    except (OSError, RunFailed) as error:
        raise RunFailed(f"host {name} could not be configured: {error}") from None


COUNTS_AGAIN = (7, 2)
"""The release that our change fits which counts acknowledgements where RACK is off."""
HYSTART = Path("/sys/module/tcp_cubic/parameters/hystart")
"""A setting of CUBIC that the whole machine shares. Therefore it is written in guests alone."""


def require_rack_off(release: str, *, of_guests: bool) -> None:
    """Raise UnfitMachine where a Linux of this release has no detection of losses but RACK. ``of_guests``: it is one
    of virtual time, to which we give another from `COUNTS_AGAIN` on (virtual/kernel/patches)."""
    version = tuple(map(int, re.findall("[0-9]+", release)[:2]))
    if version >= ONLY_RACK and not (of_guests and version >= COUNTS_AGAIN):
        since = ".".join(map(str, ONLY_RACK))
        raise UnfitMachine(f"--no-rack: Linux has had nothing but RACK since {since}, and this is {release}")


@contextmanager
def permit(name: str, run_folder: Path) -> Iterator[None]:
    """Let namespaces choose ``name`` while the block runs.

    Linux refuses an algorithm in a namespace of its own unless it is on the machine-wide list of allowed
    ones (where a machine whose default is BBR does not have cubic). It is taken off again afterwards: a note in
    ``run_folder`` says so to `restore`, should this process be killed.

    Raises UnfitMachine when the kernel does not have the algorithm.
    """
    if name not in machine.list_congestion_controls():
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(["modprobe", "-q", f"tcp_{name}"], check=False, timeout=LOADED_S)
    if name not in machine.list_congestion_controls():
        raise UnfitMachine(f"the kernel has no TCP {name}; it offers {', '.join(machine.list_congestion_controls())}")
    allowed = (machine.SYSCTL / ALLOWED).read_text().split()
    if name in allowed:
        yield
        return
    (run_folder / ALLOWED).write_text(name)
    try:
        (machine.SYSCTL / ALLOWED).write_text(" ".join([*allowed, name]))
        yield
    finally:
        restore(run_folder)


def restore(run_folder: Path) -> bool:
    """Take off the kernel's list what a run has put on it, and return whether there was something. OSError when the
    list cannot be written."""
    note = run_folder / ALLOWED
    if note.is_symlink() or not note.is_file():
        return False
    added, now = note.read_text()[:100], (machine.SYSCTL / ALLOWED).read_text().split()
    if added in now and len(now) > 1:
        (machine.SYSCTL / ALLOWED).write_text(" ".join(algorithm for algorithm in now if algorithm != added))
    note.unlink()
    return True
