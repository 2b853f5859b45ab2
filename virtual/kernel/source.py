"""A kernel's source: Debian's package of the kernel that is shipped, or the archive that HEDERA_KERNEL_SOURCE names."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from pathlib import Path

from virtual import apt
from virtual.errors import Unavailable
from virtual.kernel.shipped import NAMED, Say

SUITE, PACKAGE, VERSION = "sid", "linux-source-7.2", "7.2.13-1"
"""What is shipped was made of. Debian keeps every version at snapshot.debian.org, when its suite has a newer one."""
_LEAVE_OUT = ("*/drivers/gpu/*.[ch]", "*/drivers/media/*.[ch]", "*/drivers/net/[ew]*/*.[ch]", "*/sound/*.[ch]")
"""More than half of the source, of which User-Mode Linux needs only the configuration files."""


def lay(folder: Path, say: Say) -> tuple[Path, str, str]:
    """Unpack the source that is asked for into a folder: its tree, its name, and the hash of its archive.

    Raises Unavailable when it cannot be had.
    """
    if named := os.environ.get(NAMED):
        archive = Path(named).expanduser()
        if not archive.is_file():
            raise Unavailable(f"{NAMED} names {named}, which is no archive of a kernel's source")
        name = archive.name
    else:
        archive, name = _packaged(folder, say), f"{PACKAGE} {VERSION}"
    say(f"unpacking {archive.name}")
    tree = folder / "tree"
    tree.mkdir()
    options = ["--strip-components=1", "--no-same-owner", *(f"--exclude={pattern}" for pattern in _LEAVE_OUT)]
    done = subprocess.run(["tar", "-xf", archive, "-C", tree, *options], capture_output=True, text=True)
    if done.returncode or not (tree / "arch/um/Makefile").exists():
        reason = done.stderr.strip().partition("\n")[0] or "it has no arch/um"
        raise Unavailable(f"{archive.name} is no archive of a kernel's source: {reason}")
    with archive.open("rb") as file:
        return tree, name, hashlib.sha256(file.read()).hexdigest()


def _packaged(folder: Path, say: Say) -> Path:
    say(f"fetching {PACKAGE} {VERSION} of Debian {SUITE} (160 MB)")
    fetched = folder / "fetched"
    fetched.mkdir()
    try:
        [file] = apt.download([f"{PACKAGE}={VERSION}"], fetched, apt.lists(SUITE))
    except Unavailable as reason:
        raise Unavailable(
            f"the source cannot be fetched ({reason}): get {PACKAGE} {VERSION} from snapshot.debian.org, "
            f"and set {NAMED} to the archive in it"
        ) from None
    apt.unpack(file, fetched)
    [archive] = (fetched / "usr/src").glob("linux-source-*.tar.xz")
    return archive


def version(tree: Path) -> tuple[int, int, int]:
    """The version of a tree, such as (6, 12, 117)."""
    head = (tree / "Makefile").read_text(encoding="utf-8")[:1000]
    found = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", head, re.MULTILINE))
    return int(found["VERSION"]), int(found["PATCHLEVEL"]), int(found["SUBLEVEL"])
