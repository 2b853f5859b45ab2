"""Address, neighbours, offloads and TCP of the emulated hosts: one shell script each, all at once.

Where threads hold the namespaces (`harness.network.namespaces`), starting a shell and its four programs is dear: it
is two programs for each host there.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.errors import RunFailed
from harness.network.namespaces import held, inside
from harness.network.processes import run

CONFIGURE_S = 60.0
"""Seconds all hosts together may take to be configured."""


def configure(scripts: Mapping[str, tuple[int, str]]) -> None:
    """Run the script of each host (by name: a pid in its namespace, the script), side by side.

    RunFailed names a host whose script fails, or has not ended within CONFIGURE_S seconds.
    """
    running = [(name, _start(pid, script)) for name, (pid, script) in scripts.items()]
    limit = time.monotonic() + CONFIGURE_S
    try:
        for name, process in running:
            try:
                said, _ = process.communicate(timeout=max(0.0, limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise RunFailed(f"host {name} was not configured within {CONFIGURE_S:g} s") from None
            if process.returncode:
                raise RunFailed(f"host {name} could not be configured: {said.decode().strip()}")
    finally:
        for _, process in running:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def ipv6_off(ipv6: Path = Path("/proc/sys/net/ipv6")) -> list[str]:
    """The settings that switch IPv6 off in a namespace; none where the kernel has no IPv6 (booted without it)."""
    names = ("all", "default") if ipv6.exists() else ()
    return [f"net.ipv6.conf.{name}.disable_ipv6=1" for name in names]


@dataclass(frozen=True)
class HostSetup:
    """What makes a host of a namespace; IPv6 off, and every neighbour known, so that nothing floods.

    ``neighbours``: (address, MAC) of all hosts. ``unsent_bytes``: what its TCP may hold of a connection that has not
    been sent once; None: what the kernel allows. ``segments_at_once``: most that it hands to its port in one.
    ``sack``: whether it acknowledges selectively. ``min_rto_ms``: its shortest retransmission timeout (None: Linux's
    own, 200 ms), of its only route, as kernels before 6.11 have no setting for it.
    """

    interface: str
    ip: str
    mac: str
    neighbours: Sequence[tuple[str, str]]
    congestion_control: str
    unsent_bytes: int | None = None
    segments_at_once: int | None = None
    sack: bool = True
    min_rto_ms: int | None = None

    @property
    def settings(self) -> list[str]:
        """NAME=VALUE, for sysctl."""
        settings = [*ipv6_off(), f"net.ipv4.tcp_congestion_control={self.congestion_control}"]
        if self.unsent_bytes is not None:
            settings.append(f"net.ipv4.tcp_notsent_lowat={self.unsent_bytes}")
        if not self.sack:
            settings.append("net.ipv4.tcp_sack=0")
        return settings

    @property
    def offloads_off(self) -> list[str]:
        """The userspace datapath forwards neither segments larger than the MTU nor unfinished checksums."""
        return ["ethtool", "-K", self.interface, "tx", "off", "tso", "off", "gso", "off", "sg", "off"]

    @property
    def batch(self) -> str:
        """Lines for ``ip -batch``."""
        interface, segments = self.interface, self.segments_at_once
        timeout = f"rto_min {self.min_rto_ms}ms" if self.min_rto_ms else ""
        lines = [
            "link set lo up",
            f"link set {interface} address {self.mac}",
            f"addr add {self.ip}/8 dev {interface}",
            f"link set {interface} up",
            *([f"link set {interface} gso_max_segs {segments}"] if segments else []),
            *(
                [f"route change 10.0.0.0/8 dev {interface} proto kernel scope link src {self.ip} {timeout}"]
                if timeout
                else []
            ),
            *(f"neigh add {a} lladdr {m} dev {interface} nud permanent" for a, m in self.neighbours if a != self.ip),
        ]
        return "\n".join([*lines, ""])

    @property
    def script(self) -> str:
        """All of it, for a shell."""
        return "\n".join(
            [
                "set -e",
                f"sysctl -q -w {' '.join(self.settings)}",
                f"{' '.join(self.offloads_off)} >/dev/null",
                "ip -batch - <<'END'",
                f"{self.batch}END",
                "",
            ]
        )


def set_up(hosts: Mapping[str, tuple[int, HostSetup]]) -> None:
    """Make a host of each namespace (by name: a pid in it, and what makes the host). RunFailed names a bad one."""
    if not all(held(pid) for pid, _ in hosts.values()):
        configure({name: (pid, setup.script) for name, (pid, setup) in hosts.items()})
        return
    for name, (pid, setup) in hosts.items():
        try:
            inside(pid, partial(_set, setup.settings))
            run(setup.offloads_off, namespace=pid)
            run(["ip", "-batch", "-"], namespace=pid, given=setup.batch)
        except (OSError, RunFailed) as error:
            raise RunFailed(f"host {name} could not be configured: {error}") from None


def _set(settings: Sequence[str]) -> None:
    """As sysctl, in the namespace of this thread."""
    for setting in settings:
        name, _, value = setting.partition("=")
        Path("/proc/sys", *name.split(".")).write_text(value)


def _start(pid: int, script: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        ["mnexec", "-a", str(pid), "sh", "-s"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdin is not None
    process.stdin.write(script.encode())
    process.stdin.close()
    process.stdin = None
    return process
