"""TCP congestion control for the hosts: what the kernel offers, and leave to set it in a namespace."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import UnfitMachine

_SYSCTL = Path("/proc/sys/net/ipv4")
_ALLOWED = _SYSCTL / "tcp_allowed_congestion_control"


def available() -> list[str]:
    """The congestion control algorithms the kernel has loaded."""
    return (_SYSCTL / "tcp_available_congestion_control").read_text().split()


@contextmanager
def permitted(name: str, run_folder: Path) -> Iterator[None]:
    """Let namespaces choose ``name`` while the block runs.

    Linux refuses an algorithm in a namespace of its own unless it is on the machine-wide list of allowed
    ones (where a machine whose default is BBR does not have cubic). The list is put back afterwards; a copy
    in ``run_folder`` lets `restore` do it should this process be killed.

    Raises UnfitMachine when the kernel does not have the algorithm.
    """
    if name not in available():
        subprocess.run(["modprobe", "-q", f"tcp_{name}"], capture_output=True, check=False)
    if name not in available():
        raise UnfitMachine(f"the kernel has no TCP {name}; it offers {', '.join(available())}")
    before = _ALLOWED.read_text()
    if name in before.split():
        yield
        return
    (run_folder / _ALLOWED.name).write_text(before)
    _ALLOWED.write_text(f"{before.strip()} {name}")
    try:
        yield
    finally:
        restore(run_folder)


def restore(run_folder: Path) -> bool:
    """Put back the list of allowed algorithms that a run has changed; whether it had."""
    saved = run_folder / _ALLOWED.name
    try:
        with os.fdopen(os.open(saved, os.O_RDONLY | os.O_NOFOLLOW)) as copy:
            names = copy.read(1000).split()
    except (OSError, ValueError):
        return False
    saved.unlink()
    known = available()
    if not names or not all(name in known for name in names):
        return False  # not what `permitted` wrote: the kernel takes back only names that it gave
    _ALLOWED.write_text(" ".join(names))
    return True
