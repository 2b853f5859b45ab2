"""Which code runs are made with: the harness keeps what it was started with, and a controller is started anew for every
run, from the disk. Where that has changed meanwhile, the run does not count (`harness.jobs.publish`)."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.network.machine import known_facts

ROOT = Path(__file__).resolve().parents[2]
EMULATOR = 5
"""The version of what emulates: the guests' kernel, ports, sinks, what is drawn from a seed. It is raised whenever
shares of the control may change by more than chance; runs of other versions are not drawn together unsaid. 1 was
everything before 1.1. Within a version another kernel or other code, which run.json names, may move what one seed
gives. A test holds which kernel belongs to it."""
ROOMS = ("topos", "traffic", "hedera", "controllers", "record", "harness/network", "harness/hosts", "harness/run",
         "harness/verdict")  # fmt: skip
"""Where the code is that takes part in a run, and the tables that it reads."""
GIT_S = 20.0


@dataclass(frozen=True)
class Source:
    """A revision of git (``unknown`` outside a checkout), and a hash of all code that takes part in a run."""

    revision: str
    fingerprint: str


def source() -> Source:
    return Source(git_revision(), fingerprint(ROOT))


@cache
def first_source() -> Source:
    return source()


def fingerprint(root: Path) -> str:
    """16 hexadecimal digits that change when a file below ``root`` does that takes part in a run."""
    digest = hashlib.sha256()
    for path in parts(root):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def parts(root: Path) -> list[Path]:
    return sorted(path for room in ROOMS for kind in ("*.py", "*.csv", "*.txtpb") for path in (root / room).glob(kind))


def described() -> dict[str, str]:
    """For the result of a run that starts now: the code on the disk."""
    now = source()
    return {"revision": now.revision, "source": now.fingerprint}


def git_revision() -> str:
    """The commit this code is at, with ``+`` when the tree differs from it; ``unknown`` outside a checkout, and where
    git is missing or takes longer than GIT_S."""
    if known := known_facts().get("revision"):
        return str(known)
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        return head + "+" * bool(_git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _git(*words: str) -> str:
    git = ["git", "--no-optional-locks", "-c", f"safe.directory={ROOT}", "-C", str(ROOT)]
    done = subprocess.run([*git, *words], capture_output=True, text=True, check=True, timeout=GIT_S)
    return done.stdout.strip()
