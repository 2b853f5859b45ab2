"""What a worker of a cluster does for a sweep: says what it is, and makes runs, each in a process of its own.

These functions are called in a Dask worker, by name. What they are asked for is plain data, checked by the process
that acts on it (`hedera cluster job`): a run as `hedera run` makes it, or the rate that this machine carries.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from harness.errors import RunFailed, UserMistake
from harness.network import footprint, machine
from harness.run.controller import choose_platform
from harness.run.experiment import SLOWEST, longest_s
from harness.run.spec import RunSpec
from harness.sweep import enclosed
from harness.sweep.parcel import pack
from harness.sweep.source import source
from harness.sweep.tail import Tail, begun
from hedera.text import one_line
from results.live import Now
from results.record import SCHEMA
from results.temporary import owner_name, temporary_folder

TOPIC = "hedera-live"
"""Under which workers tell, every second, what they are at."""
RESOURCE = {"machine": 1.0}
"""What every task of a sweep takes, and every worker has once: its machine."""
LOOK_EVERY_S = 1.0
RATES_S = 3600.0
"""How long measuring link rates may take: two packet sizes, some twenty probes of half a minute for each."""
KERNEL_S = 3600.0
"""How long compiling the kernel of virtual time may take, where it is not there any more."""
_LAST_BYTES = 1 << 16
_ENDING_S = 30.0


def introduce() -> dict[str, Any]:
    """What a client has to know of this machine before it sends runs here; plain data."""
    code, here = source(), machine.machine()
    try:
        platform = choose_platform("auto")
    except Exception as error:  # noqa: BLE001, an odd POX must not keep os-ken from being used
        platform = f"os-ken ({error})"
    return {
        "schema": SCHEMA,
        "host": socket.gethostname(),
        "revision": code.revision,
        "fingerprint": code.fingerprint,
        "root": os.geteuid() == 0,
        "missing": [tool.name for tool in machine.TOOLS if machine.version_of(tool) is None],
        "kernel_datapath": machine.kernel_datapath(),
        "pox": platform == "pox",
        "machine": f"{here.cores} cores of {here.processor}",
    }


def request(kind: str, spec: RunSpec, worker: str) -> dict[str, Any]:
    """What to ask of a worker, as plain data: a ``run``, or the ``rates`` that it carries.

    UserMistake where a file that the run names cannot be sent.
    """
    contents = enclosed.contents_of(spec)
    return {
        "kind": kind,
        "spec": spec.as_json(),
        "worker": worker,
        "files": enclosed.hashes_of(contents),
        "contents": contents,
        "now": msgspec.to_builtins(begun(spec, "starting", worker)),
        "seconds": run_s(spec),
    }


def spec_of(asked: Mapping[str, Any]) -> RunSpec:
    """The spec of a request. UserMistake when it is none, or names another file than those that were sent.

    What was sent has its place by now (`enclosed.found`).
    """
    try:
        spec = msgspec.convert(asked["spec"], RunSpec)
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        raise UserMistake(f"this is no run that this revision knows: {error}") from None
    if odd := sorted(set(enclosed.names_of(spec)) ^ set(asked.get("files", {}))):
        raise UserMistake(f"{', '.join(odd)}: what the run names is not what was sent with it")
    return spec


def run_s(spec: RunSpec) -> float:
    """How long the process of a run may take: for its own run, after one that another client left to be finished."""
    return SLOWEST * longest_s(spec) + KERNEL_S if spec.time == "virtual" else 2 * longest_s(spec)


def carry_out(asked: dict[str, Any]) -> bytes:
    """Make the run that is asked for, and send its folder. RunFailed with the reason when there is no such folder."""
    virtual = asked["spec"]["time"] == "virtual"  # in a guest nothing is seen of what its tools write
    told = _Telling(msgspec.convert(asked["now"], Now), follows=not virtual)
    with temporary_folder("run") as place, temporary_folder("sent") as there:
        folder = place / "run"
        laid = {name: asked[name] for name in ("kind", "spec", "worker", "files")}
        laid["at"] = enclosed.lay(asked["contents"], there)
        _job(laid, folder, told, asked["seconds"])
        if not (folder / "run.json").exists():
            raise RunFailed("the run left no result")
        return pack(folder)


def carried_rates(asked: dict[str, Any]) -> dict[str, float]:
    """The highest link rate that this machine carries for such runs, Mb/s, by packet size."""
    with temporary_folder("rates") as place:
        asked = {name: asked[name] for name in ("kind", "spec", "worker", "mtus")}
        said = _job(asked, place / "none", lambda stage, pid: None, RATES_S)
    return {str(mtu): float(rate) for mtu, rate in said["rates"].items()}


class _Telling:
    """Tells whoever listens what the run is at: at each stage, and every second while traffic flows if it
    ``follows`` what the tools write."""

    def __init__(self, now: Now, *, follows: bool) -> None:
        self._now = now
        self._follows = follows
        self._tail: Tail | None = None

    def __call__(self, stage: str | None, pid: int) -> None:
        if stage is not None:
            self._now = msgspec.structs.replace(self._now, stage=stage)
            if stage == "sending" and self._follows:
                raw = footprint.HOME / owner_name(pid) / "raw"
                self._tail = Tail(raw, self._now, time.time())
        if self._tail is not None:
            self._now = self._tail.onto(self._now)
        elif stage is None:
            return
        from distributed import get_worker

        # Not the run itself: Dask writes a key of its own, "worker", into what it is given.
        get_worker().log_event(TOPIC, {"run": msgspec.to_builtins(self._now)})


def _job(
    asked: dict[str, Any], folder: Path, told: Callable[[str | None, int], None], seconds: float
) -> dict[str, Any]:
    """Have a process do it, that ends with this one and after ``seconds``; returns its last word. RunFailed with its
    own sentence otherwise."""
    hedera = Path(sys.executable).with_name("hedera")
    command = [sys.executable, "-I", str(hedera), "cluster", "job", str(folder)]
    pipe, last = subprocess.PIPE, dict[str, Any]()
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, start_new_session=True) as process,
    ):
        try:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(asked).encode() + b"\n")
                process.stdin.flush()
            for line in _lines(process, time.monotonic() + seconds):
                if line:
                    last = json.loads(line)
                told(last.get("stage") if line else None, process.pid)
        finally:
            _end(process)
        if process.returncode:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - _LAST_BYTES))
            said = errors.read().decode(errors="replace").strip().splitlines()
            reason = said[-1] if said else f"the run ended with status {process.returncode}"
            raise RunFailed(one_line(reason.removeprefix("hedera: ")))
    return last


def _lines(process: subprocess.Popen[bytes], limit: float) -> Iterator[bytes]:
    """Each line that a process writes, when it comes, and nothing once a second meanwhile. RunFailed at the limit."""
    assert process.stdout is not None
    half = b""
    while time.monotonic() < limit:
        if not select.select([process.stdout], [], [], LOOK_EVERY_S)[0]:
            yield b""
            continue
        part = os.read(process.stdout.fileno(), 1 << 16)
        if not part:
            return
        *lines, half = (half + part).split(b"\n")
        yield from filter(None, lines)
    raise RunFailed("the process that should make the run does not end")


def _end(process: subprocess.Popen[bytes]) -> None:
    """See that a process ends: by itself, or asked to, when it tears its network down; by force if it does not."""
    if process.stdout is not None:
        process.stdout.close()
    try:
        process.wait(_ENDING_S if sys.exc_info()[0] is None else 0)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            process.kill()
