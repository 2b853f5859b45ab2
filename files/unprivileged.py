"""Programs that root does not run as root: they run as the user behind sudo, or as nobody, without capabilities.

Rights are given up before the program starts, so no part of it runs as root.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from files.rights import NOBODY, User, invoker

NOBODY_S_CACHE = Path("/var/cache/hedera/nobody")
"""Compiled code of programs that run as the user nobody, which has no home; no other user reads it."""
OURS = ("files", "topos", "traffic", "hedera", "controllers", "classroom")
"""Our packages that such programs may need."""
LOOKED_S = 20.0
"""The time limit for checking whether a program can read its files."""
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "HEDERA_RUN", "POX_DIR", "PYTHONDONTWRITEBYTECODE")
"""The variables of root's environment that such a program gets."""
_ROOT = Path(__file__).resolve().parents[1]
_LEND = Path(__file__).with_name("lend.py")


@dataclass(frozen=True)
class Unprivileged:
    """How to start a program with no more rights than it needs. ``prefix`` goes before its command line, and makes
    the program end with the process that starts it; ``environment`` is its environment; ``user`` the user it runs as,
    None for the present one."""

    prefix: tuple[str, ...]
    environment: dict[str, str]
    user: User | None


def tied(signal: str = "KILL") -> tuple[str, ...]:
    """A prefix for a command that must end with the process that starts it, however that ends (even by kill -9)."""
    return ("setpriv", "--pdeathsig", signal, "--")


def unprivileged(machine_s: Iterable[Path] = (), user_s: Iterable[Path] = ()) -> Unprivileged:
    """How to give up root's rights for a program that has to read our packages, ``machine_s`` and ``user_s``.

    If it could not read them (everything is in /root), it finds read-only copies at the same paths, in its own view
    of the file system (`files.lend`). ``user_s``: files that the user named. In a root shell they are lent to the
    user nobody; behind sudo, the user who called it has to be able to read them. Without root there is nothing to
    give up.
    """
    if os.geteuid() != 0:
        return Unprivileged(tied(), dict(os.environ), None)
    user = invoker() or NOBODY
    drop = _drop(user)
    reads = [*(path for name in OURS if (path := _ROOT / name).is_dir()), *machine_s]
    reads += user_s if user == NOBODY else ()
    bound = list(dict.fromkeys(Path(path) for path in (sys.prefix, sys.base_prefix)))
    if not _can_read(drop, [*bound, Path(os.__file__), Path(sys.executable), *reads]):
        plan = {"user": asdict(user), "bound": list(map(str, bound)), "copied": list(map(str, reads))}
        drop = (sys.executable, "-I", "-S", "-B", str(_LEND), json.dumps(plan), *drop)
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | {"HOME": user.home}
    if user == NOBODY:
        _make_cache()
        environment["NUMBA_CACHE_DIR"] = str(NOBODY_S_CACHE)
    return Unprivileged((*drop, *tied()), environment, user)


def _drop(user: User) -> tuple[str, ...]:
    """The command that becomes ``user`` without capabilities, and cannot regain any."""
    groups = f"--groups={','.join(map(str, user.groups))}" if user.groups else "--clear-groups"
    without = ("--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all")
    return ("setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", groups, *without, "--")


def _can_read(drop: Sequence[str], paths: Iterable[Path]) -> bool:
    test = 'for path; do test -r "$path" && { test ! -d "$path" || test -x "$path"; } || exit 1; done'
    command = [*drop, "sh", "-c", test, "sh", *map(str, paths)]
    try:
        done = subprocess.run(command, check=False, capture_output=True, cwd="/", timeout=LOOKED_S)
    except subprocess.TimeoutExpired:
        raise TimeoutError(
            f"checking whether {sys.prefix} and the code can be read takes too long: does that disk answer?"
        ) from None
    return done.returncode == 0


def _make_cache() -> None:
    """Create a folder that belongs to the user nobody, below one that only root can write to."""
    NOBODY_S_CACHE.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if not NOBODY_S_CACHE.exists():
        NOBODY_S_CACHE.mkdir(mode=0o700)
        os.chown(NOBODY_S_CACHE, NOBODY.uid, NOBODY.gid)
