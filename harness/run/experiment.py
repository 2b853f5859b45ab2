"""One run carried out, in a guest or by root's process: its files, and what was seen of it, are handed out unjudged."""

from __future__ import annotations

import os
import shutil
import sys
import time
import traceback
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from harness.network import deadline
from harness.network.cleanup import run_folder, sole_use
from harness.network.machine import describe_machine, require_root, require_tools, time_travels
from harness.run.job import CODE, COMPILED, decode_job, describe_code
from harness.run.observation import Observation, Say, write_observation
from hedera.schemes import find_file
from record.errors import TRACEBACK, UnfitMachine, UserMistake, describe_error, is_full, run_for_status, to_one_line
from record.files import describe_full_disk, require_room
from record.spec import RunSpec, compute_longest_s

NETWORK_FILE, JOB_FILE, OUT = (
    Path("/run/guest") / name for name in ("files/network.json", "files/job.json", "results")
)
AGAIN = Path("/proc/again")
"""A guest that may be copied has this file. Writing to it returns in each copy, where the rest of a run is then carried
out (`virtual.guest.Original`)."""


def run_in_guest() -> None:
    """Carry out the job that this guest was given. Each stage is a line of output; results are files in a folder."""
    sys.exit(run_for_status(_carry_out_given))


def _carry_out_given() -> None:
    # Machine code is copied, because `hedera.compiled` loads none from a folder that others may write to, and in a
    # guest the copy of our code belongs to whoever booted it.
    if (compiled := Path(CODE, COMPILED)).is_dir():
        shutil.copytree(compiled, os.environ["NUMBA_CACHE_DIR"], copy_function=shutil.copyfile)
    if sys.version_info >= (3, 12):  # Mininet wants distutils, and only setuptools has it
        import setuptools  # noqa: F401
    job = decode_job(NETWORK_FILE.read_bytes())
    os.chdir("/run")
    if (path := find_file(job.spec.scheme)) is not None and str(path) in job.files:
        # The controller is another process, which reads the user's scheduler from the disk. So the file is put where
        # its name says. That path is in the guest's own memory, and nothing of it reaches the user's disk.
        text, path = job.files[str(path)], path.absolute()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    run_experiment(
        job.spec,
        lambda raw: shutil.copytree(raw, OUT / "run"),
        lambda stage: print(stage, flush=True),
        later_spec=_read_later_spec,
    )


def _read_later_spec() -> RunSpec:
    """The spec of the whole run. Until here only its network was known (`harness.run.job.Job.network_only_job`), so
    that several runs could share what came before."""
    if AGAIN.exists():
        AGAIN.write_text("\n")
        # The open ones still lead to the files of the guest that this one is a copy of.
        for number, name in enumerate(("stdout", "stderr"), start=1):
            os.close(number)
            os.open(JOB_FILE.parents[1] / name, os.O_WRONLY | os.O_APPEND)
    return decode_job(JOB_FILE.read_bytes()).spec


def run_experiment(
    spec: RunSpec,
    deliver: Callable[[Path], object],
    say: Say = lambda stage: None,
    run_as: tuple[int, int] | None = None,
    later_spec: Callable[[], RunSpec] | None = None,
) -> None:
    """Carry out a run, whose spec has no ``auto``, and ``deliver`` the folder of its files, which is gone afterwards.
    ``run_as``: the user and group of the controller, which runs a user's scheduler; None: ours. ``later_spec``: asked
    for the run's own spec when its network is ready.

    A run that fails on the way, for whatever reason, is delivered too, with the reason. It waits until no other run
    uses the machine. Raises UserMistake or UnfitMachine before anything is built, RunFailed when the disk is full.
    """
    require_root()
    require_tools()
    if spec.time == "virtual" and not time_travels():
        raise UnfitMachine("time is real here: virtual time is for hedera run and sweep")
    # Two runs at once would slow each other down, and neither's result would be worth anything.
    with sole_use(f"{spec.scheme} on {spec.traffic}", say), run_folder() as place:
        raw = place / "raw"
        # Nobody else reads or writes here while root does.
        raw.mkdir(mode=0o700)
        # Tools that cannot write say nothing of it. So room is asked for before, and once more when all is written.
        require_room(raw)
        observation = Observation(started=datetime.now(timezone.utc).replace(microsecond=0))
        observation.environment = {**describe_machine(), **describe_code()}
        clock = time.monotonic()
        try:
            _emulate(spec, observation, raw, place, say, run_as, later_spec)
            observation.timing["total_s"] = time.monotonic() - clock
            sending_s = min(spec.seconds, observation.timing.get("traffic_s", 0.0))
            # The overhead is what a user waits for beside the seconds of traffic that were asked for.
            observation.timing["overhead_s"] = observation.timing["total_s"] - sending_s
            write_observation(observation, raw)
            require_room(raw)
            say("handing over")
            deliver(raw)
        except OSError as error:
            raise (describe_full_disk(raw) if is_full(error) else error) from None


def _emulate(
    spec: RunSpec,
    observation: Observation,
    raw: Path,
    place: Path,
    say: Say,
    run_as: tuple[int, int] | None,
    later_spec: Callable[[], RunSpec] | None,
) -> None:
    """The first thing that fails, whatever it is, is noted in ``observation`` as the reason why there is no result.

    What stops the sweep as well is raised: Ctrl-C, a full disk, and what would stop the next run just so.
    """
    # Mininet is imported here, because a machine that makes runs in virtual time needs it in the guest alone.
    from harness.run.emulation import Emulation

    emulation = Emulation(spec, observation, raw, place, say, run_as, later_spec)
    try:
        longest = compute_longest_s(spec)
        with deadline(longest, f"the run did not end within {longest:.0f} s: something hangs"):
            emulation.carry_out()
    except BaseException as last:  # noqa: BLE001, it is either raised again or told
        first = find_first(last)
        if not isinstance(first, Exception) or is_full(first) or isinstance(first, (UserMistake, UnfitMachine)):
            raise first from None
        (raw / TRACEBACK).write_text("".join(traceback.format_exception(last)))
        observation.failed = to_one_line(describe_error(first), most=1000)


def find_first(error: BaseException) -> BaseException:
    """The exception that began it, where a tear-down that failed as well has put another one over it. A Ctrl-C goes
    before all others: it may have come in the tear-down of what had failed."""
    visited: list[BaseException] = []
    left: list[BaseException | None] = [error]
    while left:
        exception = left.pop()
        if exception is None or any(exception is earlier for earlier in visited):
            continue
        if isinstance(exception, (KeyboardInterrupt, SystemExit)):
            return exception
        visited.append(exception)
        left += [exception.__cause__, exception.__context__, *getattr(exception, "exceptions", ())]
    while error.__context__ is not None and not error.__suppress_context__:
        error = error.__context__
    return error
