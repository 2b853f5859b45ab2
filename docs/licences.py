"""Writes docs/licences.md from the locks and what is installed: .venv/bin/python docs/licences.py"""

import re
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from virtual.kernel.shipped import manifest

HERE = Path(__file__).parent
LOCKS = {"runs": "requirements.lock", "clusters": "requirements-cluster.lock", "checks": "requirements-check.lock"}
"""By what needs a package first."""
ELSEWHERE = {
    "colorama": "BSD-3-Clause",
    "exceptiongroup": "MIT",
    "legacy-cgi": "PSF-2.0",
    "pytz": "MIT",
    "tomli": "MIT",
}
"""Of packages that only some versions of Python, or other systems, need."""
TEXT = """# Licences of what this project uses

Only the guests' kernel is in the repository; set-up installs the rest, by package name. Made by `docs/licences.py`.

## Python packages

| package | licence | needed by |
| --- | --- | --- |
{packages}

## Debian packages

| package | licence | needed by |
| --- | --- | --- |
| mininet | Mininet's (BSD-like) | runs |
| openvswitch-switch | Apache-2.0 | runs |
| iperf | BSD-3-Clause | runs |
| bwm-ng | GPL-2.0-or-later | runs |
| iproute2, ethtool, iputils-ping, procps, kmod, util-linux, git | GPL and LGPL, BSD for ping | runs |
| bubblewrap | LGPL-2.0-or-later | grading |
| python3-seccomp | LGPL-2.1 | grading |
| libns3-dev | GPL-2.0 | `hedera hull` |
| chromium, chromium-driver | BSD-3-Clause and others | checks |

## The guests' kernel

`virtual/kernel/linux.xz` is Linux {release}, under GPL-2.0 with the syscall note, compiled as a program and linked with
the GNU C library (LGPL-2.1 or later). Its source is Debian's {package}, which snapshot.debian.org keeps, with
our changes and configuration in `virtual/kernel/`; `README.md` and `COPYING` there have the rest, and `hedera kernel
build` makes it.

`packets/engine` is compiled and linked with ns-3 on the user's machine. Do not give such a binary away: ns-3 is under
GPL-2.0 alone, with which Apache-2.0, the licence of this project, does not go together in one program.
"""


def table() -> str:
    needed: dict[str, str] = {}
    for what, lock in LOCKS.items():
        text = (HERE.parent / "setup" / lock).read_text(encoding="utf-8")
        for name in re.findall(r"(?m)^([a-z0-9.-]+)==", text):
            needed.setdefault(name, what)
    return "\n".join(f"| {name} | {_licence(name)} | {needed[name]} |" for name in sorted(needed))


def _licence(name: str) -> str:
    try:
        told = metadata(name)
    except PackageNotFoundError:
        return ELSEWHERE[name]
    if told["License-Expression"]:
        return str(told["License-Expression"])
    classified = [line.rpartition(" :: ")[2] for line in told.get_all("Classifier", []) if line.startswith("License")]
    return ", ".join(classified) or str(told["License"]).splitlines()[0]


if __name__ == "__main__":
    (HERE / "licences.md").write_text(TEXT.format(packages=table(), **manifest()), encoding="utf-8")
