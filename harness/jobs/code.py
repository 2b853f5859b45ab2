"""What guests load and need not make: Python's byte code, and the machine code of a run's inner loops.

Whatever a guest reads or makes before the traffic begins moves its clock by some microseconds, and TCP multiplies them.
So all guests of one state of the sources load the same files, whatever this user's other processes compile meanwhile.
"""

from __future__ import annotations

import compileall
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.run.source import ROOT
from virtual import cache

PACKAGES = ("controllers", "harness", "hedera", "results", "topos", "traffic", "virtual")
"""What runs import of ours."""
COMPILE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from harness.jobs.code import compile_loops; compile_loops()"
)


def code_of_runs(say: Callable[[str], None]) -> Path | None:
    """The folder that guests copy, and give to Numba as its own: made once for each state and place of the sources, and
    not changed from then on. None if compiling fails. Raises Unavailable where this user can keep nothing."""
    from hedera.compiled import FOLDERS, KEPT_S

    if not sys.dont_write_bytecode:
        for package in PACKAGES:
            compileall.compile_dir(ROOT / package, quiet=2)
    state = hashlib.sha256(f"{sys.version} {version('numba')}".encode())
    for path in sorted([*(ROOT / "hedera").glob("*.py"), *(ROOT / "topos").glob("*.py")]):
        about = path.stat()  # Numba looks at the same
        state.update(f"{path} {about.st_size} {about.st_mtime_ns}\n".encode())
    kept = cache.folder("code")
    place = kept / state.hexdigest()[:16]
    with cache.locked(kept.with_name("code.lock"), lambda: say("another one compiles what runs need; waiting ...")):
        if not place.is_dir():
            say("compiling what runs need, once: a minute or less ...")
            for old in sorted(kept.iterdir(), key=lambda one: one.stat().st_mtime)[:-FOLDERS]:
                if time.time() - old.stat().st_mtime > KEPT_S:  # a sweep may still go on with a younger one
                    shutil.rmtree(old, ignore_errors=True)
            with TemporaryDirectory(dir=kept) as name:
                made = Path(name, "made")
                made.mkdir(mode=0o700)
                command = [sys.executable, "-I", "-c", COMPILE, str(ROOT)]
                done = subprocess.run(command, env={**os.environ, "NUMBA_CACHE_DIR": str(made)}, capture_output=True)
                if done.returncode:
                    return None
                made.rename(place)
        os.utime(place)
    return place


def compile_loops() -> None:
    """Compile every loop that a run may call, or load it."""
    from controllers.hedera_loop import warm_up
    from controllers.settings import Settings
    from hedera.maxmin import max_min_rates
    from hedera.schemes import SCHEMES

    for scheme in SCHEMES.values():
        if scheme.scheduler is not None:
            settings = Settings(scheme=scheme.name)
            warm_up(settings, settings.tree)
    max_min_rates([[0]], [1.0])
