"""Grades that are finished, kept one file each, so that a grading that was interrupted goes on where it ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from classroom.code import MAX_FILE
from classroom.grading import FILES, Grade
from classroom.verdict import Check
from files.reader import Unreadable, read_bytes
from files.writer import write_whole

_OURS = Path(__file__).parent
_MOST = 4 << 20
"""Bytes of a grade that is still read."""


class Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A grade, its checks by part, and what it was the grade of."""

    of: str
    grade: Grade
    checks: dict[str, list[Check]]


@dataclass(frozen=True)
class Store:
    """Finished grades below ``folder``; ``how``: all but the submission that a grade depends on."""

    folder: Path
    how: str

    def find(self, submission: Path) -> Kept | None:
        """The grade of exactly these files, if it is there. One that cannot be read is made again."""
        try:
            kept = msgspec.json.decode(read_bytes(self._path(submission), _MOST), type=Kept)
        except (OSError, ValueError, msgspec.MsgspecError, Unreadable):
            return None
        return kept if kept.of == self._of(submission) else None

    def keep(self, submission: Path, grade: Grade, checks: Mapping[str, Sequence[Check]]) -> None:
        """Remember a grade. A submission that changed meanwhile is graded again next time."""
        told = {part: [asdict(one) for one in each] for part, each in checks.items()}
        text = json.dumps({"of": self._of(submission), "grade": asdict(grade), "checks": told})
        write_whole(self._path(submission), text)

    def _path(self, submission: Path) -> Path:
        where = hashlib.sha256(str(submission.resolve()).encode(errors="replace")).hexdigest()[:20]
        return self.folder / f"{where}.json"

    def _of(self, submission: Path) -> str:
        found = hashlib.sha256(f"{self.how} {submission.name!r}".encode())
        for path in sorted(_OURS.rglob("*.py")):  # checks that changed grade anew
            found.update(path.read_bytes())
        for file in FILES:
            try:
                data = read_bytes(submission / file, MAX_FILE)
            except (OSError, Unreadable) as error:
                data = type(error).__name__.encode()
            found.update(f"{file} {len(data)} ".encode() + data)
        return found.hexdigest()
