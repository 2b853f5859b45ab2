"""Network namespaces that threads of ours hold: no process for each, and none to enter it.

What a thread starts is born in the thread's namespace. The namespaces end with this process, however that ends, and so
does all that was started in them (`harness.network.processes`).
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
    try:
        pid = thread.submit(_leave).result()
    except OSError:
        thread.shutdown()
        raise
    _held[pid] = thread
    return pid


def _leave() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return threading.get_native_id()


def release(pid: int) -> None:
    _held.pop(pid).shutdown(wait=False)


def inside(pid: int | None, work: Callable[[], T]) -> T:
    """What ``work`` returns, done in a namespace that we hold; None: in our own."""
    return work() if pid is None else _held[pid].submit(work).result()
