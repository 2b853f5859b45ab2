"""TCP congestion control for the hosts: what the kernel offers, and leave to set it in a namespace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import UnfitMachine
from harness.network.modules import load
from harness.network.settings import Setting

_SYSCTL = Path("/proc/sys/net/ipv4")


def available() -> list[str]:
    """The congestion control algorithms the kernel has loaded."""
    return (_SYSCTL / "tcp_available_congestion_control").read_text().split()


ALLOWED = Setting(
    _SYSCTL / "tcp_allowed_congestion_control",
    "an addition to net.ipv4.tcp_allowed_congestion_control",
    lambda text: bool(text) and set(text.split()) <= set(available()),
)


@contextmanager
def permitted(name: str, run_folder: Path) -> Iterator[None]:
    """Let namespaces choose ``name`` while the block runs.

    Linux refuses an algorithm in a namespace of its own unless it is on the machine-wide list of allowed
    ones (where a machine whose default is BBR does not have cubic). The list is put back afterwards.

    Raises UnfitMachine when the kernel does not have the algorithm.
    """
    if name not in available():
        load(f"tcp_{name}")
    if name not in available():
        raise UnfitMachine(f"the kernel has no TCP {name}; it offers {', '.join(available())}")
    allowed = ALLOWED.read().split()
    with ALLOWED.changed_to(" ".join(dict.fromkeys([*allowed, name])), run_folder):
        yield
