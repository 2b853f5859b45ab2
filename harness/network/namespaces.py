"""Network namespaces that threads of ours hold, in virtual time: no process for each, and none to enter it.

Starting a process takes a guest 4 to 10 ms, more than all that it does there: a Mininet shell is four (mnexec, env,
bash, stty), and mnexec goes before every command. What a thread starts is born in the thread's namespace. In real
time the shells stay: they end with whatever ends the harness, which here is the guest's end.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
_CLONE_NEWNET = 0x4000_0000
_held: dict[int, ThreadPoolExecutor] = {}


def hold() -> int:
    """Make a network namespace, and a thread of ours that is in it: its id stands for the namespace, as that of a
    process would. OSError where it cannot be made."""
    thread = ThreadPoolExecutor(1)
    pid = thread.submit(_leave).result()
    _held[pid] = thread
    return pid


def _leave() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return threading.get_native_id()


def release(pid: int) -> None:
    """Let it go, with all that is in it."""
    _held.pop(pid).shutdown()


def held(pid: int | None) -> bool:
    """Whether a thread of ours is what has this id."""
    return pid in _held


def inside(pid: int | None, work: Callable[[], T]) -> T:
    """What ``work`` returns, done in a namespace that we hold; where we hold none of that id, done here."""
    thread = None if pid is None else _held.get(pid)
    return work() if thread is None else thread.submit(work).result()
