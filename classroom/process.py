"""A process that runs a submission's code, from start to end; its answers are decoded here, and nothing in them is
trusted."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hedera.text import one_line

ROOT = Path(__file__).resolve().parents[1]
ANSWER = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "import runpy; runpy.run_module('classroom.answering', run_name='__main__', alter_sys=True)"
)
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
MAX_ANSWER = 1 << 20
"""Bytes of an answer."""
MEMORY = 3 << 30
"""Bytes that all processes of somebody else's code may take together."""
MOST_PROCESSES = 256
"""Where no limit of the kernel holds fewer, the count at which they are ended."""
WATCH_S = 0.1
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
class Start:
    """How to start the answering process. ``others``: it runs somebody else's code, so its output is not shown, and
    its memory is watched. ``closed``: all that it starts is in a namespace, and ends with the first process in it."""

    command: tuple[str, ...]
    environment: dict[str, str]
    others: bool = True
    closed: bool = False


def own(hash_seed: int = 0) -> Start:
    """The user's own code, run as the user. Another ``hash_seed`` gives sets of strings another order."""
    environment = {**os.environ, **ONE_THREAD, "PYTHONHASHSEED": str(hash_seed)}
    return Start((sys.executable, "-B", "-s", "-c", ANSWER, str(ROOT)), environment, others=False)


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
    touched, odd = tuple(map(str, told.get("touched", ()))), one_line(told.get("odd", ""), most=100)
    return Answer(values, numbers, touched, one_line(told.get("error", "")), int(told.get("line", 0)), odd)


class Process:
    """A process started as ``start`` says; what it says on standard error goes to ``said``."""

    def __init__(self, start: Start, said: IO[bytes] | None = None) -> None:
        self._closed, self._ending, self._taken = start.closed, threading.Lock(), ""
        pipe, errors = subprocess.PIPE, said or (subprocess.DEVNULL if start.others else None)
        alone: dict[str, Any] = {"env": start.environment, "start_new_session": True, "cwd": "/"}
        self._process = subprocess.Popen(start.command, stdin=pipe, stdout=pipe, stderr=errors, **alone)
        self._asked: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._heard: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._talk, daemon=True).start()
        if start.others:
            threading.Thread(target=self._watch, daemon=True).start()

    def answer(self, request: dict[str, Any] | None, seconds: float) -> Answer:
        """The next answer, to a request if one is given. TimeoutError if there is none within that time."""
        if request is not None:
            self._asked.put(json.dumps(request).encode() + b"\n")
        try:
            line = self._heard.get(timeout=max(0.0, seconds))
        except queue.Empty:
            raise TimeoutError from None
        if not line:
            raise Misbehaved("ended", self._taken or self._how_it_ended())
        try:
            return _answer(line)
        except Exception:  # noqa: BLE001, whatever it is that is wrong with it
            raise Misbehaved("rubbish", "its process answers with something that is not an answer") from None

    def end(self) -> None:
        """Kill it and all that it has started; an isolated one has no process left when this returns."""
        with self._ending:
            self._kill()
            self._process.wait()
        self._asked.put(None)

    def _talk(self) -> None:
        """In a thread of its own, since only that can wait for a pipe with a deadline everywhere."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError), self._process.stdin as into, self._process.stdout as out:
            while True:
                self._heard.put(out.readline(MAX_ANSWER + 1))
                if (request := self._asked.get()) is None:
                    return
                into.write(request)
                into.flush()
        self._heard.put(b"")

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


def _memory(pid: int) -> int:
    """Bytes that are a process's own, in memory or swapped out."""
    with contextlib.suppress(OSError):
        found = re.findall(r"^(?:RssAnon|RssShmem|VmSwap):\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)
        return sum(map(int, found)) << 10
    return 0
