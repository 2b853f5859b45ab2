"""Who runs what root should not: the user behind sudo, or nobody.

Rights are given up before the program starts, so that not a line of it runs as root.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from files.rights import NOBODY, User, invoker

NOBODY_S_CACHE = Path("/var/cache/hedera/nobody")
"""Compiled code of what runs as nobody, who has no home; nobody else reads it."""
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "HEDERA_RUN", "POX_DIR", "PYTHONDONTWRITEBYTECODE")
"""Of root's environment; the rest is none of such a program's business."""


@dataclass(frozen=True)
class Unprivileged:
    """How to start a program with no more rights than it needs. ``prefix`` goes before its command line, and sees to
    it that the program dies with who starts it; ``environment`` is its environment; ``user`` who it is then, None for
    the user that we are already."""

    prefix: tuple[str, ...]
    environment: dict[str, str]
    user: User | None


_DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")


def unprivileged(reads: Iterable[Path]) -> Unprivileged:
    """The way out of root's rights for a program that has to read ``reads``: its own code, and what it is given.

    Where the user could not (the code lies in /root), the program keeps one right of root's, to read files, and no
    other. Without being root there is nothing to give up.
    """
    if os.geteuid() != 0:
        return Unprivileged(_DIES_WITH_US, dict(os.environ), None)
    user = invoker() or NOBODY
    drop = _drop(user)
    if not _can_read(drop, reads):
        drop = _drop(user, "dac_read_search")
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | {"HOME": user.home}
    if user == NOBODY:
        _make_cache()
        environment["NUMBA_CACHE_DIR"] = str(NOBODY_S_CACHE)
    return Unprivileged((*drop, *_DIES_WITH_US), environment, user)


def _drop(user: User, kept: str = "") -> tuple[str, ...]:
    """The command that becomes ``user`` without capabilities, but for ``kept``, and can get none again."""
    only = "-all" + (f",+{kept}" if kept else "")
    groups = f"--groups={','.join(map(str, user.groups))}" if user.groups else "--clear-groups"
    keep = (f"--ambient-caps=+{kept}",) if kept else ()
    return (
        "setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", groups, "--no-new-privs",
        f"--inh-caps={only}", *keep, f"--bounding-set={only}", "--",
    )  # fmt: skip


def _can_read(drop: tuple[str, ...], paths: Iterable[Path]) -> bool:
    test = 'for path; do test -r "$path" || exit 1; done'
    code = [Path(os.__file__), Path(__file__), Path(sys.executable)]
    command = [*drop, "sh", "-c", test, "sh", *map(str, [*code, *paths])]
    return subprocess.run(command, check=False, capture_output=True, cwd="/").returncode == 0


def _make_cache() -> None:
    """A folder that is nobody's, below one that only root can write to."""
    NOBODY_S_CACHE.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if not NOBODY_S_CACHE.exists():
        NOBODY_S_CACHE.mkdir(mode=0o700)
        os.chown(NOBODY_S_CACHE, NOBODY.uid, NOBODY.gid)
