"""Child processes that never outlive the harness and are ended by pid, and deadlines for whatever waits."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

from harness.network.machine import time_travels
from harness.network.netlink import call_inside
from record.errors import RunFailed
from virtual import TIED

_RAISING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
# Only one that waits for a device in the kernel takes longer, and nobody can end that one.
REAP_S = 5.0
"""Seconds a process may take to end once it is killed."""
# The exception of a deadline starts the tear-down, which may hang as well: a second alarm breaks that off.
AGAIN_S = 30.0
"""An alarm that has rung rings again every so often."""


def tie_to_us() -> list[str]:
    """A prefix for a command that ends with us, who start it, however we end."""
    # In a guest nothing is tied: with the guest's first process the whole machine ends, and to start one more program
    # for each costs it 10 ms.
    return [] if time_travels() else [*TIED, str(os.getpid())]


@contextlib.contextmanager
def _put_off_signals() -> Iterator[None]:
    """Put off what signals raise until the block has ended. So a process that was started is known, and will be
    ended."""
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
    late: list[tuple[int, FrameType | None]] = []
    for number in _RAISING:
        if callable(handler := signal.getsignal(number)):
            handlers[number] = handler
            signal.signal(number, lambda *arguments: late.append(arguments))
    try:
        yield
    finally:
        for handled, handler in handlers.items():
            signal.signal(handled, handler)
        for came, frame in late:
            handlers[came](came, frame)


class Children:
    """The processes of one run. Leaving the ``with`` block ends all of them, newest first.

    Children are sessions of their own, so Ctrl-C reaches the harness alone, which then ends them in order.
    Spawn from the main thread only: the kernel ties a child to the thread that started it, or to that which holds its
    namespace.
    """

    def __init__(self) -> None:
        self._running: list[tuple[str, subprocess.Popen[bytes]]] = []

    def __enter__(self) -> Children:
        return self

    def __exit__(self, *exception: object) -> None:
        """Kill every child, newest first."""
        # What is still there at the end has nothing left to write. What sends ends before what it sends over.
        self.end((child for _, child in reversed(self._running)), deadline=0.0)

    def spawn(
        self,
        name: str,
        argv: Sequence[str],
        *,
        namespace: int | None = None,
        output: Path | None = None,
        group: Path | None = None,
        environment: dict[str, str] | None = None,
        handed: Sequence[int] = (),
        commands: bool = False,
    ) -> subprocess.Popen[bytes]:
        """Start ``argv`` in a namespace that we hold, standard output and error to a file (or nowhere).

        ``group``: the file of a control group that it joins before it begins (`harness.network.cpulimit`).
        ``handed``: open files that it gets, by their numbers. ``commands``: standard input is a pipe of the child's.
        RunFailed when the machine cannot start one more process.
        """
        join = [] if group is None else ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(group)]
        command = [*join, *tie_to_us(), *argv]
        with contextlib.ExitStack() as stack:
            sink: IO[bytes] | int = subprocess.DEVNULL
            if output is not None:
                sink = stack.enter_context(output.open("wb"))
            try:
                stack.enter_context(_put_off_signals())
                child = call_inside(
                    namespace,
                    lambda: subprocess.Popen(
                        command,
                        stdin=subprocess.PIPE if commands else subprocess.DEVNULL,
                        stdout=sink,
                        stderr=subprocess.STDOUT if output is not None else subprocess.DEVNULL,
                        start_new_session=True,
                        env=environment,
                        pass_fds=handed,
                        cwd="/",  # not where the user happens to stand, whose files are nobody's configuration
                    ),
                )
            except OSError as error:
                raise RunFailed(f"{name} could not be started: {error.strerror}") from None
            self._running.append((name, child))
        return child

    def named(self, prefix: str) -> list[subprocess.Popen[bytes]]:
        """The children whose name starts with ``prefix``."""
        return [child for name, child in self._running if name.startswith(prefix)]

    def dead(self) -> list[str]:
        return [f"{name} (status {child.returncode})" for name, child in self._running if child.poll() is not None]

    def end(self, children: Iterable[subprocess.Popen[bytes]], deadline: float = 2.0) -> None:
        """SIGTERM to each, SIGKILL to those still there after ``deadline`` seconds, and reap them all.

        One that even SIGKILL does not end within REAP_S seconds (it waits for a device) is left to the kernel.
        """
        children = list(children)
        for child in children:
            _send_signal(child, signal.SIGTERM)
        limit = time.monotonic() + deadline
        for child in children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0.0, limit - time.monotonic()))
        for child in children:
            _send_signal(child, signal.SIGKILL)
        limit = time.monotonic() + REAP_S
        for child in children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0.0, limit - time.monotonic()))
        for child in children:
            if child.stdin is not None:
                with contextlib.suppress(OSError):  # what it had not read goes with it
                    child.stdin.close()
        ended = {id(child) for child in children}
        self._running = [(name, child) for name, child in self._running if id(child) not in ended]


def _send_signal(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)


def run_program(
    argv: Sequence[str], *, namespace: int | None = None, stdin_text: str | None = None, seconds: float = 60.0
) -> str:
    """Run a short command to its end and return its standard output.

    RunFailed with its words if it fails, cannot be started, or takes longer than ``seconds``.
    """
    shown = " ".join(argv[:4])
    try:
        done = call_inside(
            namespace,
            lambda: subprocess.run(
                argv, input=stdin_text, capture_output=True, text=True, timeout=seconds, check=False
            ),
        )
    except subprocess.TimeoutExpired:
        raise RunFailed(f"{shown} did not end within {seconds:g} s") from None
    except OSError as error:
        raise RunFailed(f"{shown} could not be started: {error.strerror}") from None
    if done.returncode:
        reason = (done.stderr or done.stdout).strip() or f"status {done.returncode}"
        raise RunFailed(f"{shown} failed: {reason}")
    return done.stdout


def wait_until(done: Callable[[], bool], deadline: float, step: float = 0.02) -> bool:
    """Whether ``done()`` became true within ``deadline`` seconds."""
    limit = time.monotonic() + deadline
    while not done():
        if time.monotonic() > limit:
            return False
        time.sleep(step)
    return True


@contextlib.contextmanager
def deadline(seconds: float, reason: str) -> Iterator[None]:
    """RunFailed with ``reason`` when the block takes longer than ``seconds``, whatever it waits for.

    By an alarm, of which there is one: in the main thread alone (ValueError in any other), and not within another.
    """

    def raise_alarm(number: int, frame: FrameType | None) -> NoReturn:
        raise RunFailed(reason)

    before = signal.signal(signal.SIGALRM, raise_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def hurry() -> None:
    """This process is to end: a deadline that it is under rings within AGAIN_S, for what hangs in its tear-down."""
    left_s, _ = signal.getitimer(signal.ITIMER_REAL)
    if left_s > AGAIN_S:
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S, AGAIN_S)
