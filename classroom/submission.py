"""A submission's code in a process, with a deadline for each answer; the process is restarted if it has ended."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from classroom import protocol
from classroom.code import Code
from classroom.process import Misbehaved, Process
from classroom.protocol import Answer, Estimate, Load, Make, Place, Turn, pack, unpack
from classroom.sandbox import Start, Unfit
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from hedera.text import one_line

START_S = 60.0
"""Seconds until Python has started and gives its first answer; and then until a file is loaded."""
_OF_A_TURN = {"changed": np.int64, "to": np.int64, "placed": np.int64, "demand": np.float64}
"""The result of a period of a control loop: one-dimensional arrays."""
_MAX_ASKED = 1e6


class Budget:
    """Real seconds to wait for a submission: from start-up to end, all its processes together."""

    def __init__(self, seconds: float = float("inf")) -> None:
        self.seconds = self.left_s = seconds

    @contextmanager
    def spent(self) -> Iterator[None]:
        """Subtract the time of the block."""
        clock = time.monotonic()
        try:
            yield
        finally:
            self.left_s -= time.monotonic() - clock


class Submission:
    """A submission's code in a process: `fresh` makes a new instance of the class, which then answers.

    ``call_s``: seconds for an answer. ``budget``: for all answers together. ``said``: the file for its output. Every
    method raises Misbehaved; then the process has ended, unless the code only raised an exception. If it does not
    even start, which is never the submission's doing, they raise Unfit.
    """

    def __init__(
        self,
        start: Start,
        code: Code,
        call_s: float = 5.0,
        budget: Budget | None = None,
        said: IO[bytes] | None = None,
    ) -> None:
        self.code = code
        self.call_s = call_s
        self._start = start
        self._said = said
        self._process: Process | None = None
        self._unloaded: Misbehaved | None = None
        self._late = 0
        self._budget = Budget() if budget is None else budget

    def __enter__(self) -> Submission:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Kill its process, if there is one, and all that it has started."""
        if (process := self._process) is not None:
            self._process = None
            with self._budget.spent():  # the kernel takes long to remove a million files
                process.end()

    # --- what it can be asked ---------------------------------------------------------------------------

    def load(self) -> None:
        """Start the process, if there is none, with the code in it.

        Code that cannot be loaded is not tried again; its error is raised every time. If it was slow, perhaps because
        of the machine, it is tried twice.
        """
        if self._process is None and self._unloaded is None:
            self._begin()
            try:
                self._take_in()
            except Misbehaved as error:
                self._late += error.kind == "slow"
                if error.kind == "slow" and self._late < 2:
                    raise
                self._unloaded = error
        if self._unloaded is not None:
            raise self._unloaded

    def _begin(self) -> None:
        if self._budget.left_s <= 0:
            raise self._overdrawn()
        self._process = Process(self._start, self._said)
        try:
            self._within(START_S, None)
        except TimeoutError:
            raise Unfit(f"Python did not start within {START_S:g} s to run a submission") from None
        except Misbehaved as error:
            if error.kind == "slow":
                raise
            raise Unfit(f"Python did not start to run a submission: {error}") from None

    def _take_in(self) -> None:
        code, file = self.code, one_line(self.code.file)
        if self._ask(Load(f"/submission/{file}", code.source, code.attribute), seconds=START_S).odd:
            raise Misbehaved("absent", f"there is no {code.attribute} in {file}")

    def fresh(self, k: int = 4, seed: int = 1, iterations: int = 1000, loop_mbps: float = 0.0) -> None:
        """Make a new instance of the class, for a fat-tree of this k."""
        self.load()
        self._ask(Make(k, seed, iterations, loop_mbps))

    def place(self, flows: LargeFlows, links: LinkState, call_s: float | None = None) -> Placed:
        """One period of the scheduler that was made last."""
        columns = {name: pack(getattr(flows, name)) for name in LargeFlows.__dataclass_fields__}
        down = tuple(np.flatnonzero(~links.up).tolist())
        answer = self._ask(Place(columns, down), {*columns, "links.up"}, call_s or self.call_s)
        arrays = self._arrays(answer)
        return Placed(arrays.pop("core", None), answer.odd, answer.touched, arrays, answer.numbers)

    def estimate(self, src: ArrayLike, dst: ArrayLike, num_hosts: int) -> Placed:
        """The demands of flows, in the answer's ``core``."""
        self.load()
        sender, receiver = (pack(np.asarray(x, dtype=np.int32)) for x in (src, dst))
        answer = self._ask(Estimate(sender, receiver, num_hosts), {"src", "dst"})
        return Placed(self._arrays(answer).get("demand"), answer.odd, answer.touched, {}, {})

    def turn(self, columns: dict[str, NDArray[Any]], cores: dict[int, int]) -> Turned:
        """One period of the control loop; see `classroom.answering.Host`."""
        answer = self._ask(Turn({name: pack(column) for name, column in columns.items()}, cores))
        if answer.odd:
            return Turned({}, {}, 0, answer.odd)
        arrays, asked = self._arrays(answer), answer.numbers.get("asked", -1.0)
        if asked == 0:
            arrays = {"placed": np.zeros(0, np.int64), "demand": np.zeros(0)} | arrays
        if arrays.keys() != _OF_A_TURN.keys():
            raise self._rubbish("something that is not an answer")
        changed, to, placed, demand = (arrays[name] for name in _OF_A_TURN)
        if not (
            all(arrays[name].ndim == 1 and arrays[name].dtype == dtype for name, dtype in _OF_A_TURN.items())
            and len(changed) == len(to)
            and len(placed) == len(demand)
            and np.isfinite(demand).all()
            and 0 <= asked <= _MAX_ASKED
        ):
            raise self._rubbish("something that is not an answer")
        changes = dict(zip(changed.tolist(), to.tolist(), strict=True))
        return Turned(changes, dict(zip(placed.tolist(), demand.tolist(), strict=True)), int(asked))

    def processor_s(self) -> float:
        """The process's processor time since it started, seconds; 0 if there is no process."""
        return 0.0 if self._process is None else self._process.processor_s()

    # --- how it is asked --------------------------------------------------------------------------------

    def _arrays(self, answer: Answer) -> dict[str, NDArray[Any]]:
        try:
            return {name: unpack(array) for name, array in answer.arrays.items()}
        except ValueError as error:
            raise self._rubbish(str(error)) from None

    def _ask(self, request: protocol.Request, given: Collection[str] = (), seconds: float | None = None) -> Answer:
        """The answer to a request; ``given``: the names of its inputs, which it may report as written to.

        Messages are cut to one line of limited length.
        """
        seconds = seconds or self.call_s
        try:
            answer = self._within(seconds, request)
        except TimeoutError:
            raise Misbehaved("slow", f"it did not answer within {seconds:g} s") from None
        if answer.error:
            where = f" (line {answer.line} of {one_line(self.code.file)})" if answer.line else ""
            raise Misbehaved("raised", f"it raises {one_line(answer.error)}{where}")
        if not set(answer.touched) <= set(given):
            raise self._rubbish("inputs that it was not given")
        return msgspec.structs.replace(answer, odd=one_line(answer.odd, most=100))

    def _within(self, seconds: float, request: protocol.Request | None) -> Answer:
        """The next answer within that time and the budget; else TimeoutError, or Misbehaved."""
        assert self._process is not None
        left = self._budget.left_s
        try:
            with self._budget.spent():
                return self._process.answer(request, time.monotonic() + min(seconds, left))
        except TimeoutError:
            self.end()
            if left < seconds:
                raise self._overdrawn() from None
            raise
        except Misbehaved:
            self.end()
            raise

    def _rubbish(self, what: str) -> Misbehaved:
        self.end()
        return Misbehaved("rubbish", f"its process answers with {what}")

    def _overdrawn(self) -> Misbehaved:
        return Misbehaved("slow", f"its {self._budget.seconds:g} s in all are used up")


@dataclass(frozen=True, eq=False)
class Turned:
    """The result of a period of the loop: changes by key; the placement's input, demand by key; how often the
    placement was asked; or a description of a wrong answer (``odd``)."""

    changes: dict[int, int]
    placed: dict[int, float]
    asked: int
    odd: str = ""


@dataclass(frozen=True, eq=False)
class Placed:
    """An answer: the array asked for, or a description of a wrong answer (``odd``); inputs that were written to
    (``touched``); and further values that the code reports, by name."""

    core: NDArray[Any] | None
    odd: str
    touched: tuple[str, ...]
    arrays: dict[str, NDArray[Any]]
    numbers: dict[str, float]
