"""Plays scenes in guests, and keeps what was seen, so that no scene is played twice."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec

from harness.cli.options import tell_user
from harness.jobs import guests
from record.files import write_whole
from studies.hifi.scene import Scene, Seen
from traffic.textfile import read_regular
from virtual.errors import GuestFailed
from virtual.guest import FILES, RESULTS, Guest
from virtual.kernel import shipped

KEPT = Path("results/runs/hifi")
ROOT = Path(__file__).resolve().parents[2]
OF_A_GUEST = 8
"""Scenes, at most."""
LONGEST_S = 1800.0
"""Of ours, for the scenes of one guest."""
MOST_BYTES = 1 << 28


def played(scenes: Sequence[Scene], kept: Path = KEPT) -> list[Seen]:
    """What is seen of scenes: from ``kept``, or now, all that are missing.

    GuestFailed, with what it said, when a guest fails.
    """
    missing = [scene for scene in scenes if not _place(scene, kept).exists()]
    if missing:
        tell_user(f"{missing[0].name} and {len(missing) - 1} more ...")
    for n in range(0, len(missing), OF_A_GUEST):
        _play(missing[n : n + OF_A_GUEST], kept)
    return [msgspec.json.decode(_place(scene, kept).read_bytes(), type=Seen) for scene in scenes]


def _place(scene: Scene, kept: Path) -> Path:
    digest = hashlib.sha256(msgspec.json.encode(scene) + shipped.identity().encode()).hexdigest()
    return kept / f"{scene.name}-{digest[:12]}.json"


@cache
def _ground() -> guests.Ground:
    return guests.prepare(tell_user)


def _play(scenes: Sequence[Scene], kept: Path) -> None:
    ground, files = _ground(), {"scenes.json": msgspec.json.encode(scenes)}
    command = [sys.executable, "-m", "studies.hifi.lab", f"{FILES}/scenes.json", RESULTS]
    with Guest(ground.kernel.linux, command, folder=ROOT, layers=ground.layers, files=files, real_s=LONGEST_S) as guest:
        ended = guest.wait()
        if not ended.time_travel:
            raise GuestFailed(f"{scenes[0].name}: its time was not virtual")
        for scene in scenes:
            path = guest.results / f"{scene.name}.json"
            if ended.status and not path.exists():
                raise GuestFailed(f"{scene.name}: {ended.stderr.strip()[-2000:]}")
            seen = read_regular(path, MOST_BYTES)
            msgspec.json.decode(seen, type=Seen)
            write_whole(_place(scene, kept), seen)
