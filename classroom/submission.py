"""Somebody's code as a process that is asked, with a deadline for each answer, and started anew when it is gone."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classroom import protocol
from classroom.code import Code
from classroom.protocol import Answer, Estimate, Load, Make, Place, Turn, pack, unpack
from classroom.sandbox import Start
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows

START_S = 60.0
"""Seconds until the first answer: Python starts, and what is compiled may have to be compiled first."""


class Misbehaved(Exception):
    """The code gave no answer that can be used; the message says why. ``kind``: absent (the file has nothing of
    that name), raised, slow, ended, rubbish."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(words)
        self.kind = kind


class Submission:
    """Somebody's code at work: `fresh` makes the class anew, then it can be asked.

    ``call_s``: seconds for an answer. ``budget_s``: for all of them together, while they are waited for. Every method
    raises Misbehaved; the process has ended then, unless the code has just raised something.
    """

    def __init__(self, start: Start, code: Code, call_s: float = 5.0, budget_s: float = float("inf")) -> None:
        self.code = code
        self.call_s = call_s
        self._start = start
        self._process: subprocess.Popen[bytes] | None = None
        self._unloaded: Misbehaved | None = None
        self._budget_s = self._left_s = budget_s

    def __enter__(self) -> Submission:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Kill the process and what it has started."""
        if (process := self._process) is None:
            return
        self._process = None
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()

    # --- what it can be asked ---------------------------------------------------------------------------

    def load(self) -> None:
        """Start the process, if there is none, with the code in it.

        Code that cannot be loaded is not tried again, and what is wrong with it told every time; unless it was slow,
        which may have been the machine.
        """
        if self._process is None and self._unloaded is None:
            self._begin()
            try:
                self._take_in(self.code)
            except Misbehaved as error:
                if error.kind == "slow":
                    raise
                self._unloaded = error
        if self._unloaded is not None:
            raise self._unloaded

    def _begin(self) -> None:
        self._process = subprocess.Popen(
            self._start.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if self._start.quiet else None,
            env=self._start.environment,
            start_new_session=True,
            cwd="/",
        )
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
        try:
            self._answer(None, time.monotonic() + START_S)
        except TimeoutError:
            self.end()
            raise Misbehaved("slow", f"Python did not start within {START_S:g} s") from None

    def _take_in(self, code: Code) -> None:
        if self._ask(Load(f"/submission/{code.file}", code.source, code.attribute), START_S).odd:
            raise Misbehaved("absent", f"there is no {code.attribute} in {code.file}")

    def fresh(self, k: int = 4, seed: int = 1, iterations: int = 1000, loop_mbps: float = 0.0) -> None:
        """Make the class anew, for a fat-tree of this k."""
        self.load()
        self._ask(Make(k, seed, iterations, loop_mbps))

    def place(self, flows: LargeFlows, links: LinkState, call_s: float | None = None) -> Placed:
        """One period of the scheduler that was made last."""
        columns = {name: pack(getattr(flows, name)) for name in LargeFlows.__dataclass_fields__}
        down = tuple(np.flatnonzero(~links.up).tolist())
        answer = self._ask(Place(columns, down), call_s or self.call_s)
        arrays = self._arrays(answer)
        return Placed(arrays.pop("core", None), answer.odd, answer.touched, arrays, answer.numbers)

    def estimate(self, src: ArrayLike, dst: ArrayLike, num_hosts: int) -> Placed:
        """The demands of flows; ``core`` of the answer holds them."""
        self.load()
        sender, receiver = (pack(np.asarray(x, dtype=np.int32)) for x in (src, dst))
        answer = self._ask(Estimate(sender, receiver, num_hosts))
        return Placed(self._arrays(answer).get("demand"), answer.odd, answer.touched, {}, {})

    def turn(self, columns: dict[str, NDArray[Any]], cores: dict[int, int]) -> Placed:
        """One period of the control loop; see `classroom.answering.Host`."""
        answer = self._ask(Turn({name: pack(column) for name, column in columns.items()}, cores))
        return Placed(None, answer.odd, answer.touched, self._arrays(answer), answer.numbers)

    def processor_s(self) -> float:
        """What the process has used of the processors since it started, seconds; 0 when it is not there."""
        if self._process is None:
            return 0.0
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    # --- how it is asked --------------------------------------------------------------------------------

    def _arrays(self, answer: Answer) -> dict[str, NDArray[Any]]:
        try:
            return {name: unpack(array) for name, array in answer.arrays.items()}
        except ValueError as error:
            self.end()
            raise Misbehaved("rubbish", f"its process answers with {error}") from None

    def _ask(self, request: protocol.Request, seconds: float | None = None) -> Answer:
        seconds = seconds or self.call_s
        clock, left = time.monotonic(), self._left_s
        try:
            answer = self._answer(request, clock + min(seconds, left))
        except TimeoutError:
            self.end()
            if left < seconds:
                raise Misbehaved("slow", f"its {self._budget_s:g} s in all are over") from None
            raise Misbehaved("slow", f"it did not answer within {seconds:g} s") from None
        finally:
            self._left_s -= time.monotonic() - clock
        if answer.error:
            said = "".join(c if c.isprintable() else "?" for c in answer.error[:400])
            where = f" (line {answer.line} of {self.code.file})" if answer.line else ""
            raise Misbehaved("raised", f"it raises {said}{where}")
        return answer

    def _answer(self, request: protocol.Request | None, deadline: float) -> Answer:
        """The next answer, to a request if there is one; TimeoutError when it is not there by the deadline."""
        try:
            if request is not None:
                message = protocol.encode(request)
                self._send(len(message).to_bytes(protocol.LENGTH, "big") + message, deadline)
            length = int.from_bytes(self._receive(protocol.LENGTH, deadline), "big")
            if length > protocol.LARGEST:
                raise Misbehaved("rubbish", f"its process answers with {length:,} bytes")
            return protocol.decode_answer(self._receive(length, deadline))
        except (protocol.DecodeError, ValueError):
            self.end()
            raise Misbehaved("rubbish", "its process answers with something that is no answer") from None
        except Misbehaved:
            self.end()
            raise

    def _send(self, data: bytes, deadline: float) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        pipe, rest = self._process.stdin.fileno(), memoryview(data)
        while rest:
            self._wait([], [pipe], deadline)
            try:
                rest = rest[os.write(pipe, rest) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._ended() from None

    def _receive(self, count: int, deadline: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        pipe, parts = self._process.stdout.fileno(), bytearray()
        while len(parts) < count:
            self._wait([pipe], [], deadline)
            try:
                part = os.read(pipe, min(count - len(parts), 1 << 20))
            except BlockingIOError:
                continue
            if not part:
                raise self._ended()
            parts += part
        return bytes(parts)

    def _wait(self, readable: list[int], writable: list[int], deadline: float) -> None:
        if not any(select.select(readable, writable, [], max(0.0, deadline - time.monotonic()))):
            raise TimeoutError

    def _ended(self) -> Misbehaved:
        assert self._process is not None
        try:
            status = self._process.wait(2)
        except subprocess.TimeoutExpired:
            return Misbehaved("ended", "its process closed the line")
        return Misbehaved("ended", f"its process ended ({_in_words(status)})")


def _in_words(status: int) -> str:
    """An exit status, 128 more than a signal where a shell or bubblewrap stood between."""
    number = -status if status < 0 else status - 128
    names = {
        signal.SIGKILL: "killed: out of processor time, or of memory",
        signal.SIGXCPU: "out of processor time",
        signal.SIGSEGV: "segmentation fault",
    }
    try:
        return names.get(signal.Signals(number), signal.Signals(number).name)
    except ValueError:
        return f"status {status}"


@dataclass(frozen=True, eq=False)
class Placed:
    """An answer: the array asked for, or what came instead (``odd``); inputs that were written to (``touched``); and
    what else the code said about itself, by name."""

    core: NDArray[Any] | None
    odd: str
    touched: tuple[str, ...]
    arrays: dict[str, NDArray[Any]]
    numbers: dict[str, float]
