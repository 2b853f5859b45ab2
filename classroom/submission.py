"""A submission's code in a process, with a deadline for each answer; the process is restarted if it has ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike

from classroom.process import Answer, Misbehaved, Process, Start, Unfit
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from hedera.text import one_line
from traffic.textfile import Unreadable, read_regular

MAX_FILE = 256 << 10
"""The limit of a code file, bytes."""
START_S = 60.0
"""Seconds until Python has started and gives its first answer; and then until a file is loaded."""


@dataclass(frozen=True)
class Code:
    """A file's text, and the name in it that is meant. ``file`` is the file's name."""

    file: str
    source: str
    attribute: str


def read_code(path: Path, attribute: str) -> Code:
    """The code in a file. ValueError, one sentence, if there is none."""
    try:
        return Code(path.name, read_regular(path, MAX_FILE).decode(), attribute)
    except (UnicodeDecodeError, Unreadable) as error:
        why = error if isinstance(error, Unreadable) else "is not text in UTF-8"
        raise ValueError(f"{path.name} {why}") from None


class Budget:
    """Real seconds to wait for a submission: from start-up to end, all its processes together."""

    def __init__(self, seconds: float = float("inf")) -> None:
        self.seconds = self.left_s = seconds


class Submission:
    """A submission's code in a process: `fresh` makes a new instance of the class, which then answers.

    ``start``: how, by the seed of Python's hashes. ``call_s``: seconds for an answer. ``budget``: for all answers
    together. Every method raises Misbehaved; then the process has ended, unless the code only raised an exception. If
    it does not even start, which is never the submission's doing, they raise Unfit.
    """

    def __init__(
        self,
        start: Callable[[int], Start],
        code: Code,
        call_s: float = 20.0,
        budget: Budget | None = None,
        hash_seed: int = 0,
        said: IO[bytes] | None = None,
    ) -> None:
        self.code, self.call_s = code, call_s
        self._start, self._hash_seed, self._said = start, hash_seed, said
        self._budget = Budget() if budget is None else budget
        self._process: Process | None = None
        self._unloaded: Misbehaved | None = None

    def another(self) -> Submission:
        """The same code in another process, with another seed of Python's hashes."""
        return Submission(self._start, self.code, self.call_s, self._budget, self._hash_seed + 1)

    def __enter__(self) -> Submission:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self, since: float | None = None) -> None:
        """Kill its process, if there is one, and all that it has started. ``since``: when it began to take time."""
        clock = time.monotonic() if since is None else since
        if (process := self._process) is not None:
            self._process = None
            process.end()
            self._budget.left_s -= time.monotonic() - clock  # the kernel takes long to remove a million files

    # --- what it can be asked ---------------------------------------------------------------------------

    def load(self) -> None:
        """Start the process, if there is none, with the code in it.

        Code that cannot be loaded is not tried again; its error is raised every time.
        """
        if self._unloaded is not None:
            raise self._unloaded
        if self._process is None:
            self._begin()
            file = one_line(self.code.file)
            words = {"file": f"/submission/{file}", "source": self.code.source, "attribute": self.code.attribute}
            try:
                if self._ask("load", START_S, **words).odd:
                    raise Misbehaved("absent", f"there is no {self.code.attribute} in {file}")
            except Misbehaved as error:
                self._unloaded = error
                raise

    def fresh(self, k: int = 4, seed: int = 1, iterations: int = 1000) -> None:
        self.load()
        self._ask("make", k=k, seed=seed, iterations=iterations)

    def place(self, flows: LargeFlows, links: LinkState, call_s: float | None = None) -> Answer:
        """One period of the scheduler that was made last: ``core``, and what else it reports."""
        columns = {name: getattr(flows, name).tolist() for name in LargeFlows.__dataclass_fields__}
        down = np.flatnonzero(~links.up).tolist()
        return self._ask("place", call_s, {*columns, "links.up"}, columns=columns, down=down)

    def estimate(self, src: ArrayLike, dst: ArrayLike, num_hosts: int) -> Answer:
        """The ``demand`` of flows."""
        self.load()
        ends = {"src": np.asarray(src).tolist(), "dst": np.asarray(dst).tolist()}
        return self._ask("estimate", None, ends.keys(), **ends, num_hosts=num_hosts)

    # --- how it is asked --------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._budget.left_s <= 0:
            raise self._overdrawn()
        self._process = Process(self._start(self._hash_seed), self._said)
        try:
            self._within(START_S, None)
        except (TimeoutError, Misbehaved) as error:
            if isinstance(error, Misbehaved) and error.kind == "slow":
                raise
            why = str(error) or f"no answer within {START_S:g} s"
            raise Unfit(f"Python did not start to run a submission: {why}") from None

    def _ask(self, ask: str, seconds: float | None = None, given: Collection[str] = (), **words: Any) -> Answer:
        """The answer to a request; ``given``: the names of its inputs, which it may report as written to."""
        seconds = seconds or self.call_s
        try:
            answer = self._within(seconds, {"ask": ask, **words})
        except TimeoutError:
            raise Misbehaved("slow", f"it did not answer within {seconds:g} s") from None
        if answer.error:
            where = f" (line {answer.line} of {one_line(self.code.file)})" if answer.line else ""
            raise Misbehaved("raised", f"it raises {answer.error}{where}")
        if not set(answer.touched) <= set(given):
            self.end()
            raise Misbehaved("rubbish", "its process answers with inputs that it was not given")
        return answer

    def _within(self, seconds: float, request: dict[str, Any] | None) -> Answer:
        """The next answer within that time and the budget; else TimeoutError, or Misbehaved, and the process ends."""
        assert self._process is not None
        left, clock = self._budget.left_s, time.monotonic()
        try:
            answer = self._process.answer(request, min(seconds, left))
        except (TimeoutError, Misbehaved) as error:
            self.end(clock)
            if isinstance(error, TimeoutError) and left < seconds:
                raise self._overdrawn() from None
            raise
        self._budget.left_s -= time.monotonic() - clock
        return answer

    def _overdrawn(self) -> Misbehaved:
        return Misbehaved("slow", f"its {self._budget.seconds:g} s in all are used up")
