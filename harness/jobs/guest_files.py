"""What the guest of a run sees: the same files at the same places for every user, clone and folder of results.

What a guest reads before the traffic begins moves its clock by fractions of a microsecond, and TCP multiplies them. So
it sees the system's programs, a copy of our code, and of the packages that are installed those that we ask for, each
at a fixed place, and no other folder. An environment with more packages, for one, makes longer lists of files.

The copy has our sources, their byte code, and the machine code of a run's inner loops, as if they lay at CODE. It is
made once for each state of the sources, and so the same whatever clone it is made of, by whom, and whatever this
user's other processes compile meanwhile.
"""

from __future__ import annotations

import compileall
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from py_compile import PycInvalidationMode
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement

from harness.network import machine
from harness.run import CODE, COMPILED, PROJECT
from hedera.schemes import find_file
from record.spec import RunSpec
from virtual import cache

PYTHON, PACKAGES, POX = "/opt/python", "/opt/packages", "/opt/pox"
SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""The system's folders beside /usr. Where they are merged with it, they are links into /usr."""
ETC = ("alternatives", "iproute2")
"""What a guest sees of /etc. A guest has files of its own for whatever else a run reads there (`virtual/init.sh`)."""
MININET = "/usr/lib/python3/dist-packages/mininet"
"""The distribution's copy of Mininet. It is plain Python, so any Python can load it."""
INSIDE = (
    "import sys; sys.path[:0] = sys.argv.pop(1).split(':'); "
    "from harness.run.experiment import run_in_guest; run_in_guest()"
)
OURS = ("controllers", "harness", "hedera", "record", "topos", "traffic", "virtual")
"""The packages of ours that a run imports."""
# A guest sees the times of files, and they would be others for everyone who copies.
WRITTEN_S = 1_767_225_600
"""Every copied file seems to have been written then: at the beginning of 2026, as a guest's clock starts."""
# Machine code carries the paths of its sources, and a guest's clock moves with the bytes that it reads. So the path has
# to be the same for everyone.
COMPILING_AT = Path("/proc/self/cwd/made")
"""The folder in which loops are compiled."""
COMPILE = (
    "import sys; sys.path[:1] = sys.argv.pop(1).split(':'); "
    "from harness.jobs.guest_files import compile_loops; compile_loops()"
)


@dataclass(frozen=True)
class World:
    """``folders``: of the host, by their places in the guest. ``python``: the interpreter there. ``others``: where all
    packages of the environment are, for a scheduler of the user's own."""

    folders: Mapping[str, Path]
    python: str
    others: tuple[str, ...]

    def command(self, spec: RunSpec) -> list[str]:
        modules = (CODE, PACKAGES, *(self.others if find_file(spec.scheme) is not None else ()))
        return [self.python, "-I", "-S", "-B", "-c", INSIDE, ":".join(modules)]

    def of_run(self, spec: RunSpec) -> dict[str, Path]:
        """The folders of a run's guest: POX, too, for a controller on it."""
        pox = machine.find_pox() if spec.platform == "pox" else None
        return {**self.folders, **({} if pox is None else {POX: pox.resolve()})}


def make_world(code: Path) -> World:
    """``code``: the copy of our code (`copy_code`). Raises UnfitMachine where this user can keep nothing."""
    folders = {"/usr": Path("/usr"), CODE: code}
    folders |= {f"/{name}": path for name in SYSTEM if (path := Path("/", name)).is_dir()}
    folders |= {f"/etc/{name}": path for name in ETC if (path := Path("/etc", name)).is_dir()}
    prefix, base = Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()
    if not base.is_relative_to("/usr"):
        folders[str(base)] = base
    if prefix != base:
        folders[PYTHON] = prefix
    distributions = list_installed()
    places = _list_places(distributions)
    for place in places:
        if not _find_path_in_guest(place, folders):
            folders[f"/opt/lib/{len(folders)}"] = place
    folders[PACKAGES] = _link_folder(
        {name: _find_path_in_guest(path, folders) for name, path in _list_parts(distributions)} | {"mininet": MININET}
    )
    # Python is not called by the environment's name for it: beside that name it would read pyvenv.cfg, which tells the
    # path of the environment, another one for each user.
    python = _find_path_in_guest(Path(sys.executable).resolve(), folders) or _find_path_in_guest(
        Path(sys.executable).absolute(), folders
    )
    return World(folders, python, tuple(_find_path_in_guest(place, folders) for place in places))


def list_installed() -> list[Distribution]:
    """The distributions that ours needs, and that these need, as far as they are installed."""
    distributions: dict[str, Distribution] = {}
    left = ["hedera-harness"]
    while left:
        name = re.sub("[-_.]+", "-", left.pop()).lower()
        if name not in distributions:
            try:
                distributions[name] = distribution(name)
            except PackageNotFoundError:  # for another Python or system
                continue
            needed = map(Requirement, distributions[name].requires or ())
            left += [
                requirement.name
                for requirement in needed
                if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            ]
    del distributions["hedera-harness"]
    return [distributions[name] for name in sorted(distributions)]


def _list_parts(distributions: list[Distribution]) -> Iterator[tuple[str, Path]]:
    """The files and folders that the distributions have beside each other where packages are, by name."""
    for package in distributions:
        names = {file.parts[0] for file in package.files or ()}
        if not names:  # Debian's packages list no files
            names = {name for top in (package.read_text("top_level.txt") or "").split() for name in (top, f"{top}.py")}
        for name in sorted(names - {"..", "__pycache__"}):
            if not name.endswith(".pth") and (_find_place(package) / name).exists():
                yield name, _find_place(package) / name


def _list_places(distributions: list[Distribution]) -> list[Path]:
    return list(dict.fromkeys(_find_place(distribution) for distribution in distributions))


def _find_place(package: Distribution) -> Path:
    return Path(str(package.locate_file(""))).resolve()


def _find_path_in_guest(path: Path, folders: Mapping[str, Path]) -> str:
    """Where a guest with these folders sees a path of the host's; empty where it does not."""
    for place, folder in folders.items():
        if path.is_relative_to(folder):
            return str(place / path.relative_to(folder))
    return ""


def _link_folder(targets: Mapping[str, str]) -> Path:
    """A folder of links, made once for these."""
    parent = cache.make_folder("packages")
    place = parent / sha256(repr(sorted(targets.items())).encode()).hexdigest()[:16]
    if not place.is_dir():
        with TemporaryDirectory(dir=parent) as name:
            (folder := Path(name, "made")).mkdir()
            for link, target in sorted(targets.items()):
                (folder / link).symlink_to(target)
            if not place.is_dir():
                folder.rename(place)
    return place


# --- the copy of our code -------------------------------------------------------------------------------------------


def copy_code(say: Callable[[str], None]) -> Path:
    """The folder of the copy. Raises UnfitMachine where this user can keep nothing."""
    from llvmlite.binding import get_host_cpu_name

    parent = cache.make_folder("code")
    files = {
        path.relative_to(PROJECT): path.read_bytes() for package in OURS for path in _list_files(PROJECT / package)
    }
    contents = "".join(f"{path} {sha256(content).hexdigest()}\n" for path, content in sorted(files.items()))
    # Machine code is for one Python, one Numba and one processor. These are asked for without importing Numba, which
    # takes a third of a second at the start of every command that makes a run.
    made_for = (sys.version, machine.find_library_version("numba"), get_host_cpu_name())
    place = parent / sha256(f"{contents}{made_for}".encode()).hexdigest()[:16]
    with cache.locked(parent.with_name("code.lock"), lambda holder: say(cache.describe_wait(holder, "what runs need"))):
        if not place.is_dir():
            from hedera.compiled import make_room

            say("compiling what runs need, once: a minute or less ...")
            make_room(parent)
            with TemporaryDirectory(dir=parent) as name:
                copy, loops = Path(name, "made"), Path(name, "loops")
                for path, content in files.items():
                    (copy / path).parent.mkdir(parents=True, exist_ok=True)
                    (copy / path).write_bytes(content)
                    os.utime(copy / path, (WRITTEN_S, WRITTEN_S))
                loops.mkdir(mode=0o700)
                # Machine code carries the paths of its sources and of Numba's, and a guest's clock moves with the bytes
                # that it reads; so whoever compiles stands where all of it is.
                modules = [COMPILING_AT]
                for number, packages in enumerate(_list_places(list_installed())):
                    Path(name, f"packages{number}").symlink_to(packages)
                    modules.append(COMPILING_AT.with_name(f"packages{number}"))
                command = [sys.executable, "-s", "-S", "-B", "-c", COMPILE, ":".join(map(str, modules))]
                environment = {name: word for name, word in os.environ.items() if not name.startswith("PYTHON")}
                # Sets have the same order then, whoever compiles.
                environment |= {"NUMBA_CACHE_DIR": str(loops), "PYTHONHASHSEED": "0"}
                done = subprocess.run(command, cwd=name, env=environment, capture_output=True, text=True)
                if done.returncode:
                    say(f"the inner loops of runs cannot be compiled here: {done.stderr.strip()[-200:]}")
                else:
                    _move_loops(loops, copy)
                unchecked = PycInvalidationMode.UNCHECKED_HASH
                compileall.compile_dir(copy, quiet=2, stripdir=copy, prependdir=CODE, invalidation_mode=unchecked)
                copy.rename(place)
        # `make_room` removes what nobody has used for long.
        os.utime(place)
    return place


def _list_files(package: Path) -> list[Path]:
    """The files of a package that belong to the program: modules, tables and scripts. Results are not among them, nor
    is anything that was compiled."""
    modules = [path for path in package.rglob("*.py") if not any(part.startswith(".") for part in path.parts[-3:])]
    return sorted([*modules, *(path for kind in ("csv", "sh", "txtpb") for path in package.glob(f"*.{kind}"))])


def _move_loops(loops: Path, copy: Path) -> None:
    """Put the machine code of COMPILED_AT where Numba, and `hedera.compiled`, look for it with sources at CODE."""
    from numba.core.caching import _CacheLocator

    from hedera.compiled import hash_sources

    for state in loops.iterdir():
        loops_of_state = copy / COMPILED / hash_sources(copy, CODE)
        loops_of_state.mkdir(parents=True, mode=0o700)
        for package in sorted({path.parent.relative_to(copy) for path in copy.rglob("*.py")}):
            modules = (str(folder / package / "module.py") for folder in (COMPILING_AT, Path(CODE)))
            old, new = map(_CacheLocator.get_suitable_cache_subpath, modules)
            if (state / old).is_dir():
                shutil.move(state / old, loops_of_state / new)


def compile_loops() -> None:
    """Compile every loop that a run may call, or load it."""
    from controllers.hedera_loop import warm_up
    from hedera.maxmin import compute_max_min_rates
    from hedera.schemes import SCHEMES

    for scheme in SCHEMES.values():
        if scheme.scheduler is not None:
            for topology in (None,) if scheme.clos else (None, "leaf-spine:2,2,2"):
                settings = RunSpec(scheme.name, "stride:1", topology=topology)
                warm_up(settings, settings.topo)
    compute_max_min_rates([[0]], [1.0])
