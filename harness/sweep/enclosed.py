"""The user's files that a run names, on their way to the machine that makes it: read where the user is, and there not
believed.

They travel by name with a hash; where they arrive they get a folder of their own, which is gone when the run is.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from files.reader import Unreadable, read_named
from files.rights import invoker
from files.sent import at
from harness.errors import UserMistake
from harness.run.spec import RunSpec
from hedera.own_scheme import file_of
from traffic.workload import files_of

MAX_BYTES = 64 << 20
"""Of all files of a run; one of flows may have 20 MB."""
MAX_FILES = 32


def names_of(spec: RunSpec) -> list[str]:
    """What a run calls the files that it reads beside the project's own."""
    scheme = file_of(spec.scheme)
    found = [*files_of(spec.traffic), *([] if scheme is None else [scheme])]
    return list(dict.fromkeys(map(str, found)))


def contents_of(spec: RunSpec) -> dict[str, bytes]:
    """These files, read. UserMistake for what cannot be read, is no plain file, or too much."""
    contents = {}
    for name in names_of(spec):
        try:
            contents[name] = read_named(at(name), MAX_BYTES)
        except Unreadable as why:
            raise UserMistake(f"{name} {why}") from None
    _require_sane(contents)
    return contents


def hashes_of(contents: Mapping[str, bytes]) -> dict[str, str]:
    """What shows that they are the same files at the other end."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


def lay(contents: object, folder: Path) -> dict[str, str]:
    """Write what was sent into a folder that is only ours, where the user behind sudo can read it; the places.

    No name that was sent leads out of it. UserMistake for anything but files of a sane number and size.
    """
    _require_sane(contents)
    assert isinstance(contents, Mapping)
    places = places_of(contents)
    for name, content in contents.items():
        path = folder / places[name]
        path.parent.mkdir(mode=0o700)
        path.write_bytes(content)
    if (who := invoker()) is not None:
        # From below, so that nothing in it is another user's while we still work in there.
        for path in (*sorted(folder.rglob("*"), reverse=True), folder):
            os.chown(path, who.uid, who.gid)
    return {name: str(folder / place) for name, place in places.items()}


def places_of(contents: Iterable[str]) -> dict[str, str]:
    """For each name the place of its file in a folder, out of which none leads."""
    return {name: f"{number}/{_word(name)}" for number, name in enumerate(contents)}


def _word(name: str) -> str:
    """What a file is called, by which sentences about it name it, and no more than that."""
    return re.sub(r"[^\w.-]", "_", Path(name).name)[-60:].lstrip(".") or "file"


def found(asked: Mapping[str, Any]) -> dict[str, Path]:
    """Where the files of a request are here, for `files.sent`. UserMistake where one is not what its hash says."""
    hashes, places = asked.get("files", {}), asked.get("at", {})
    files = {}
    for name, digest in hashes.items():
        if name not in places:
            raise UserMistake(f"{name} was not sent")
        files[name] = Path(places[name])
        try:
            content = read_named(files[name], MAX_BYTES)
        except Unreadable as why:
            raise UserMistake(f"{name} {why}") from None
        if hashes_of({name: content})[name] != digest:
            raise UserMistake(f"{name} is not what was sent")
    return files


def _require_sane(contents: object) -> None:
    if not isinstance(contents, Mapping) or not all(
        isinstance(name, str) and isinstance(content, bytes) for name, content in contents.items()
    ):
        raise UserMistake("what was sent with the run is no set of files")
    if len(contents) > MAX_FILES:
        raise UserMistake(f"a run names at most {MAX_FILES} files, not {len(contents)}")
    if sum(map(len, contents.values())) > MAX_BYTES:
        raise UserMistake(f"the files that a run names have more than {MAX_BYTES >> 20} MiB in all")
