"""A help in a tenth of a second: the libraries that compute and draw take longer to import than Python to start, and a
help uses nothing of them, nor of our own modules that work with them. While one is printed, or a word completed, empty
ones stand in their places.

What is printed is the same: tests/harness/test_help_stubs.py compares the help of every command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from itertools import accumulate
from types import ModuleType
from typing import Any

HEAVY = frozenset((
    "numpy", "numba", "llvmlite", "scipy", "pandas", "matplotlib", "networkx", "rich", "jinja2", "hypothesis", "dask",
    "concurrent", "multiprocessing", "xml",
    "harness.doctor", "harness.network", "hedera.compiled", "plots.stored_sweep", "plots.pictures", "plots.summary",
    "plots.paired_tests", "record.files", "record.run", "record.tasks", "studies.hull.packets", "topos.graphs",
    "traffic.traces",
))  # fmt: skip
"""The packages and modules that an empty one stands in for, each with everything in it."""

TAKING_COMMANDS = ("guest",)
"""These take the words of other commands, so a ``--help`` behind them may be the other command's."""


def is_help_asked(words: list[str], environment: Mapping[str, str], cli: Mapping[str, Any]) -> bool:
    """Whether a process with these words ends with a help, or with words to complete. ``cli``: by command what it is;
    only words of commands may come before ``--help``, because `hedera guest mn --help` is a help of Mininet's."""
    if environment.get("_HEDERA_COMPLETE", "").endswith("_complete"):
        return True
    first = next((n for n, word in enumerate(words) if word.startswith("-")), len(words))
    if words[first : first + 1] not in (["--help"], ["-h"]):
        return False
    return first == 0 or (words[0] in cli and (first == 1 or words[0] not in TAKING_COMMANDS))


class _Nothing:
    """What an empty library has under every name: it can be called, indexed, compared, inherited from, and decorate."""

    def __call__(self, *words: Any, **settings: Any) -> Any:
        return words[0] if len(words) == 1 and not settings and isinstance(words[0], type(lambda: 0)) else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return ()

    def __iter__(self) -> Any:
        return iter(())

    def __getitem__(self, key: Any) -> Any:
        return self

    def __float__(self) -> float:
        return 0.0

    def __index__(self) -> int:
        return 0


def _itself(self: _Nothing, *others: Any) -> Any:
    return self


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "or", "and", "lshift", "rshift"):
    setattr(_Nothing, f"__{_name}__", _itself)
    setattr(_Nothing, f"__r{_name}__", _itself)
for _name in ("neg", "invert", "abs"):
    setattr(_Nothing, f"__{_name}__", _itself)


class _Empty(ModuleType):
    __version__ = "0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing()


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        heavy = any(within in HEAVY for within in accumulate(name.split("."), "{}.{}".format))
        return ModuleSpec(name, self, is_package=True) if heavy else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def install_stubs() -> None:
    """From here on this process imports empty libraries in the place of heavy ones that are not there yet."""
    sys.meta_path.insert(0, _Finder())


def install_stubs_for_help(cli: Mapping[str, Any]) -> None:
    if is_help_asked(sys.argv[1:], os.environ, cli):
        install_stubs()
