"""The process that runs a submission's code, from start to end; all its answers are checked before they are used."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import IO

from classroom import protocol
from classroom.protocol import Answer
from classroom.sandbox import Start

END_S = 10.0
"""Seconds that the kernel may take to end a namespace with 64 processes in it."""


class Misbehaved(Exception):
    """The code gave no usable answer; the message says why. ``kind``: absent (the file has nothing of that name),
    raised, slow, ended, rubbish."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(words)
        self.kind = kind


class Process:
    """A process started as ``start`` says; its output goes to ``said``, or nowhere if it should be quiet."""

    def __init__(self, start: Start, said: IO[bytes] | None = None) -> None:
        self._closed = start.closed
        self._process = subprocess.Popen(
            start.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said or (subprocess.DEVNULL if start.quiet else None),
            env=start.environment,
            start_new_session=True,
            cwd="/",
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        for pipe in (self._in, self._out):
            os.set_blocking(pipe.fileno(), False)

    def answer(self, request: protocol.Request | None, deadline: float) -> Answer:
        """The next answer, to a request if one is given. TimeoutError if there is none by the deadline."""
        if request is not None:
            message = protocol.encode(request)
            self._send(len(message).to_bytes(protocol.LENGTH, "big") + message, deadline)
        length = int.from_bytes(self._receive(protocol.LENGTH, deadline), "big")
        if length > protocol.MAX_SIZE:
            raise Misbehaved("rubbish", f"its process answers with {length:,} bytes")
        try:
            return protocol.decode_answer(self._receive(length, deadline))
        except (protocol.DecodeError, ValueError, RecursionError):
            raise Misbehaved("rubbish", "its process answers with something that is not an answer") from None

    def end(self) -> None:
        """Kill it and all that it has started; an isolated one has no process left when this returns."""
        process = self._process
        if self._closed and process.poll() is None:
            # The kernel ends a namespace with the first process in it, which is gone when all others are.
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                for first in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                    os.kill(int(first), signal.SIGKILL)
                    process.wait(END_S)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
        for pipe in (self._in, self._out):
            pipe.close()
        process.wait()

    def processor_s(self) -> float:
        """Its processor time since it started, seconds."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _send(self, data: bytes, deadline: float) -> None:
        pipe, rest = self._in.fileno(), memoryview(data)
        while rest:
            self._wait([], [pipe], deadline)
            try:
                rest = rest[os.write(pipe, rest) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._ended() from None

    def _receive(self, count: int, deadline: float) -> bytes:
        pipe, parts = self._out.fileno(), bytearray()
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
        left = deadline - time.monotonic()
        if left <= 0 or not any(select.select(readable, writable, [], left)):
            raise TimeoutError

    def _ended(self) -> Misbehaved:
        try:
            status = self._process.wait(2)
        except subprocess.TimeoutExpired:
            return Misbehaved("ended", "its process closed the line")
        return Misbehaved("ended", f"its process ended ({_in_words(status)})")


def _in_words(status: int) -> str:
    """An exit status as text; behind a shell or bubblewrap a signal is its number plus 128."""
    number = -status if status < 0 else status - 128
    names = {
        signal.SIGKILL: "killed: out of processor time, or of memory",
        signal.SIGXCPU: "out of processor time",
        signal.SIGSEGV: "segmentation fault",
        signal.SIGSYS: "it asked the kernel for what it may not have",
    }
    try:
        return names.get(signal.Signals(number), signal.Signals(number).name)
    except ValueError:
        return f"status {status}"
