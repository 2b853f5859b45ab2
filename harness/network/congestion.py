"""TCP congestion control for the hosts: what the kernel offers, and leave to set it in a namespace."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.errors import UnfitMachine
from harness.network import machine

ALLOWED = "tcp_allowed_congestion_control"
LOADED_S = 20.0
"""A module that takes longer to load is left to the kernel, where no signal may reach it."""


@contextmanager
def permitted(name: str, run_folder: Path) -> Iterator[None]:
    """Let namespaces choose ``name`` while the block runs.

    Linux refuses an algorithm in a namespace of its own unless it is on the machine-wide list of allowed
    ones (where a machine whose default is BBR does not have cubic). It is taken off again afterwards: a note in
    ``run_folder`` says so to `restore`, should this process be killed.

    Raises UnfitMachine when the kernel does not have the algorithm.
    """
    if name not in machine.congestion_controls():
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(["modprobe", "-q", f"tcp_{name}"], check=False, timeout=LOADED_S)
    if name not in machine.congestion_controls():
        raise UnfitMachine(f"the kernel has no TCP {name}; it offers {', '.join(machine.congestion_controls())}")
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
    """Take off the list what a run has put on it; whether there was something. OSError when it cannot be."""
    note = run_folder / ALLOWED
    if note.is_symlink() or not note.is_file():
        return False
    added, now = note.read_text()[:100], (machine.SYSCTL / ALLOWED).read_text().split()
    if added in now and len(now) > 1:
        (machine.SYSCTL / ALLOWED).write_text(" ".join(one for one in now if one != added))
    note.unlink()
    return True
