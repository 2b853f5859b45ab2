"""What compiled inner loops share: how Numba compiles and keeps them, random numbers, and the links of a path.

Machine code contains a copy of all that it calls, and Numba's cache asks only whether the outermost function's file
has changed. So each state of the sources has a folder of its own, named by their hash; and so has each place where they
are, each Python, Numba and processor, whose code Numba does not take for another's.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

# Our loops are of one thread; Numba, compiling, ends with a traceback for a number of threads that is none.
if not re.fullmatch("[1-9][0-9]*", os.environ.get("NUMBA_NUM_THREADS", "1")):
    del os.environ["NUMBA_NUM_THREADS"]

# As Numba loads it looks for these, which takes a sixth of a second. No loop of ours uses them.
if _hidden := [name for name in ("cffi", "scipy", "scipy.linalg.cython_blas", "yaml") if name not in sys.modules]:
    sys.modules |= dict.fromkeys(_hidden)  # type: ignore[arg-type]

import numba
import numba.core.typing.cffi_utils
import numba.np.arraymath
import numpy as np
from llvmlite.binding import get_host_cpu_name
from numba.core import config

from hedera.hash_functions import STEP, scatter
from hedera.linkstate import LinkState
from topos import links
from topos.arrays import Int32, Int64
from topos.network import Network

for _name in _hidden:
    del sys.modules[_name]

Function = TypeVar("Function", bound=Callable[..., Any])
# Who works on the sources goes back and forth between a few states of them, and each takes half a minute to compile.
FOLDERS = 8
"""States of the sources whose machine code is kept."""
# A sweep that is under way may still go on with it.
KEPT_S = 86400.0
"""Machine code that was used more recently is not removed."""
NO_LINK = links.NO_LINK
_ROOT = Path(__file__).resolve().parents[1]


def compiled(function: Function) -> Function:
    """Decorator: compile ``function`` on its first call, or load what an earlier process compiled."""
    return _keep_on_disk(function)


def uncounted(function: Function) -> Function:
    """Decorator: as `compiled`, for a function that makes no array and only calls such functions.

    Numba counts a reference at every assignment of an array, those of inlined calls included, and each count is an
    atomic addition: half the time of loops that look at a flow here and a link there. Who calls the function keeps the
    arrays alive.
    """
    return _keep_on_disk(function, _nrt=False)


def inlined(function: Function) -> Function:
    """Decorator: compile ``function`` into every `uncounted` one that calls it.

    For what is called a million times a second with many arrays: passing them on costs as much as the work.
    """
    return cast(Function, numba.njit(nogil=True, error_model="numpy", _nrt=False, inline="always")(function))


def _keep_on_disk(function: Function, **options: bool) -> Function:
    folder = find_code_folder()
    if folder is not None:
        config.CACHE_DIR = str(folder)
    # With numpy's rules a division does not check for zero; no loop of ours divides by zero.
    return cast(Function, numba.njit(nogil=True, error_model="numpy", cache=folder is not None, **options)(function))


@cache
def find_code_folder() -> Path | None:
    """The folder of these sources' machine code, made if needed: below NUMBA_CACHE_DIR or ~/.cache/hedera/compiled.

    Numba runs whatever lies there, so it is None, and nothing is kept, where others can write, or this user cannot.
    """
    named, home = os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")
    folder = Path(named or "hedera/compiled")
    try:
        base = folder if named else Path(home or Path("~/.cache").expanduser()) / folder
        folder = base / hash_sources(_ROOT)
        if not folder.is_dir():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            print("compiling the inner loops, once: half a minute or less", file=sys.stderr, flush=True)
            make_room(base)
        safe = all(_is_ours(place.stat()) for place in (base, folder)) and os.access(folder, os.W_OK)
    except (OSError, RuntimeError):
        safe = False
    if not safe:
        print(f"compiling the inner loops at every start: {folder} is not this user's alone", file=sys.stderr)
    return folder if safe else None


def _is_ours(about: os.stat_result) -> bool:
    return about.st_uid in (0, os.geteuid()) and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def make_room(base: Path) -> None:
    """Remove the oldest folders in it that no sweep can still go on with."""
    for old in sorted(base.iterdir(), key=lambda folder: folder.stat().st_mtime)[:-FOLDERS]:
        if time.time() - old.stat().st_mtime > KEPT_S:
            shutil.rmtree(old, ignore_errors=True)


def hash_sources(folder: Path, run_at: str = "") -> str:
    """A hash of all that compiled functions call in other files than their own, and of all that Numba asks for;
    ``run_at``: where the files will be when they are run, if that is not ``folder``.

    The simulator's belong to it, though nothing calls them from elsewhere: Numba reads an index of what it has
    compiled before it looks whether the file has changed, and ends with an AttributeError where a type in there has
    another name by now.
    """
    machine = (run_at or str(folder), sys.version, numba.__version__, get_host_cpu_name())
    digest = hashlib.sha256(repr(machine).encode())
    for path in sorted(
        path for package in ("hedera", "topos", "simulator") for path in (folder / package).glob("*.py")
    ):
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


_scatter = compiled(scatter)


@compiled
def draw_bits(seed: np.uint64, number: np.uint64) -> np.uint64:
    """The ``number``-th 64 random bits of ``seed`` by SplitMix64: numbers of one iteration do not depend on each other,
    and none need to be stored."""
    return _scatter(seed + number * STEP)


@compiled
def draw_below(bound: int, random_bits: np.uint64) -> np.int64:
    """A whole number from 0 to ``bound`` - 1, from the upper half of the bits (bias below bound / 2^32)."""
    return np.int64(((random_bits >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@compiled
def draw_two_below(bound: int, first: np.uint64, second: np.uint64) -> tuple[np.int64, np.int64]:
    """Two different whole numbers from 0 to ``bound`` - 1, every ordered pair as likely."""
    a = draw_below(bound, first)
    b = draw_below(bound - 1, second)
    return a, b + (b >= a)


@compiled
def draw_fraction(random_bits: np.uint64) -> float:
    """A number from 0 up to, but not including, 1."""
    return np.float64(random_bits >> np.uint64(11)) * 2.0**-53


tier_links = compiled(links.compute_tier_links)
climb = compiled(links.climb)


Layout = int | tuple[Int32, Int32]
"""By what a path is found: half the ports of a fat-tree's switch, or `topos.network.PlannedNetwork.layout`."""
Between = tuple[int, ...]
"""Directed links between switches: four, or, on a network of one's own, `topos.network.BETWEEN`."""


@compiled
def find_choice_links(src: int, dst: int, core: int, layout: Layout) -> Between:
    """The links of a path that its core decides, from edge switch to edge switch; NO_LINK for a tier not reached."""
    if not isinstance(layout, int):  # settled when it is compiled
        edge, middle = layout
        row = middle[edge[src], edge[dst], core]
        return (row[0], row[1], row[2], row[3], row[4], row[5], row[6])
    _, edge_up, core_up, core_down, edge_down, _ = tier_links(src, dst, core, layout)
    climbed = climb(src, dst, layout)
    if climbed == 0:
        return (NO_LINK, NO_LINK, NO_LINK, NO_LINK)
    if climbed == 1:
        return (edge_up, NO_LINK, NO_LINK, edge_down)
    return (edge_up, core_up, core_down, edge_down)


def compute_excess(tree: Network, src: Int32, dst: Int32, size: Int64, core: links.Cores, state: LinkState) -> Int64:
    """Load minus capacity, int64 (links,) in `hedera.placement.UNIT`, as ``size`` (flows,); a failed link has capacity
    0. Hosts' own links carry nothing here, for no core decides on them."""
    excess = np.where(state.up, -state.capacity, 0)
    _add_load(excess, src, dst, size, core, tree.layout)
    return excess


@compiled
def _add_load(load: Int64, src: Int32, dst: Int32, size: Int64, core: links.Cores, layout: Layout) -> None:
    for flow in range(size.size):
        for link in find_choice_links(src[flow], dst[flow], core[flow], layout):
            if link != NO_LINK:
                load[link] += size[flow]
