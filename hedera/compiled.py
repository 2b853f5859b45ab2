"""How the project compiles its inner loops: Numba, without the interpreter lock, kept on disk between processes.

Numba keeps compiled code in ``__pycache__`` beside the source, or in the user's cache directory when the
source is read-only. Set ``NUMBA_CACHE_DIR`` when neither can be written; without any such place the code is
compiled afresh in each process, which costs seconds once and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Decorator: compile ``function`` on its first call, or load what an earlier process compiled."""
    # By numpy's rules a division need not look whether it is by zero; no loop of ours divides by zero.
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return cast(Function, numba.njit(cache=True, **options)(function))
    except RuntimeError:  # Numba found no directory it may write its cache to
        return cast(Function, numba.njit(**options)(function))
