"""Finished grades, kept in one file each, so that an interrupted grading continues where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from classroom.code import MAX_FILE
from classroom.grading import FILES, Grade
from classroom.lent import ROOT
from classroom.verdict import Check
from files.imports import closure
from files.reader import Unreadable, read_bytes
from files.writer import write_whole

_DECIDE = ("classroom.crew", "classroom.answering")
"""The modules that grade, and that run submissions; a grade also depends on all modules that these need."""
_MOST = 4 << 20
"""The limit of a grade's file, bytes."""


class Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A grade, its checks by part, and a hash of what was graded."""

    of: str
    grade: Grade
    checks: dict[str, list[Check]]


@dataclass(frozen=True)
class Store:
    """Finished grades below ``folder``; ``how``: everything a grade depends on except the submission, and the grading
    code below ``root``."""

    folder: Path
    how: str
    root: Path = ROOT

    @cached_property
    def code(self) -> str:
        """A hash of every module, and of every table beside one, that takes part in a grade."""
        modules = set(closure(_DECIDE, self.root).values())
        folders = {path.parent for path in modules if not path.is_relative_to(self.root / "results")}
        tables = {table for folder in folders for table in folder.glob("*.csv")}  # results are read by nothing here
        found = hashlib.sha256()
        for path in sorted(modules | tables):
            found.update(f"{path.relative_to(self.root)} {path.stat().st_size}\n".encode() + path.read_bytes())
        return found.hexdigest()

    def find(self, submission: Path) -> Kept | None:
        """The grade of exactly these files, if there is one. An unreadable one is made again."""
        try:
            kept = msgspec.json.decode(read_bytes(self._path(submission), _MOST), type=Kept)
        except (OSError, ValueError, msgspec.MsgspecError, Unreadable):
            return None
        return kept if kept.of == self._of(submission) else None

    def keep(self, submission: Path, grade: Grade, checks: Mapping[str, Sequence[Check]]) -> None:
        """Keep a grade. A submission that changed meanwhile is graded again next time."""
        told = {part: [asdict(one) for one in each] for part, each in checks.items()}
        text = json.dumps({"of": self._of(submission), "grade": asdict(grade), "checks": told})
        write_whole(self._path(submission), text)

    def _path(self, submission: Path) -> Path:
        where = hashlib.sha256(str(submission.resolve()).encode(errors="replace")).hexdigest()[:20]
        return self.folder / f"{where}.json"

    def _of(self, submission: Path) -> str:
        found = hashlib.sha256(f"{self.how} {self.code} {submission.name!r}".encode())
        for file in FILES:
            try:
                data = read_bytes(submission / file, MAX_FILE)
            except (OSError, Unreadable) as error:
                data = type(error).__name__.encode()
            found.update(f"{file} {len(data)} ".encode() + data)
        return found.hexdigest()
