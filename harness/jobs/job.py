"""A run as a job: its spec, and the contents of the user's files that it names, as JSON.

Whoever carries it out reads none of the user's files: they are looked up in the job (`traffic.textfile.given`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from controllers.pox_main import find_pox, pox_version, too_old
from harness.errors import UnfitMachine, UserMistake
from harness.network import machine
from harness.run.source import EMULATOR
from harness.run.spec import RunSpec
from hedera.schemes import file_of
from traffic.textfile import given

if TYPE_CHECKING:
    from virtual.guest import Progress

MAX_BYTES = 64 << 20
"""Of a job; one file of flows may have 20 MB."""
Hear = Callable[[str, "Progress | None"], None]
"""Hears the stage a run is at, and how far its guest is, some ten times a second; what it raises ends the run."""


class Job(msgspec.Struct, frozen=True, dict=True):
    """``spec``: without any ``auto``. ``files``: by the names in the spec; the rows of a pattern or a network of the
    user's own."""

    spec: RunSpec
    files: dict[str, str]

    def encoded(self) -> bytes:
        """As JSON. UserMistake where it is too large."""
        data = msgspec.json.encode(self)
        if len(data) > MAX_BYTES:
            raise UserMistake(f"the files that a run names have more than {MAX_BYTES >> 20} MiB in all")
        return data

    @property
    def emulator(self) -> str:
        """What carries it out, where that may change the result."""
        from virtual.kernel.shipped import NAMED

        other = os.environ.get(NAMED) if self.spec.time == "virtual" else None
        return f"{self.spec.time} time, version {EMULATOR}" + (f", kernel {other}" if other else "")

    @property
    def inputs(self) -> dict[str, str]:
        """Hashes of its files' contents, by name."""
        return {name: _digits(content.encode("utf-8", "surrogatepass")) for name, content in self.files.items()}

    @cached_property
    def key(self) -> str:
        """What a run is known by: all that decides its result. The number of its trial is only a name."""
        spec = {name: value for name, value in self.spec.as_json().items() if name != "trial"}
        return _digits(msgspec.json.encode([spec, self.inputs, self.emulator], order="sorted"))

    @property
    def scheduler(self) -> str | None:
        path = file_of(self.spec.scheme)
        return None if path is None else str(path)

    def files_given(self) -> AbstractContextManager[None]:
        return have(self.files)


def _digits(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


class _Came(msgspec.Struct):
    spec: msgspec.Raw
    files: dict[str, str]


@contextmanager
def have(files: dict[str, str]) -> Iterator[None]:
    """While the block runs, this process has these files of a job's in place of those on the disk."""
    before = dict(given)
    given.update(files)
    try:
        yield
    finally:
        given.clear()
        given.update(before)


def resolve(spec: RunSpec) -> RunSpec:
    """The spec without any ``auto``, on this machine and for its traffic.

    Raises UserMistake for traffic that makes no sense, UnfitMachine for what this machine cannot do.
    """
    return on_this_machine(spec, as_root=spec.time == "real" or os.geteuid() == 0).for_its_traffic()


def on_this_machine(spec: RunSpec, as_root: bool) -> RunSpec:
    """With what ``auto`` means for time and platform here; what depends on traffic is left. ``as_root``: whether
    a process of ours is root, which real time takes."""
    time = spec.time
    if time == "auto":
        time = "real" if as_root and machine.kernel_datapath() else "virtual"
    elif time == "real":
        if not as_root:
            machine.require_root()
        machine.require_datapath()
    return replace(spec, time=time, platform=choose_platform(spec.platform))


def choose_platform(asked: str) -> str:
    """``pox`` or ``os-ken`` for ``auto`` (POX when there is one that runs on Python 3), ``pox`` or ``os-ken``."""
    if asked == "os-ken":
        return asked
    try:
        found = find_pox()
    except ValueError as error:
        raise UserMistake(str(error)) from None
    if found is not None and not too_old(found):
        return "pox"
    if asked == "pox":
        old = "" if found is None else f" ({found} holds POX {pox_version(found)}, which needs Python 2)"
        raise UnfitMachine(
            f"POX was not found{old}: setup/install.sh --pox fetches it; or put a checkout of its branch halosaur at "
            "~/pox or /opt/pox, or name it in POX_DIR, or use --platform os-ken"
        )
    return "os-ken"


def job_of(spec: RunSpec) -> Job:
    """The job of a run. UserMistake for what makes no sense or cannot be read, UnfitMachine for what cannot be had."""
    spec = resolve(spec)
    try:
        files = spec.user_files()
    except (ValueError, OSError) as error:
        raise UserMistake(str(error)) from None
    return Job(spec, files)


def decoded(data: bytes) -> Job:
    """A job that came from another process. UserMistake when it is none."""
    if len(data) > MAX_BYTES:
        raise UserMistake("this job is too large")
    try:
        came = msgspec.json.decode(data, type=_Came)
        with have(came.files):  # a spec may name a network, whose rows are among them
            return Job(msgspec.json.decode(came.spec, type=RunSpec), came.files)
    except (msgspec.ValidationError, msgspec.DecodeError, RecursionError) as error:
        raise UserMistake(f"this is no job that this revision knows: {error}") from None


def laid_in_guest(job: Job) -> None:
    """Write the user's scheduler where its name says, for the controller, which is another process: in a guest what is
    written stays in its memory."""
    if (name := job.scheduler) is not None and name in job.files:
        path = Path(name).absolute()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(job.files[name], encoding="utf-8")
