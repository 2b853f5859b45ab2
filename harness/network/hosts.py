"""Address, neighbours, offloads and TCP of the emulated hosts: one shell script each, all at once."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.errors import RunFailed

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


def host_script(
    interface: str,
    ip: str,
    mac: str,
    neighbours: Sequence[tuple[str, str]],
    congestion_control: str,
    unsent_bytes: int | None = None,
    segments_at_once: int | None = None,
) -> str:
    """The script that configures one host; IPv6 off, and every neighbour known, so that nothing floods.

    ``unsent_bytes``: what its TCP may hold of a connection that has not been sent once; None: what the kernel allows.
    """
    settings = [*ipv6_off(), f"net.ipv4.tcp_congestion_control={congestion_control}"]
    if unsent_bytes is not None:
        settings.append(f"net.ipv4.tcp_notsent_lowat={unsent_bytes}")
    batch = [
        "link set lo up",
        f"link set {interface} address {mac}",
        f"addr add {ip}/8 dev {interface}",
        f"link set {interface} up",
        *([f"link set {interface} gso_max_segs {segments_at_once}"] if segments_at_once else []),
        *(f"neigh add {a} lladdr {m} dev {interface} nud permanent" for a, m in neighbours if a != ip),
    ]
    return "\n".join(
        [
            "set -e",
            f"sysctl -q -w {' '.join(settings)}",
            # The userspace datapath forwards neither segments larger than the MTU nor unfinished checksums.
            f"ethtool -K {interface} tx off tso off gso off sg off >/dev/null",
            "ip -batch - <<'END'",
            *batch,
            "END",
            "",
        ]
    )


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
