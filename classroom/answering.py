"""The process that runs a submission's code: ``python -m classroom.answering``. Nothing it says is trusted.

It reads requests from its standard input and writes answers to its original standard output; the code's own output
goes to standard error instead. See `classroom.protocol`.
"""

from __future__ import annotations

import os
import sys
import traceback
import types
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from classroom import protocol
from classroom.protocol import Answer, Estimate, Load, Make, Place, Turn, pack, unpack
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from hedera.schemes import Options
from topos.fattree import FatTree
from traffic.streams import Stream, generator

MODULE = "submission"
_TOLD = ("core_of", "energy", "initial_energy")
"""Further attributes that a scheduler may report."""


@dataclass(frozen=True, eq=False)
class Counters:
    """The edge switches' counters of all flows in a period: arrays of one shape (flows,).

    ``key`` int64 names a flow; ``src``, ``dst`` int32 are host numbers; ``bytes`` int64 is the entry's byte counter
    so far, ``duration_s`` float64 the entry's age; ``core`` int32 is the flow's path, ``hashed`` the path of its
    hash.
    """

    key: NDArray[np.int64]
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    bytes: NDArray[np.int64]
    duration_s: NDArray[np.float64]
    core: NDArray[np.int32]
    hashed: NDArray[np.int32]


class _Scripted:
    """A placement with scripted answers, which records its inputs."""

    def __init__(self) -> None:
        self.cores: dict[int, int] = {}
        self.asked: list[LargeFlows] = []

    def place(self, flows: LargeFlows, links: LinkState) -> NDArray[np.int32]:
        self.asked.append(flows)
        wanted = [self.cores.get(int(k), int(c)) for k, c in zip(flows.key, flows.core, strict=True)]
        return np.array(wanted, dtype=np.int32)


class Host:
    """Answers requests, one after another."""

    def __init__(self) -> None:
        self.made: Any = None
        self._what: Any = None
        self._tree = FatTree(4)
        self._script = _Scripted()

    def answer(self, request: protocol.Request) -> Answer:
        """The answer to a request; an exception of the code is an answer, too."""
        try:
            match request:
                case Load():
                    return self._load(request)
                case Make():
                    return self._make(request)
                case Place():
                    return self._place(request)
                case Estimate():
                    return self._estimate(request)
                case Turn():
                    return self._turn(request)
        except BaseException as error:  # noqa: BLE001, the code may raise anything, SystemExit too
            return _raised(error)

    def _load(self, request: Load) -> Answer:
        module = types.ModuleType(MODULE)
        module.__file__ = request.file
        sys.modules[MODULE] = module  # dataclasses look their module up
        exec(compile(request.source, request.file, "exec"), module.__dict__)
        self._what = getattr(module, request.attribute, None)
        if not callable(self._what):
            return Answer(odd=f"a {type(self._what).__name__}")
        return Answer()

    def _make(self, request: Make) -> Answer:
        self._tree = FatTree(request.k)
        if request.loop_mbps:
            self._script = _Scripted()
            self.made = self._what(self._tree, self._script, _demands, request.loop_mbps)
        else:
            # As in `hedera.schemes.Scheme.placement`.
            rng = generator(request.seed, Stream.PLACEMENT)
            self.made = self._what(self._tree, rng, Options(request.iterations))
        return Answer()

    def _place(self, request: Place) -> Answer:
        columns = {name: unpack(array) for name, array in request.columns.items()}
        links = LinkState(self._tree)
        links.fail(request.down)
        before = {name: column.copy() for name, column in columns.items()} | {"links.up": links.up.copy()}
        given = self.made.place(LargeFlows(**columns), links)
        after = {**columns, "links.up": links.up}
        touched = tuple(name for name in before if not np.array_equal(before[name], after[name]))
        answer = _told("core", given)
        arrays, numbers = dict(answer.arrays), {}
        for name in _TOLD:
            value = getattr(self.made, name, None)
            if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
                arrays[name] = pack(value)
            elif isinstance(value, (int, float, np.integer, np.floating)):
                numbers[name] = float(value)
        return Answer(arrays, numbers, touched, odd=answer.odd)

    def _estimate(self, request: Estimate) -> Answer:
        src, dst = unpack(request.src), unpack(request.dst)
        before = src.copy(), dst.copy()
        answer = _told("demand", self._what(src, dst, request.num_hosts))
        touched = [n for n, was, now in zip(("src", "dst"), before, (src, dst), strict=True) if (was != now).any()]
        return Answer(answer.arrays, touched=tuple(touched), odd=answer.odd)

    def _turn(self, request: Turn) -> Answer:
        self._script.cores, self._script.asked = request.cores, []
        counters = Counters(**{name: unpack(array) for name, array in request.columns.items()})
        changes = self.made.round(counters, LinkState(self._tree))
        try:
            found = {int(key): int(core) for key, core in dict(changes).items()}
        except (TypeError, ValueError):
            return Answer(odd=f"a {type(changes).__name__}")
        arrays = {
            "changed": pack(np.array(list(found), dtype=np.int64)),
            "to": pack(np.array(list(found.values()), dtype=np.int64)),
        }
        if self._script.asked:
            last = self._script.asked[-1]
            arrays["placed"] = pack(np.asarray(last.key, dtype=np.int64))
            arrays["demand"] = pack(np.asarray(last.demand, dtype=np.float64))
        return Answer(arrays, {"asked": float(len(self._script.asked))})


def _demands(src: Any, dst: Any, num_hosts: int) -> NDArray[np.float64]:
    """Figure 7, for control loops: the result of `hedera.demand.estimate_demands`, without compiled code.

    It is not available to students who have to write it themselves (`classroom.lent`).
    """
    from hedera.figure_7 import estimate_demands

    return np.array(estimate_demands(np.asarray(src).tolist(), np.asarray(dst).tolist(), num_hosts))


def _told(name: str, given: Any) -> Answer:
    """An answer that should be an array of numbers."""
    values = np.asarray(given)
    if given is None or values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        return Answer(odd=f"a {type(given).__name__}" if given is not None else "None")
    return Answer({name: pack(values)})


def _raised(error: BaseException) -> Answer:
    """The exception, and the last line of the user's code in its traceback."""
    lines = [
        frame.lineno or 0
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith("/submission/")
    ]
    if isinstance(error, SyntaxError):
        lines = [error.lineno or 0]
    text = " ".join(str(error).split())[:300]
    return Answer(
        error=f"{type(error).__name__}: {text}" if text else type(error).__name__,
        line=lines[-1] if lines else 0,
    )


def _exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        os._exit(0)  # the caller has ended
    return data


def main() -> None:
    """Answer until there are no more requests."""
    asked, told = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)  # the code's output must not be taken for answers
    host, answer = Host(), Answer()  # the first one says that all is ready
    while True:
        message = protocol.encode(answer)
        told.write(len(message).to_bytes(protocol.LENGTH, "big") + message)
        told.flush()
        length = int.from_bytes(_exactly(asked, protocol.LENGTH), "big")
        answer = host.answer(protocol.decode_request(_exactly(asked, length)))


if __name__ == "__main__":
    main()
