"""What takes seconds to make and is the same for all: copies, for users whom tests make up, of what is there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from hedera.compiled import find_code_folder
from virtual import cache


def machine_code(place: Path, uid: int | None = None) -> Path:
    """A user's folder ``place`` of compiled loops, with all that has been compiled on this machine by now."""
    return _copied([find_code_folder(), cache.make_folder("compiled")], "*", place, uid)


def fonts(place: Path, uid: int | None = None) -> Path:
    """A user's folder ``place`` of matplotlib's, with its list of this machine's fonts."""
    import matplotlib
    import matplotlib.font_manager  # writes the list where there is none yet

    return _copied([Path(matplotlib.get_cachedir())], "fontlist-*.json", place, uid)


def _copied(sources: list[Path], names: str, place: Path, uid: int | None) -> Path:
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in (path for source in sources for path in source.glob(names)):
        try:
            if path.is_dir():
                shutil.copytree(path, place / path.name, dirs_exist_ok=True)
            else:
                shutil.copy(path, place / path.name)
        except (FileNotFoundError, shutil.Error):  # another test's process has made room, or is just writing it
            continue
    for path in (place, *place.rglob("*")):
        os.chown(path, *[os.geteuid() if uid is None else uid] * 2)
    return place
