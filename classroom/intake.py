"""What students handed in: their files, in whatever they are packed and whatever a service has made of the names.

Nothing of it is trusted: archives are read in memory, no link is followed, sizes and counts have limits, and each
hand-in is read in a process of its own, so that whatever is in one affects its author alone.
"""

from __future__ import annotations

import errno
import io
import os
import re
import resource
import stat
import tarfile
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from classroom.submission import MAX_FILE, NAMES, Code
from record.errors import to_one_line
from traffic.user_files import Unreadable, read_regular

MAX_ARCHIVE, MAX_UNPACKED, MAX_FILES, DEEPEST = 8 << 20, 64 << 20, 2000, 4
"""Bytes of an archive, packed and unpacked; files that are looked at in a hand-in, and folders within each other."""
READ_S, READ_BYTES = 20, 512 << 20
"""Processor time and memory for reading a hand-in."""
_PACKED = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".rar")
_WHOSE = (
    re.compile(r"(?P<who>.+?)[ _-]*attempt[ _-]*(?P<attempt>\d+).*", re.I),
    re.compile(r"(?P<who>.+)_(?P<id>\d+)_assignsubmission_.*"),  # Moodle: one number for each student
)
_SUBMITTERS = re.compile(r"^(submission_\d+):\s*\n {2}:submitters:\s*\n(.*?)(?=^ {2}:|^\S|\Z)", re.M | re.S)
_CANVAS = re.compile(r"(?P<who>[^_]+)_(?:LATE_)?(?P<id>\d+)_(?P<order>\d+)_(?P<file>.+)")
"""A student, their number, that of the file, which grows, and the file's own name."""


@dataclass(frozen=True)
class HandIn:
    """One student's work. ``files``: by the names that are expected, the code or, as text, why it is not read.
    ``file_names``: those of all files in it, expected or not. ``remarks``: what was not as expected, a sentence each.
    ``forbidden``: what of it this user may not read, which is no fault of the student's; empty if nothing is."""

    name: str
    files: dict[str, Code | str]
    file_names: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    forbidden: str = ""


class _HandedInFile(NamedTuple):
    """A file: its path, with those of archives in it; where it lies, or what an archive has of it, None for a link."""

    shown: str
    held: Path | bytes | None
    order: int


class _Part(NamedTuple):
    """A folder or a file of somebody's. ``name``: without what Canvas has put before it; ``order``: of its files."""

    place: Path
    who: str
    id: str = ""
    attempt: int = 0
    name: str = ""
    order: int = 0


def hand_ins(folders: Sequence[Path], single: bool = False) -> tuple[list[HandIn], list[str]]:
    """What these folders hold, by student, and the names of what lies beside it: each folder is somebody's work if it
    has a file that is expected, or with ``single``; else everybody's. ValueError, one sentence, if there is none."""
    parts, others = list[_Part](), list[str]()
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"{folder} is not a folder with submissions (unpack an archive first)")
        if single or any(_find_expected(path.name) for path in folder.iterdir()):
            parts.append(_Part(folder, folder.resolve().name))
            continue
        known = _read_gradescope(folder)
        for path in sorted(folder.iterdir()):
            if part := _find_part(path, known):
                parts.append(part)
            elif path.name[0] not in "._" and path.name != "submission_metadata.yml":
                others.append(path.name)
    whose = defaultdict[tuple[str, str], list[_Part]](list)
    for part in parts:
        whose[part.who, part.id].append(part)
    names, made = [who for who, _ in whose], list[HandIn]()
    for (who, number), theirs in sorted(whose.items()):
        attempts = sorted({part.attempt for part in theirs})
        if not number and len(attempts) < len(theirs):
            raise ValueError(f"two submissions have the same name: grade {who} separately, each with its own --out")
        counted = [part for part in theirs if part.attempt == attempts[-1]]
        remarks = [f"of {len(attempts)} attempts the last counts: {counted[0].place.name}"] if len(attempts) > 1 else []
        made.append(_take_apart(f"{who}_{number}" if number and names.count(who) > 1 else who, counted, remarks))
    if not single and not any(hand_in.files or hand_in.forbidden for hand_in in made):
        here = [
            name
            for name in (*others, *(file for hand_in in made for file in hand_in.file_names))
            if name.endswith(".py")
        ][:5]
        instead = f"; there is {to_one_line(', '.join(here))}" if here else ""
        raise ValueError(f"{folders[0]} has no submission: that would be {', '.join(NAMES)}, or some of these{instead}")
    return made, others


def _find_part(path: Path, known: dict[str, tuple[str, str]]) -> _Part | None:
    """Whose this is, by its name; None for what is nobody's."""
    if path.name[0] in "._" or path.is_symlink() or not (path.is_dir() or path.is_file()):
        return None
    if path.is_file() and (match := _CANVAS.fullmatch(path.name)):
        return _Part(path, match["who"], match["id"], 0, match["file"], int(match["order"]))
    if path.is_file() and not path.name.lower().endswith(_PACKED):
        return None
    name = path.name if path.is_dir() else re.sub(r"(\.tar)?\.\w+$", "", path.name)
    if name in known:
        return _Part(path, *known[name], attempt=int(name.rpartition("_")[2]))
    for pattern in _WHOSE:
        if match := pattern.fullmatch(name):
            fields = match.groupdict()
            return _Part(path, fields["who"], fields.get("id", ""), int(fields.get("attempt", 0)))
    return _Part(path, name)


def _read_gradescope(folder: Path) -> dict[str, tuple[str, str]]:
    """The submitters' names and addresses for each folder of an export of Gradescope's, by its metadata."""
    try:
        text = read_regular(folder / "submission_metadata.yml", MAX_UNPACKED).decode(errors="replace")
    except Unreadable:
        return {}
    known = {}
    for name, who in _SUBMITTERS.findall(text):
        fields = (", ".join(re.findall(rf":{key}:[ \t'\"]*([^'\"/\0\n]+)", who)) for key in ("name", "email"))
        known[name] = next(fields) or name, next(fields) or name
    return known


def _take_apart(name: str, parts: Sequence[_Part], remarks: list[str]) -> HandIn:
    """`_take` in a process of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, as NumPy has: none of them holds a lock of ours
        try:
            with ProcessPoolExecutor(1, get_context("fork"), _set_limit) as child:
                return child.submit(_take, name, parts, remarks).result()
        except PermissionError as error:
            return HandIn(name, {}, (), tuple(remarks), forbidden=to_one_line(str(error.filename)))
        except Exception:  # noqa: BLE001, whatever it is that it ended of
            limits = f"{READ_S} s of processor time and {READ_BYTES >> 20} MiB of memory"
            return HandIn(name, {}, (), (*remarks, f"what it holds cannot be read within {limits}"))


def _set_limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (READ_S, READ_S))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + READ_BYTES,) * 2)


def _take(name: str, parts: Sequence[_Part], remarks: list[str]) -> HandIn:
    handed_in = list(islice((file for part in parts for file in _list_files(part, remarks)), MAX_FILES + 1))
    if len(handed_in) > MAX_FILES:
        remarks.append(f"it has more than {MAX_FILES} files, of which no more were looked at")
    files = dict[str, Code | str]()
    for file in NAMES:
        versions = [
            version for version in handed_in[:MAX_FILES] if _find_expected(PurePosixPath(version.shown).name) == file
        ]
        if not versions:
            continue
        *unread, chosen = sorted(versions, key=partial(_rank, file))
        remarks += [f"{other.shown} is not looked at" for other in unread]
        remarks += [f"{chosen.shown} is taken as {file}"] * (chosen.shown != file)
        try:
            if len(data := _read(chosen.held, MAX_FILE)) > MAX_FILE:
                raise Unreadable(f"is larger than {MAX_FILE / 1e6:.3g} MB")
            files[file] = Code(file, data.decode("utf-8-sig"), NAMES[file])
        except UnicodeDecodeError:
            files[file] = f"{file} is not text in UTF-8"
        except Unreadable as error:
            files[file] = f"{file} {error}"
    for each in handed_in[:MAX_FILES]:
        meant = _find_resembled(PurePosixPath(each.shown).name)
        if meant is not None and meant not in files:
            remarks.append(
                f"{each.shown} looks like {meant}, but only a file called {meant} is graded: hand it in again "
                "under that name"
            )
    names = tuple(to_one_line(each.shown, most=100) for each in handed_in[:20]) + ("...",) * (len(handed_in) > 20)
    return HandIn(name, files, names, tuple(map(to_one_line, remarks)))


def _find_expected(name: str) -> str | None:
    """The file that is meant by a name: case, numbers and what stands between the words do not count."""
    path = PurePosixPath(name)
    plain = re.sub(r"[^a-z]", "", path.stem.lower())
    means = {file.removesuffix(".py").replace("_", ""): file for file in NAMES}
    return means.get(plain) if path.suffix.lower() == ".py" and name[0] not in "._" else None


def _find_resembled(name: str) -> str | None:
    """The expected file that a name like scheduler_final.py or scheduler.py.txt has in it, and yet does not mean.

    It is not graded: a folder may hold several of them, and nobody but its author knows which one counts."""
    plain = re.sub(r"[^a-z]", "", name.lower())
    if name[0] in "._" or _find_expected(name) is not None:
        return None
    return next((file for file in NAMES if file.removesuffix(".py").replace("_", "") in plain), None)


def _rank(file: str, version: _HandedInFile) -> tuple[int, int, bool, list[int], str]:
    """The greatest is taken: the last of Canvas's, the least deep, the one with the right name, the last version."""
    path = PurePosixPath(version.shown)
    return (
        version.order,
        -len(path.parts),
        path.name == file,
        [int(n) for n in re.findall(r"\d+", path.stem)],
        version.shown,
    )


def _list_files(part: _Part, remarks: list[str]) -> Iterator[_HandedInFile]:
    """Everything in a part that is no folder. Of archives it says why one is not read."""
    if not part.place.is_dir():
        yield from _open(part.place, part.name or part.place.name, remarks, part.order)
    for folder, inside, names in os.walk(part.place, onerror=lambda error: _require_readable(Path(error.filename))):
        below = Path(folder).relative_to(part.place)
        odd = [name for name in inside if _find_expected(name)]
        inside[:] = [n for n in sorted(inside) if n[0] not in "._" and n not in odd and len(below.parts) < DEEPEST]
        for name in sorted([*odd, *names]):
            if name[0] not in "._":
                yield from _open(Path(folder, name), str(below / name), remarks)


def _require_readable(path: Path) -> None:
    """PermissionError for what this user may not read: a grade of 0 would be for the machine's settings."""
    if not path.is_symlink() and not os.access(path, os.R_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def _open(path: Path, shown: str, remarks: list[str], order: int = 0) -> Iterator[_HandedInFile]:
    _require_readable(path)
    yield _HandedInFile(shown, path, order)
    if not shown.lower().endswith(_PACKED):
        return
    try:
        for name, content in list(_unpack(_read(path, MAX_ARCHIVE))):  # all of it, or nothing
            parts = PurePosixPath(name).parts
            if parts and not any(part[0] in "._" for part in parts):
                yield _HandedInFile(f"{shown}/{'/'.join(parts)}", content, order)
    except Unreadable as error:
        remarks.append(f"{shown} {error}: hand in a folder, a zip or a tar")


def _read(held: Path | bytes | None, most: int) -> bytes:
    if held is None or (isinstance(held, Path) and held.is_symlink()):
        raise Unreadable("is a link, not a regular file")
    return held if isinstance(held, bytes) else read_regular(held, most)


def _unpack(data: bytes) -> Iterator[tuple[str, bytes | None]]:
    """The files of an archive, None for links; what is not expected is not read. Raises Unreadable."""
    room = MAX_UNPACKED
    try:
        for name, size, opened in _list_members(io.BytesIO(data)):
            room -= size
            if size < 0 or room < 0:
                raise ValueError
            wanted = opened() if opened and _find_expected(PurePosixPath(name).name) else None
            yield name, wanted.read(MAX_FILE + 1) if wanted else None
    except Exception:  # noqa: BLE001, whatever the standard library stumbles over
        raise Unreadable("is no archive that can be read, or too large") from None


def _list_members(file: io.BytesIO) -> Iterator[tuple[str, int, Callable[[], IO[bytes] | None] | None]]:
    """Of an archive: name, size, and what opens it if it is a regular file; no folders."""
    if file.getvalue()[:2] == b"PK":
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                plain = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
                regular = plain and not stat.S_ISLNK(entry.external_attr >> 16)
                if not entry.is_dir():
                    yield entry.filename, entry.file_size, partial(archive.open, entry) if regular else None
        return
    with tarfile.open(fileobj=file) as tar:
        for member in tar:
            if not member.isdir():
                yield member.name, member.size, partial(tar.extractfile, member) if member.isreg() else None
