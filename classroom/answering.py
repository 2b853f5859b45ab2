"""The process that runs a submission's code: ``python -m classroom.answering``. Nothing it says is trusted.

It reads requests from its standard input, a line of JSON each, and writes answers to its original standard output;
the code's own output goes to standard error instead. `classroom.submission` is the other side.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from hedera.schemes import Options
from topos.fattree import FatTree
from traffic.streams import Stream, generator
from traffic.textfile import module_of

_REPORTED = ("core_of", "energy", "initial_energy")
"""Further attributes that a scheduler may report."""
_MOST = 100_000
"""Numbers in an answer; k = 32 has 8,192 flows."""
_TYPES = {"key": np.int64, "demand": np.float64}

Message = dict[str, Any]


class Host:
    """Answers requests, one after another: each is the name of a method, and its arguments."""

    def answer(self, request: Message) -> Message:
        """The answer to a request; an exception of the code is an answer, too."""
        words = dict(request)
        try:
            answer: Message = getattr(self, words.pop("ask"))(**words)
        except BaseException as error:  # noqa: BLE001, the code may raise anything, SystemExit too
            answer = _raised(error)
        return answer

    def load(self, file: str, source: str, attribute: str) -> Message:
        """Run a file's text as a module, and take its ``attribute``."""
        self._what: Any = getattr(module_of("submission", file, source), attribute, None)
        return {} if callable(self._what) else {"odd": f"a {type(self._what).__name__}"}

    def make(self, k: int, seed: int, iterations: int) -> Message:
        """Make the class anew, as `hedera.schemes.Scheme.placement` does."""
        self._tree = FatTree(k)
        self._made: Any = self._what(self._tree, generator(seed, Stream.PLACEMENT), Options(iterations))
        return {}

    def place(self, columns: dict[str, list[Any]], down: list[int]) -> Message:
        """One period of a scheduler, with the columns of `hedera.placement.LargeFlows`, while these links are down."""
        links = LinkState(self._tree)
        links.fail(down)
        given, before = _table(columns), _table(columns)
        answer = _told("core", self._made.place(LargeFlows(**given), links))
        answer["touched"] = [name for name in given if not np.array_equal(given[name], before[name])]
        if np.flatnonzero(~links.up).tolist() != sorted(down):
            answer["touched"].append("links.up")
        answer["numbers"] = {}
        for name in _REPORTED:
            value = getattr(self._made, name, None)
            if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and "values" in answer:
                answer["values"][name] = value.tolist()
            elif isinstance(value, (int, float, np.integer, np.floating)):
                answer["numbers"][name] = float(value)
        return answer

    def estimate(self, src: list[int], dst: list[int], num_hosts: int) -> Message:
        given = _table({"src": src, "dst": dst})
        answer = _told("demand", self._what(given["src"], given["dst"], num_hosts))
        answer["touched"] = [name for name, was in (("src", src), ("dst", dst)) if given[name].tolist() != was]
        return answer


def _table(columns: dict[str, list[Any]]) -> dict[str, NDArray[Any]]:
    return {name: np.array(values, dtype=_TYPES.get(name, np.int32)) for name, values in columns.items()}


def _told(name: str, given: Any) -> Message:
    values = np.asarray(given)
    if given is None or values.dtype.kind not in "biuf" or values.dtype.itemsize > 8 or values.size > _MOST:
        return {"odd": "None" if given is None else f"a {type(given).__name__}"}
    return {"values": {name: values.tolist()}}


def _raised(error: BaseException) -> Message:
    """The exception, and the last line of the user's code in its traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename.startswith("/submission/")]
    line = error.lineno if isinstance(error, SyntaxError) else [None, *lines][-1]
    text = " ".join(str(error).split())[:300]
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return {"error": said, "line": line or 0}


def _limit(most: dict[str, int]) -> None:
    """Set limits (`resource`'s names) for this process and all that it starts; only root could raise them."""
    for name, value in most.items():
        import resource  # which Windows, where a student may check a file, does not have

        which = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(which)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))


def main() -> None:
    _limit(json.loads(sys.argv[1]))
    asked, told = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)  # the code's output must not be taken for answers
    host, answer = Host(), Message()  # the first one says that all is ready
    while True:
        told.write(json.dumps(answer).encode() + b"\n")
        told.flush()
        line = asked.readline()
        if not line.endswith(b"\n"):
            os._exit(0)  # the caller has ended
        answer = host.answer(json.loads(line))


if __name__ == "__main__":
    main()
