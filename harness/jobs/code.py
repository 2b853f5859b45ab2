"""The code that guests run: a copy of the sources, their byte code, and the machine code of a run's inner loops.

It is made once for each state of the sources, as if they lay at CODE, where every guest sees it. So it is the same
whatever clone it is made of, by whom, and whatever this user's other processes compile meanwhile.
"""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from py_compile import PycInvalidationMode
from tempfile import TemporaryDirectory

from harness.run.source import ROOT
from virtual import cache

CODE = "/opt/hedera"
"""Where guests see it."""
COMPILED = "compiled"
"""The folder of machine code in it."""
PACKAGES = ("controllers", "harness", "hedera", "record", "topos", "traffic", "virtual")
"""What runs import of ours."""
WRITTEN_S = 1_767_225_600
"""When all files of it were written, as it seems."""
COMPILE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from harness.jobs.code import compile_loops; compile_loops()"
)


def code_of_runs(say: Callable[[str], None]) -> Path:
    """The folder of the copy. Raises Unavailable where this user can keep nothing."""
    from hedera.compiled import make_room, sources

    kept = cache.folder("code")
    files = {path.relative_to(ROOT): path.read_bytes() for package in PACKAGES for path in _files(ROOT / package)}
    contents = "".join(f"{path} {sha256(content).hexdigest()}\n" for path, content in sorted(files.items()))
    place = kept / sha256(f"{contents}{sources(ROOT, CODE)}{sys.version}".encode()).hexdigest()[:16]
    with cache.locked(kept.with_name("code.lock"), lambda: say("another one compiles what runs need; waiting ...")):
        if not place.is_dir():
            say("compiling what runs need, once: a minute or less ...")
            make_room(kept)
            with TemporaryDirectory(dir=kept) as name:
                made, loops = Path(name, "made"), Path(name, "loops")
                for path, content in files.items():
                    (made / path).parent.mkdir(parents=True, exist_ok=True)
                    (made / path).write_bytes(content)
                    os.utime(made / path, (WRITTEN_S, WRITTEN_S))
                loops.mkdir(mode=0o700)
                command = [sys.executable, "-I", "-B", "-c", COMPILE, str(made)]
                environment = {**os.environ, "NUMBA_CACHE_DIR": str(loops)}
                done = subprocess.run(command, env=environment, capture_output=True, text=True)
                if done.returncode:
                    say(f"the inner loops of runs cannot be compiled here: {done.stderr.strip()[-200:]}")
                else:
                    _move_loops(loops, made)
                unchecked = PycInvalidationMode.UNCHECKED_HASH
                compileall.compile_dir(made, quiet=2, stripdir=made, prependdir=CODE, invalidation_mode=unchecked)
                made.rename(place)
        os.utime(place)
    return place


def _files(package: Path) -> list[Path]:
    """What belongs to the program: modules, tables and scripts, no results and nothing that was compiled."""
    own = [path for path in package.rglob("*.py") if not any(part.startswith(".") for part in path.parts[-3:])]
    return sorted([*own, *(path for kind in ("csv", "sh", "txtpb") for path in package.glob(f"*.{kind}"))])


def _move_loops(loops: Path, made: Path) -> None:
    """Put the machine code where Numba, and `hedera.compiled`, will look for it when the sources are at CODE."""
    from numba.core.caching import _CacheLocator

    from hedera.compiled import sources

    for state in loops.iterdir():
        there = made / COMPILED / sources(made, CODE)
        there.mkdir(parents=True, mode=0o700)
        for package in sorted({path.parent for path in made.rglob("*.py")}):
            seen = Path(CODE, package.relative_to(made))
            old, new = (_CacheLocator.get_suitable_cache_subpath(str(at / "module.py")) for at in (package, seen))
            if (state / old).is_dir():
                shutil.move(state / old, there / new)


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
