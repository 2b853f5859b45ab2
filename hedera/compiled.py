"""How the project compiles its inner loops: Numba, without the interpreter lock, kept on disk between processes.

Numba keeps compiled code in ``__pycache__`` beside the source, or in the user's cache directory when the
source is read-only. Set ``NUMBA_CACHE_DIR`` when neither can be written; without any such place the code is
compiled afresh in each process, which costs seconds once and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Decorator: compile ``function`` on its first call, or load what an earlier process compiled."""
    return _compile(function)


def compiled_parallel(function: Function) -> Function:
    """As `compiled`, with the iterations of ``numba.prange`` loops shared among Numba's threads.

    Works on a twin under another name, because Numba tells the functions in its cache apart by name: one
    function can so be compiled both ways.
    """
    name = f"{function.__name__}_parallel"
    twin = FunctionType(function.__code__, function.__globals__, name)
    twin.__module__, twin.__qualname__ = function.__module__, name
    return cast(Function, _compile(twin, parallel=True))


def _compile(function: Function, **options: Any) -> Function:
    try:
        return cast(Function, numba.njit(cache=True, nogil=True, **options)(function))
    except RuntimeError:  # Numba found no directory it may write its cache to
        return cast(Function, numba.njit(nogil=True, **options)(function))
