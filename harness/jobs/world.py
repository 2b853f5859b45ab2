"""What the guest of a run sees: the same files at the same places for every user, clone and folder of results.

What a guest reads before the traffic begins moves its clock by fractions of a microsecond, and TCP multiplies them. So
it sees the system's programs, a copy of our code, and of the packages that are installed those that we ask for, each
at a fixed place, and no other folder. An environment with more packages, for one, makes longer lists of files.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement

from controllers.pox_main import find_pox
from harness.jobs.code import CODE
from harness.run.spec import RunSpec
from hedera.schemes import file_of
from virtual import cache

PYTHON, PACKAGES, POX = "/opt/python", "/opt/packages", "/opt/pox"
SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Beside /usr: folders of the system, or links into /usr where it is merged."""
ETC = ("alternatives", "iproute2")
"""Of /etc; what else a run reads there, a guest has of its own (`virtual/init.sh`)."""
MININET = "/usr/lib/python3/dist-packages/mininet"
"""The distribution's, which is plain Python, so that any Python can load it."""
INSIDE = (
    "import sys; sys.path[:0] = sys.argv.pop(1).split(':'); "
    "import runpy; runpy.run_module('harness.jobs.inside', run_name='__main__', alter_sys=True)"
)


@dataclass(frozen=True)
class World:
    """``folders``: of the host, by their places in the guest. ``python``: the interpreter there. ``others``: where the
    environment's other packages are, which a scheduler of the user's own may want."""

    folders: Mapping[str, Path]
    python: str
    others: tuple[str, ...]

    def command(self, spec: RunSpec) -> list[str]:
        modules = (CODE, PACKAGES, *(self.others if file_of(spec.scheme) is not None else ()))
        return [self.python, "-I", "-S", "-B", "-c", INSIDE, ":".join(modules)]

    def of_run(self, spec: RunSpec) -> dict[str, Path]:
        """The folders of a run's guest: POX, too, for a controller on it."""
        pox = find_pox() if spec.platform == "pox" else None
        return {**self.folders, **({} if pox is None else {POX: pox.resolve()})}


def world(code: Path) -> World:
    """``code``: the copy of our code (`harness.jobs.code`). Raises Unavailable where this user can keep nothing."""
    folders = {"/usr": Path("/usr"), CODE: code}
    folders |= {f"/{name}": path for name in SYSTEM if (path := Path("/", name)).is_dir()}
    folders |= {f"/etc/{name}": path for name in ETC if (path := Path("/etc", name)).is_dir()}
    prefix, base = Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()
    if not base.is_relative_to("/usr"):
        folders[str(base)] = base
    if prefix != base:
        folders[PYTHON] = prefix
    known = installed()
    places = dict.fromkeys(_place(found) for found in known)
    for place in places:
        if not _seen(place, folders):
            folders[f"/opt/lib/{len(folders)}"] = place
    folders[PACKAGES] = _linked({name: _seen(path, folders) for name, path in _parts(known)} | {"mininet": MININET})
    python = Path(sys.executable).absolute()
    python = prefix / "bin" / python.name if prefix != base else python
    others = tuple(_seen(place, folders) for place in places)
    return World(folders, str(PYTHON / python.relative_to(prefix) if prefix != base else python), others)


def installed() -> list[Distribution]:
    """The distributions that ours needs, and that these need, as far as they are installed."""
    found: dict[str, Distribution] = {}
    left = ["hedera-harness"]
    while left:
        name = re.sub("[-_.]+", "-", left.pop()).lower()
        if name not in found:
            try:
                found[name] = distribution(name)
            except PackageNotFoundError:  # for another Python or system
                continue
            needed = map(Requirement, found[name].requires or ())
            left += [each.name for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    del found["hedera-harness"]
    return [found[name] for name in sorted(found)]


def _parts(known: list[Distribution]) -> Iterator[tuple[str, Path]]:
    """The files and folders that the distributions have beside each other where packages are, by name."""
    for each in known:
        names = {file.parts[0] for file in each.files or ()}
        if not names:  # Debian's packages list no files
            names = {name for top in (each.read_text("top_level.txt") or "").split() for name in (top, f"{top}.py")}
        for name in sorted(names - {"..", "__pycache__"}):
            if not name.endswith(".pth") and (_place(each) / name).exists():
                yield name, _place(each) / name


def _place(found: Distribution) -> Path:
    return Path(str(found.locate_file(""))).resolve()


def _seen(path: Path, folders: Mapping[str, Path]) -> str:
    """Where a guest with these folders sees a path of the host's; empty where it does not."""
    for place, folder in folders.items():
        if path.is_relative_to(folder):
            return str(place / path.relative_to(folder))
    return ""


def _linked(targets: Mapping[str, str]) -> Path:
    """A folder of links, made once for these."""
    kept = cache.folder("packages")
    place = kept / sha256(repr(sorted(targets.items())).encode()).hexdigest()[:16]
    if not place.is_dir():
        with TemporaryDirectory(dir=kept) as name:
            (made := Path(name, "made")).mkdir()
            for link, target in sorted(targets.items()):
                (made / link).symlink_to(target)
            if not place.is_dir():
                made.rename(place)
    return place
