"""Plays scenes in guests, and keeps what was seen, so that no scene is played twice."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from harness.jobs.guests import Ground
from hifi.scene import Scene, Seen
from results.files import read_bytes, write_whole
from results.output import quiet
from virtual.errors import GuestFailed
from virtual.guest import RESULTS, Guest
from virtual.kernel import shipped

ROOT = Path(__file__).resolve().parents[1]
LONGEST_ARGUMENT = 100_000
"""Bytes; Linux takes 128 KiB."""
LONGEST_S = 1800.0
"""Of ours, for the scenes of one guest."""
MOST_BYTES = 1 << 28


def played(scenes: Sequence[Scene], ground: Ground | None, kept: Path) -> list[Seen]:
    """What is seen of scenes: from ``kept``, or now, all that are missing; without a ``ground`` those that are kept.

    GuestFailed, with what it said, when a guest fails.
    """
    missing = [scene for scene in scenes if not _place(scene, kept).exists()]
    if ground is None:
        scenes = [scene for scene in scenes if scene not in missing]
    elif missing:
        if not quiet():
            print(f"{missing[0].name} and {len(missing) - 1} more ...", file=sys.stderr)
        for group in _groups(missing):
            _play(group, ground, kept)
    return [msgspec.json.decode(_place(scene, kept).read_bytes(), type=Seen) for scene in scenes]


def _groups(scenes: Sequence[Scene]) -> Iterator[list[Scene]]:
    group: list[Scene] = []
    for scene in scenes:
        if group and len(msgspec.json.encode([*group, scene])) > LONGEST_ARGUMENT:
            yield group
            group = []
        group.append(scene)
    yield group


def _place(scene: Scene, kept: Path) -> Path:
    digest = hashlib.sha256(msgspec.json.encode(scene) + shipped.identity().encode()).hexdigest()
    return kept / f"{scene.name}-{digest[:12]}.json"


def _play(scenes: Sequence[Scene], ground: Ground, kept: Path) -> None:
    script = 'printf %s "$1" >/run/scenes.json && exec "$2" -m hifi.lab /run/scenes.json "$3"'
    command = ["sh", "-c", script, "sh", msgspec.json.encode(scenes).decode(), sys.executable, RESULTS]
    with Guest(ground.kernel.linux, command, folder=ROOT, layers=ground.layers, real_s=LONGEST_S) as guest:
        ended = guest.wait()
        if not ended.time_travel:
            raise GuestFailed(f"{scenes[0].name}: its time was not virtual")
        for scene in scenes:
            path = guest.results / f"{scene.name}.json"
            if ended.status and not path.exists():
                raise GuestFailed(f"{scene.name}: {ended.stderr.strip()[-2000:]}")
            seen = read_bytes(path, MOST_BYTES)
            msgspec.json.decode(seen, type=Seen)
            write_whole(_place(scene, kept), seen)
