"""One run carried out, judged and written down."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.errors import HarnessError, UnfitMachine, UserMistake
from harness.jobs.job import resolve
from harness.jobs.store import RESULT, full, is_full, require_room
from harness.network.footprint import run_folder, sole_use
from harness.network.machine import machine, require_root, require_tools, time_travels
from harness.network.processes import deadline
from harness.run.observation import Say
from harness.run.source import described
from harness.run.spec import RunSpec, longest_s
from harness.verdict.result import describe, failed_run
from record import run as record
from record.parts import Timing
from record.run import Run

if TYPE_CHECKING:
    from harness.run.emulation import Emulation


def run_experiment(
    spec: RunSpec,
    deliver: Callable[[Path], object],
    say: Say = lambda stage: None,
    run_as: tuple[int, int] | None = None,
) -> Run:
    """Carry out a run and ``deliver`` the folder of its files, which is gone afterwards; returns the result as it will
    be read (see docs/fields.md). ``run_as``: the user and group of the controller, which runs a user's scheduler;
    None: ours.

    A run that fails on the way, for whatever reason, is delivered too, as invalid, with the reason. It waits until no
    other run uses the machine. Raises UserMistake or UnfitMachine before anything is built, RunFailed when the disk
    is full.
    """
    require_root()
    require_tools()
    # Mininet, which sweeps in virtual time need in the guest alone.
    from harness.run.emulation import Emulation

    spec = resolve(spec)  # a mistake of the user comes to light before the machine is taken
    if spec.time == "virtual" and not time_travels():
        raise UnfitMachine("time is real here: virtual time is for hedera run and sweep")
    doing = f"{spec.scheme} on {spec.traffic}"

    with sole_use(doing, say), run_folder() as own:
        raw = own / "raw"
        raw.mkdir(mode=0o700)
        require_room(raw)
        started = datetime.now(timezone.utc).replace(microsecond=0)
        clock = time.monotonic()
        code = described()
        emulation = Emulation(spec, raw, own, say, run_as)
        try:
            run = _attempt(emulation, raw, say)
            timing = emulation.timing
            timing["total_s"] = time.monotonic() - clock
            timing["overhead_s"] = timing["total_s"] - min(spec.seconds, timing.get("traffic_s", 0.0))
            known = {
                "started": started,
                "timing": Timing(**{name: round(value, 3) for name, value in timing.items()}),
                "environment": {**machine(), **code, **emulation.environment},
            }
            try:
                run = record.write(raw / RESULT, replace(run, **known))
            except ValueError as error:
                run = failed_run(spec, *run.reasons, f"its result is not what it should be: {error}")
                run = record.write(raw / RESULT, replace(run, **known))
            require_room(raw)
            say("publishing")
            deliver(raw)
        except OSError as error:
            raise (full(raw) if is_full(error) else error) from None
    return run


def _attempt(emulation: Emulation, raw: Path, say: Say) -> Run:
    """What was measured, or the first thing that failed, whatever it was, as the reason why nothing was.

    What stops the sweep as well is raised: Ctrl-C, a full disk, and what would stop the next run just so.
    """
    try:
        longest = longest_s(emulation.spec)
        with deadline(longest, f"the run did not end within {longest:.0f} s: something hangs"):
            emulation.carry_out()
            say("judging")
            return describe(emulation.spec, emulation.seen)
    except BaseException as last:  # noqa: BLE001, it is either raised again or told
        first = first_of(last)
        if not isinstance(first, Exception) or is_full(first) or isinstance(first, (UserMistake, UnfitMachine)):
            raise first from None
        (raw / "traceback.txt").write_text("".join(traceback.format_exception(last)))
        return failed_run(emulation.spec, in_words(first))


def first_of(error: BaseException) -> BaseException:
    """The exception that began it, where a tear-down that failed as well has put another one over it. A Ctrl-C goes
    before all others: it may have come in the tear-down of what had failed."""
    seen: list[BaseException] = []
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is None or any(one is each for each in seen):
            continue
        if isinstance(one, (KeyboardInterrupt, SystemExit)):
            return one
        seen.append(one)
        left += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    while error.__context__ is not None and not error.__suppress_context__:
        error = error.__context__
    return error


def in_words(error: BaseException) -> str:
    """An exception as a reason: its own sentence if it is one of ours, else with what kind it is."""
    if isinstance(error, HarnessError):
        return str(error)
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", type(error).__name__).lower()
    return f"an error nobody expected, kept in traceback.txt ({kind}: {error})"
