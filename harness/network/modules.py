"""Modules of the kernel: loaded where they may be."""

from __future__ import annotations

import subprocess

LOADED_S = 20.0


def load(module: str) -> bool:
    """Whether the kernel has a module now. One that takes longer than LOADED_S to load is left to the kernel, where
    no signal may reach it."""
    quiet = subprocess.DEVNULL
    try:
        process = subprocess.Popen(["modprobe", "-q", module], stdin=quiet, stdout=quiet, stderr=quiet)
        return process.wait(LOADED_S) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        return False
    except OSError:
        return False
