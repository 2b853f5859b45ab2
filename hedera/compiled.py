"""How the project compiles its inner loops: Numba, without the interpreter lock, kept on disk between processes.

Machine code contains a copy of everything it calls, and of every constant. Numba's own cache checks only the file of
the outermost function, and so misses changes elsewhere. Ours is keyed by what the compiler reads: the code of the
function and of everything it can call, as loaded in this process, and every constant. File names, dates, comments and
later changes on the disk do not matter.

The folder is ``NUMBA_CACHE_DIR``, or else one in this user's cache (`files.private`).
"""

from __future__ import annotations

import dis
import hashlib
import os
import pickle
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from files.private import NotPrivate, Store, private_folder

Function = TypeVar("Function", bound=Callable[..., Any])
FILES = 500
"""Files kept: one per function and types of its arguments, about 80 for one state of the sources."""


def compiled(function: Function) -> Function:
    """Decorator: compile ``function`` on its first call, or load what an earlier process compiled."""
    # With numpy's rules a division does not check for zero; no loop of ours divides by zero.
    made: Any = numba.njit(nogil=True, error_model="numpy")(function)
    if _is_numba_s(made):  # else NUMBA_DISABLE_JIT is set
        made._cache = Kept(made)
    return cast(Function, made)


class NotUnderstood(TypeError):
    """A function depends on a value whose changes cannot be detected here."""


class Kept(NullCache):  # type: ignore[misc]
    """The cache of one Numba function: asked before it compiles, filled afterwards."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._digest: str | None = None

    def digest(self) -> str:
        """The digest of everything the compiler reads of this function, computed once. Raises NotUnderstood."""
        if self._digest is None:
            try:
                self._digest = hashlib.sha256(repr(_reading(self._function)).encode()).hexdigest()
            except RecursionError:
                raise NotUnderstood(f"{self._function} and another call each other") from None
        return self._digest

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for these types of arguments; None when it has to be compiled."""
        rtsys.initialize(target_context)  # needed to run machine code; compiling would have done it
        try:
            found = Store(code_folder(), FILES).read(self._name(sig, target_context))
        except (NotPrivate, NotUnderstood) as error:
            _say(f"compiling the inner loops, half a minute or less, and at every start: {error}")
            return None
        if found is not None:
            # ImportError: a function made at run time has no module to import.
            with suppress(ImportError), _no_linear_algebra():
                return CompileResult._rebuild(target_context, *pickle.loads(found))
        _say("compiling the inner loops, once: half a minute or less")
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code where that is possible; where it is not, `load_overload` has said so."""
        if not data.library.has_dynamic_globals and not data.lifted:
            with suppress(NotPrivate, NotUnderstood, OSError):
                Store(code_folder(), FILES).write(self._name(sig, data.target_context), dumps(data._reduce()))

    def _name(self, sig: Any, target_context: Any) -> str:
        machine = target_context.codegen().magic_tuple()
        for_what = repr((*_VERSIONS, config.OPT, config.BOUNDSCHECK, machine, str(sig)))
        python = self._function.py_func
        name = f"{python.__module__}.{python.__qualname__}"[:100].replace("/", "_")
        return f"{name}-{self.digest()[:32]}-{hashlib.sha256(for_what.encode()).hexdigest()[:32]}"


@contextmanager
def _no_linear_algebra() -> Iterator[None]:
    """Keep Numba from importing SciPy's BLAS, which no loop of ours calls: the import takes half of the loading
    time."""
    absent = "scipy.linalg" not in sys.modules
    if absent:
        sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if absent:
            del sys.modules["scipy.linalg"]


def _is_numba_s(value: object) -> bool:
    return isinstance(value, Dispatcher)


def code_folder() -> Path:
    """The folder of the machine code; NotPrivate if there cannot be one."""
    return private_folder("compiled", os.environ.get("NUMBA_CACHE_DIR"))


_said = False


def _say(sentence: str) -> None:
    """Once per process."""
    global _said
    if not _said:
        _said = True
        print(sentence, file=sys.stderr, flush=True)


_VERSIONS = (numba.__version__, np.__version__, sys.version, platform.machine())
_OTHERS = {*sys.stdlib_module_names, "numpy", "numba"}
"""Modules that change with the versions above alone."""


def _reading(function: Any) -> object:
    """Everything the compiler reads of a Numba function, in a form with a `repr` that no other function has."""
    python = function.py_func
    known = {name: value for name, value in python.__globals__.items() if value is not function}
    return (
        repr(function.targetoptions),
        _code(python.__code__),
        [_value(cell.cell_contents) for cell in python.__closure__ or ()],
        _value(python.__defaults__),
        _value(python.__kwdefaults__),
        [(name, _value(known[name])) for name in sorted(_globals(python.__code__)) if name in known],
    )


def _code(code: CodeType) -> object:
    return (
        code.co_code,
        code.co_flags,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        getattr(code, "co_exceptiontable", b""),
        [_code(c) if isinstance(c, CodeType) else _value(c) for c in code.co_consts],
    )


def _globals(code: CodeType) -> set[str]:
    inside = [_globals(part) for part in code.co_consts if isinstance(part, CodeType)]
    return {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}.union(*inside)


def _value(value: Any) -> object:
    """The value of a constant or global, for `_reading`. Raises NotUnderstood."""
    if _is_numba_s(value):
        return value._cache.digest() if isinstance(value._cache, Kept) else _reading(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.dtype.str, value.shape, value.strides, hashlib.sha256(value.tobytes()).digest()
    if isinstance(value, tuple):
        return type(value).__qualname__, [_value(part) for part in value]
    if isinstance(value, type) and hasattr(value, "_fields"):  # NamedTuple
        return value.__qualname__, value._fields, _value(value.__new__.__defaults__)
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        return type(value).__name__, repr(value)
    if isinstance(value, (type, ModuleType, BuiltinFunctionType, FunctionType)):
        place = value.__name__ if isinstance(value, ModuleType) else value.__module__
        if place.partition(".")[0] in _OTHERS:
            return place, getattr(value, "__qualname__", "")
    raise NotUnderstood(f"{value!r} in a compiled function is not understood")
