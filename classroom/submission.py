"""A submission: somebody's code in a process of its own, with a deadline for each answer. Nothing in its answers is
trusted; the process is restarted if it has ended."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from hedera.text import one_line
from traffic.textfile import Unreadable, read_regular

ROOT = Path(__file__).resolve().parents[1]
SCHEDULER = "scheduler.py"
NAMES = {
    "demand.py": "estimate_demands",
    "first_fit.py": "FirstFit",
    "annealing.py": "Annealing",
    SCHEDULER: "Scheduler",
}
"""The files to hand in, and the name in each: milestones on the way to Hedera, and a scheduler of the student's own."""
_ANSWER = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "import runpy; runpy.run_module('classroom.answering', run_name='__main__', alter_sys=True)"
)
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
MAX_FILE, MAX_ANSWER = 256 << 10, 1 << 20
"""Bytes of a code file, and of an answer."""
READY = b"{}\n"
"""The first answer, before anything is asked."""
START_S = 60.0
"""Seconds until Python has started and gives its first answer; and then until a file is loaded."""
MEMORY = 3 << 30
"""Bytes that all processes of somebody else's code may take together."""
MOST_PROCESSES = 256
"""Where no limit of the kernel holds fewer, the count at which they are ended."""
WATCH_S = 0.1
ASLEEP_S = 10.0
"""Seconds of a file's time, while it is asked something, in which no thread of it computes or waits for a disk."""
_SIGNALS = {9: "killed: out of processor time, or of memory", 11: "segmentation fault", 24: "out of processor time"}


class Misbehaved(Exception):
    """The code gave no usable answer; the message says why. ``kind``: absent (the file has nothing of that name),
    raised, slow, ended, rubbish."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(words)
        self.kind = kind


class Unfit(RuntimeError):
    """This machine cannot run or isolate a process; the message says what is missing."""


@dataclass(frozen=True)
class Code:
    """A file's text, and the name in it that is meant. ``file`` is the file's name."""

    file: str
    source: str
    attribute: str


def read_code(path: Path, attribute: str) -> Code:
    """The code in a file. ValueError, one sentence, if there is none."""
    try:
        return as_code(path.name, read_regular(path, MAX_FILE), attribute)
    except Unreadable as error:
        raise ValueError(f"{path.name} {error}") from None


def as_code(file: str, data: bytes, attribute: str) -> Code:
    try:
        return Code(file, data.decode("utf-8-sig"), attribute)
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not text in UTF-8") from None


@dataclass(frozen=True)
class Start:
    """How to start the answering process. ``others``: it runs somebody else's code, so its output is not shown, and
    its memory is watched. ``closed``: all that it starts is in a namespace, and ends with the first process in it."""

    command: tuple[str, ...]
    environment: dict[str, str]
    others: bool = True
    closed: bool = False


def answering(python: Path | str, code: Path | str, limits: dict[str, int]) -> tuple[str, ...]:
    """The command of the answering process. ``limits``: those of `resource`, which it sets before it reads anything."""
    return (str(python), "-s", "-c", _ANSWER, str(code), json.dumps(limits))


def own(hash_seed: int = 0) -> Start:
    """The user's own code, run as the user. Another ``hash_seed`` gives sets of strings another order."""
    seen = {**os.environ, **ONE_THREAD, "PYTHONHASHSEED": str(hash_seed), "PYTHONDONTWRITEBYTECODE": "1"}
    return Start(answering(sys.executable, ROOT, {}), seen, others=False)


@dataclass(frozen=True, eq=False)
class Answer:
    """``values`` and ``numbers`` by name; the inputs that were written to; an exception and its line of the file;
    ``odd``: what the code answered with instead of numbers."""

    values: dict[str, NDArray[Any]] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    touched: tuple[str, ...] = ()
    error: str = ""
    line: int = 0
    odd: str = ""


def _answer(line: bytes) -> Answer:
    """What a line says. Raises whatever it is that is wrong with it."""
    if len(line) > MAX_ANSWER:
        raise ValueError
    told = json.loads(line)
    values = {name: np.asarray(numbers) for name, numbers in told.get("values", {}).items()}
    if any(array.dtype.kind not in "biuf" for array in values.values()):
        raise ValueError
    numbers = {name: float(number) for name, number in told.get("numbers", {}).items()}
    touched = tuple(one_line(name, most=20) for name in told.get("touched", ())[:9])
    odd = one_line(told.get("odd", ""), most=100)
    return Answer(values, numbers, touched, one_line(told.get("error", "")), int(told.get("line", 0)), odd)


class _Process:
    """A process started as ``start`` says."""

    def __init__(self, start: Start, budget: Budget) -> None:
        self._budget, self._asked = budget, False
        self._closed, self._ending, self._taken = start.closed, threading.Lock(), ""
        pipe, errors = subprocess.PIPE, subprocess.DEVNULL if start.others else None
        alone: dict[str, Any] = {"env": start.environment, "start_new_session": True, "cwd": "/"}
        self._process = subprocess.Popen(start.command, stdin=pipe, stdout=pipe, stderr=errors, **alone)
        if start.others:
            threading.Thread(target=self._watch, daemon=True).start()

    def answer(self, request: dict[str, Any] | None, seconds: float) -> Answer:
        """The next answer, to a request if one is given. TimeoutError if there is none within that time."""
        heard: list[bytes] = []
        # Only a thread can wait for a pipe with a deadline on every system.
        self._talking = threading.Thread(target=self._talk, args=(request, heard), daemon=True)
        self._talking.start()
        self._asked = request is not None
        self._talking.join(max(0.0, seconds))
        self._asked = False
        if not heard:
            raise TimeoutError
        if not heard[0]:
            raise Misbehaved("ended", self._taken or self._how_it_ended())
        try:
            return _answer(heard[0])
        except Exception:  # noqa: BLE001, whatever it is that is wrong with it
            raise Misbehaved("rubbish", "its process answers with something that is not an answer") from None

    def _talk(self, request: dict[str, Any] | None, heard: list[bytes]) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            if request is not None:
                self._process.stdin.write(json.dumps(request).encode() + b"\n")
                self._process.stdin.flush()
            heard.append(self._process.stdout.readline(MAX_ANSWER + 1))
        except OSError:
            heard.append(b"")

    def end(self) -> None:
        """Kill it and all that it has started; an isolated one has no process left when this returns."""
        with self._ending:
            self._kill()
            self._process.wait()
        self._talking.join(1.0)
        if not self._talking.is_alive():  # else something that left its session still has the pipe
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]

    def _watch(self) -> None:
        """End it when its processes take too much together: the kernel's limits are for each of them."""
        while not self._taken:
            with self._ending:
                if self._process.poll() is not None:
                    return
                family = list(_family(self._process.pid))
                if sum(map(_memory, family)) > MEMORY:
                    self._taken = f"its processes took more than {MEMORY >> 30} GiB of memory"
                elif len(family) > MOST_PROCESSES:
                    self._taken = f"it started more than {MOST_PROCESSES} processes"
                elif self._asked and all(map(_asleep, family)):
                    self._budget.asleep_s += WATCH_S
                    if self._budget.asleep_s > ASLEEP_S:
                        self._taken = self._budget.over = f"it slept for more than {ASLEEP_S:g} s in all"
                        self._budget.left_s = 0.0
                if self._taken:
                    self._kill()
            time.sleep(WATCH_S)

    def _kill(self) -> None:
        process = self._process
        if process.poll() is None and self._closed:
            # The kernel ends a namespace with the first process in it, which is gone when all others are.
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                for first in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                    os.kill(int(first), signal.SIGKILL)
                    process.wait(10.0)
        if process.poll() is None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except (AttributeError, ProcessLookupError, PermissionError):  # Windows has no groups
                process.kill()

    def _how_it_ended(self) -> str:
        """Behind a shell or bubblewrap a signal is its number plus 128."""
        try:
            status = self._process.wait(2)
        except subprocess.TimeoutExpired:
            return "its process closed the line"
        number = -status if status < 0 else status - 128
        how = _SIGNALS.get(number, f"signal {number}" if 0 < number < 65 else f"status {status}")
        return f"its process ended ({how})"


def _family(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in children.read_text().split():
                yield from _family(int(child))


def _asleep(pid: int) -> bool:
    """Whether none of its threads computes, can, or waits for a disk."""
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):
            if stat.read_text().rpartition(")")[2].split()[0] in "RD":
                return False
    return True


def _memory(pid: int) -> int:
    """Bytes that are a process's own, in memory or swapped out."""
    with contextlib.suppress(OSError):
        found = re.findall(r"^(?:RssAnon|RssShmem|VmSwap):\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)
        return sum(map(int, found)) << 10
    return 0


class Budget:
    """Real seconds to wait for a submission: from start-up to end, all its processes together."""

    def __init__(self, seconds: float = float("inf")) -> None:
        self.left_s, self.over, self.asleep_s = seconds, f"its {seconds:g} s in all are used up", 0.0


@dataclass(eq=False)
class Submission:
    """A submission's code in a process: `fresh` makes a new instance of the class, which then answers.

    ``start``: how, by the seed of Python's hashes. ``call_s``: seconds for an answer. ``budget``: for all answers
    together. Every method raises Misbehaved; then the process has ended, unless the code only raised an exception. If
    it does not even start, which is never the submission's doing, they raise Unfit.
    """

    start: Callable[[int], Start]
    code: Code
    call_s: float = 20.0
    budget: Budget = field(default_factory=Budget)
    hash_seed: int = 0
    _process: _Process | None = field(default=None, init=False)
    _unloaded: Misbehaved | None = field(default=None, init=False)

    def another(self) -> Submission:
        """The same code in another process, with another seed of Python's hashes."""
        return Submission(self.start, self.code, self.call_s, self.budget, self.hash_seed + 1)

    def __enter__(self) -> Submission:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Kill its process, if there is one, and all that it has started."""
        if self._process is not None:
            self._process.end()
            self._process = None

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

    def place(self, flows: LargeFlows, links: LinkState) -> Answer:
        """One period of the scheduler that was made last: ``core``, and what else it reports."""
        columns = {name: getattr(flows, name).tolist() for name in LargeFlows.__dataclass_fields__}
        down = np.flatnonzero(~links.up).tolist()
        return self._ask("place", columns=columns, down=down)

    def estimate(self, src: ArrayLike, dst: ArrayLike, num_hosts: int) -> Answer:
        """The ``demand`` of flows."""
        self.load()
        ends = {"src": np.asarray(src).tolist(), "dst": np.asarray(dst).tolist()}
        return self._ask("estimate", **ends, num_hosts=num_hosts)

    def _begin(self) -> None:
        if self.budget.left_s <= 0:
            raise Misbehaved("slow", self.budget.over)
        self._process = _Process(self.start(self.hash_seed), self.budget)
        try:
            self._within(None, START_S)
        except Misbehaved as error:
            if self.budget.left_s <= 0:
                raise
            raise Unfit(f"Python did not start to run a submission: {error}") from None

    def _ask(self, ask: str, seconds: float | None = None, **words: Any) -> Answer:
        answer = self._within({"ask": ask, **words}, seconds or self.call_s)
        if answer.error:
            where = f" (line {answer.line} of {one_line(self.code.file)})" if answer.line else ""
            raise Misbehaved("raised", f"it raises {answer.error}{where}")
        return answer

    def _within(self, request: dict[str, Any] | None, seconds: float) -> Answer:
        """The next answer within that time and the budget; else the process ends."""
        assert self._process is not None
        left, clock, late = self.budget.left_s, time.monotonic(), f"it did not answer within {seconds:g} s"
        try:
            return self._process.answer(request, min(seconds, left))
        except TimeoutError:
            self.end()
            raise Misbehaved("slow", self.budget.over if left < seconds else late) from None
        except Misbehaved:
            self.end()
            raise
        finally:  # its end counts, too: the kernel takes long to remove a million files
            self.budget.left_s -= time.monotonic() - clock
