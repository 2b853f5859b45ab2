"""The emulated milestone: a submission's scheduler on real TCP at 100 Mb/s, in virtual time, for points.

Two runs of the class (the control, and ECMP) and one of each submission, of one random bijection that the class's
seed fixes. The submission answers from outside the guest, within the walls it is graded in (`classroom.answerer`):
in the guest there is the project's own code alone, and how long it computes costs no time there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from classroom import relay
from classroom.answerer import CALL_S, Answerer
from classroom.code import Code, read_code
from classroom.grading import CLOCK, PARTS, Class
from classroom.sandbox import Unfit
from classroom.submission import Budget, Submission
from harness.errors import UnfitMachine
from harness.run.resolution import resolve
from harness.run.spec import RunSpec
from harness.sweep import guests
from harness.sweep.guests import Beside, Ground
from hedera.schemes import CONTROL
from hedera.text import one_line
from results.record import Run
from results.temporary import temporary_folder

POINTS = 10
"""Beside the hundred: none for what ECMP has of the control, all for the control; whole ones, as the same run again
differs by half a percent."""
PATTERN = "randbij"
OURS = f"{relay.__file__}:Relay"


@dataclass(frozen=True)
class Emulated:
    """A submission. ``points``: None where it was not graded, and ``remarks`` says why. Percent of the control, of
    the submission and of ECMP."""

    submission: str
    points: int | None
    percent_of_control: float | None
    ecmp_percent_of_control: float | None
    rounds: int
    remarks: str


def emulated(folders: Sequence[Path], course: Class, say: Callable[[str], None]) -> Iterator[Emulated]:
    """Each submission in turn; none is graded, and each row says so, where this machine has no virtual time.

    Raises Unfit where the machine does not start a submission.
    """
    try:
        ground = guests.prepare(say)
        control, ecmp = (_received(_run(scheme, course, ground)) for scheme in (CONTROL, "ecmp"))
    except UnfitMachine as why:
        for folder in folders:
            yield Emulated(one_line(folder.name), None, None, None, 0, f"not graded: {one_line(why)}")
        return
    for folder in folders:
        yield _one(folder, course, ground, min(1.0, ecmp / control), control)


def points(share: float, ecmp: float) -> int:
    """Of the control, for what of it ECMP leaves."""
    return round(POINTS * min(1.0, max(0.0, (share - ecmp) / max(1.0 - ecmp, 1e-9))))


def _one(folder: Path, course: Class, ground: Ground, ecmp: float, control_mbps: float) -> Emulated:
    name = one_line(folder.name)
    file, attribute, _ = PARTS["contract"]
    try:
        code = read_code(folder / file, attribute)
    except ValueError as error:
        return Emulated(name, 0, None, 100 * ecmp, 0, one_line(str(error).replace(f"{folder}/", "")))
    answerer = Answerer(lambda: _submission(code, course))
    run = _run(OURS, course, ground, answerer.beside)
    if answerer.unfit:
        raise Unfit(answerer.unfit)
    if answerer.wrong:
        return Emulated(name, 0, None, 100 * ecmp, answerer.rounds, one_line(answerer.wrong))
    try:
        share = min(1.0, _received(run) / control_mbps)
    except UnfitMachine as why:
        return Emulated(name, None, None, 100 * ecmp, answerer.rounds, f"not graded: {one_line(why)}")
    return Emulated(name, points(share, ecmp), 100 * share, 100 * ecmp, answerer.rounds, "")


def _submission(code: Code, course: Class) -> Submission:
    return Submission(course.start(), code, CALL_S, Budget(CLOCK * course.budget_s))


def _run(scheme: str, course: Class, ground: Ground, beside: Beside = nullcontext) -> Run:
    spec = resolve(
        RunSpec(
            scheme, PATTERN, k=4, link_mbps=100.0, mtu=9000, seconds=10.0, interval_s=2.0, time="virtual",
            seed=_drawn(course.seed),
        )
    )  # fmt: skip
    with temporary_folder("emulated") as place:
        return guests.run_in_guest(spec, place / "run", ground, lambda stage, progress: None, beside=beside)


def _drawn(seed: int) -> int:
    """From the class's, which it does not tell: a guest's seed is among the words of a command."""
    return int.from_bytes(hashlib.sha256(f"emulated {seed}".encode()).digest()[:3], "big")


def _received(run: Run) -> float:
    """Mb/s; UnfitMachine where the run is not valid."""
    if not run.valid or run.bisection_mbps is None:
        raise UnfitMachine(f"a run under {run.scheme} was not valid: {'; '.join(run.reasons)}")
    return run.bisection_mbps
