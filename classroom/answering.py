"""The process that runs a submission's code: ``python -m classroom.answering``. Nothing it says is trusted.

It reads one request from its standard input, JSON: the code, and all that is asked of it. To its original standard
output it writes a line of JSON for each answer, beside the number of the question; the code's own output goes to
standard error instead. `classroom.submission` is the other side.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classroom.histories import History, flows_of, walk
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from hedera.schemes import Options
from topos.arrays import Int32
from topos.fattree import FatTree
from traffic.streams import Stream, generator
from traffic.textfile import module_of

_REPORTED = ("core_of", "energy", "initial_energy")
"""Further attributes that a scheduler may report."""
_MOST = 100_000
"""Numbers in an answer; k = 32 has 8,192 flows."""

Message = dict[str, Any]
Tell = Callable[[Message], None]


class _NoCores(Exception):
    """The scheduler's answer gives no flow a core, so there is no next period."""


def answer(request: Message, tell: Callable[[Message], None]) -> None:
    """Load the code, and answer each question as far as the code does; an exception of the code is an answer, too."""
    try:
        asked = _load(**request["code"])
        tell({} if callable(asked) else {"odd": f"a {type(asked).__name__}"})
    except BaseException as error:  # noqa: BLE001, the code may raise anything, SystemExit too
        tell(_raised(error))
        return
    for number, question in enumerate(request["questions"]):

        def numbered(message: Message, number: int = number) -> None:
            tell({"question": number, **message})

        try:
            (_estimate if "hosts" in question else _place)(asked, question, numbered)
        except _NoCores:
            pass
        except BaseException as error:  # noqa: BLE001
            numbered(_raised(error))


def _load(file: str, source: str, attribute: str) -> Any:
    """Run a file's text as a module, and take its ``attribute``."""
    return getattr(module_of("submission", file, source), attribute, None)


def _estimate(function: Any, question: Message, tell: Tell) -> None:
    given = {name: np.array(question[name], dtype=np.int32) for name in ("src", "dst")}
    message = _numbers("demand", function(given["src"], given["dst"], question["hosts"]))
    tell({**message, "touched": [name for name in given if given[name].tolist() != question[name]]})


def _place(scheduler: Any, question: Message, tell: Tell) -> None:
    """Make the class as `hedera.schemes.Scheme.placement` does, and ask it period by period."""
    tree, (seed, iterations) = FatTree(question["k"]), question["search"]
    made = scheduler(tree, generator(seed, Stream.PLACEMENT), Options(iterations))
    place = partial(_period, made, tell)
    if "history" in question:
        walk(History.read(question["history"]), place)
    for columns in question.get("periods", ()):
        place(flows_of(columns), LinkState(tree))


def _period(made: Any, tell: Tell, flows: LargeFlows, links: LinkState) -> Int32:
    given = {name: getattr(flows, name).copy() for name in LargeFlows.__dataclass_fields__}
    up = links.up.copy()
    placed = made.place(LargeFlows(**given), links)
    message = _numbers("core", placed)
    message["touched"] = [name for name in given if not np.array_equal(given[name], getattr(flows, name))]
    if not np.array_equal(links.up, up):
        message["touched"].append("links.up")
    message["numbers"] = {}
    for name in _REPORTED:
        value = getattr(made, name, None)
        if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and "values" in message:
            message["values"][name] = value.tolist()
        elif isinstance(value, (int, float, np.integer, np.floating)):
            message["numbers"][name] = float(value)
    tell(message)
    core: NDArray[Any] = np.asarray(placed)
    if core.shape != flows.key.shape or (core.size and core.dtype.kind not in "iu") or message["touched"]:
        raise _NoCores
    return core.astype(np.int32)


def _numbers(name: str, given: Any) -> Message:
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
    return {"error": f"{type(error).__name__}: {text}" if text else type(error).__name__, "line": line or 0}


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
    with os.fdopen(os.dup(0), "rb") as asked, os.fdopen(os.dup(1), "wb") as told:

        def tell(message: Message) -> None:
            told.write(json.dumps(message).encode() + b"\n")
            told.flush()

        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(2, 1)  # the code's output must not be taken for answers
        tell({})  # all is ready
        request = asked.read()
        asked.close()
        if request:
            answer(json.loads(request), tell)
            tell({"done": True})
        os._exit(0)  # whatever the code has left to be done at the end


if __name__ == "__main__":
    main()
