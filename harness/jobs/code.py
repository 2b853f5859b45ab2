"""What guests load and need not make: Python's byte code, and the machine code of a run's inner loops.

Whatever a guest reads or makes before the traffic begins moves its clock by some microseconds, and TCP multiplies them.
So all guests of one state of the sources load the same files, whatever this user's other processes compile meanwhile.
"""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
from collections.abc import Callable
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
    from hedera.compiled import make_room, sources

    if not sys.dont_write_bytecode:
        for package in PACKAGES:
            compileall.compile_dir(ROOT / package, quiet=2)
    kept = cache.folder("code")
    place = kept / sources(ROOT, times=True)
    with cache.locked(kept.with_name("code.lock"), lambda: say("another one compiles what runs need; waiting ...")):
        if not place.is_dir():
            say("compiling what runs need, once: a minute or less ...")
            make_room(kept)
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
            for topology in (None,) if scheme.clos else (None, "leaf-spine:2,2,2"):
                settings = Settings(scheme=scheme.name, topology=topology)
                warm_up(settings, settings.topo)
    max_min_rates([[0]], [1.0])
