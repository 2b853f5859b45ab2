"""The environment variables that root may trust: a root shell (as after `su`) keeps those of the user's session.

sudo would have cleared them. Variables say from where programs load code and settings, and where they put caches
(which are code, too) and temporary files; and HEDERA_RUN marks the processes of a run, which `hedera clean` ends.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from files.rights import whose

_CODE = ("PYTHON", "LD_", "GIT_", "PERL", "BASH_", "NUMBA_", "DASK_", "MPL", "MATPLOTLIB", "XDG_", "JINJA")
"""Prefixes of variables that load code, or settings that name code."""
_PLACES = ("NUMBA_CACHE_DIR", "MPLCONFIGDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TMPDIR", "TEMP", "TMP")
"""Variables that are kept if they name a folder that only root can change."""
_SHELL = ("ENV", "CDPATH", "IFS", "SHELLOPTS", "GCONV_PATH", "LOCPATH", "NLSPATH", "HEDERA_RUN")
_HARMLESS = ("PYTHONDONTWRITEBYTECODE", "NUMBA_NUM_THREADS", "NUMBA_DISABLE_JIT")


def believed(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that root may keep; HOME is always root's own."""
    kept = {name: value for name, value in environment.items() if _harmless(name, value)}
    if "PATH" in kept:
        kept["PATH"] = os.pathsep.join(place for place in kept["PATH"].split(os.pathsep) if _no_user_s(place))
    if "HOME" in kept:
        kept["HOME"] = pwd.getpwuid(0).pw_dir
    return kept


def _harmless(name: str, value: str) -> bool:
    if name in _PLACES:
        return value.startswith("/") and whose(Path(value)).root_s_alone
    return name in _HARMLESS or not (name.startswith(_CODE) or name in _SHELL)


def _no_user_s(place: str) -> bool:
    return place.startswith("/") and whose(Path(place)).other is None
