"""The process that runs a submission's code, ``python -m classroom.answering``, and the histories that it walks.

Nothing it says is trusted.

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
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from hedera.schemes import Options
from topos.arrays import Int32
from topos.fattree import FatTree
from topos.links import find_canonical_cores, find_links_between
from traffic.flows import Stream, make_generator
from traffic.user_files import load_module

_REPORTED = ("core_of", "energy", "initial_energy")
"""Further attributes that a scheduler may report."""
_MOST = 100_000
"""Numbers in an answer; k = 32 has 8,192 flows."""

Message = dict[str, Any]
Tell = Callable[[Message], None]


# --- histories: flows that arrive and end, and links that fail, period by period -------------------------------


class HistoryFlow(NamedTuple):
    """A flow that exists from period ``born`` until before period ``gone``. ``demand`` None: an equal share of its
    busier end, which is no answer to a milestone."""

    src: int
    dst: int
    hashed: int
    demand: float | None = None
    born: int = 0
    gone: int = 9


@dataclass(frozen=True)
class History:
    """``flows`` on a fat-tree of this ``k``, over ``periods`` periods; ``cables`` are down in the last period."""

    k: int
    flows: tuple[HistoryFlow, ...]
    periods: int = 1
    cables: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, fields: dict[str, Any]) -> History:
        flows = tuple(HistoryFlow(*flow) for flow in fields["flows"])
        return cls(
            fields["k"], flows, fields["periods"], tuple((end, other_end) for end, other_end in fields["cables"])
        )

    def question(self, seed: int = 1, iterations: int = 1000) -> dict[str, Any]:
        """A question to a scheduler, which is made anew with this seed."""
        return {"search": (seed, iterations), "history": asdict(self)}

    def __str__(self) -> str:
        lines = [f"k = {self.k}, {self.periods} period{'s' * (self.periods > 1)}"]
        for n, flow in enumerate(self.flows):
            when = f", from period {flow.born + 1}" if flow.born else ""
            when += f", gone in period {flow.gone + 1}" if flow.gone < self.periods else ""
            size = "" if flow.demand is None else f", demand {flow.demand:g}"
            lines.append(f"flow {n}: host {flow.src} to host {flow.dst}{size}, hashed to core {flow.hashed}{when}")
        lines += [f"{end} - {other_end} is down in period {self.periods}" for end, other_end in self.cables]
        return "\n".join(lines)


def walk(history: History, place: Callable[[LargeFlows, LinkState], Int32]) -> list[dict[int, int]]:
    """The cores of flows by key that ``place`` answers with, period by period; each starts with those of the last.

    As in the real loop, no flow is given with a broken path if it has one that works.
    """
    links, cores = LinkState(FatTree(history.k)), list[dict[int, int]]()
    for period in range(history.periods):
        # Links fail in the last period alone: before it, flows have got their paths on a whole network, so that the
        # scheduler has to move some, as after a failure in a run.
        if period == history.periods - 1:
            for end, other_end in history.cables:
                links.fail(find_links_between(links.tree, end, other_end))
        flows = {n: flow for n, flow in enumerate(history.flows) if flow.born <= period < flow.gone}
        src, dst, hashed = np.array([flow[:3] for flow in flows.values()], dtype=np.int32).reshape(-1, 3).T
        hashed = links.detour(src, dst, find_canonical_cores(links.tree, src, dst, hashed))
        last_cores = cores[-1] if cores else {}
        core = np.array([last_cores.get(n, int(h)) for n, h in zip(flows, hashed, strict=True)], dtype=np.int32)
        shares = 1.0 / np.maximum(np.bincount(src)[src], np.bincount(dst)[dst])
        demand = [share if f.demand is None else f.demand for f, share in zip(flows.values(), shares, strict=True)]
        key, core = np.array(list(flows), dtype=np.int64), links.detour(src, dst, core)
        core = place(LargeFlows(key, src, dst, np.array(demand, dtype=float), core, hashed), links)
        cores.append(dict(zip(flows, np.asarray(core).tolist(), strict=True)))
    return cores


# --- the process --------------------------------------------------------------------------------------------


def answer(request: Message, tell: Tell) -> None:
    """Load the code, and answer each question as far as the code does; an exception of the code is an answer, too.

    The first message is of loading; those to a question follow one that it ``begins``."""
    code = request["code"]
    try:
        submitted = getattr(load_module("submission", code["file"], code["source"]), code["attribute"], None)
        tell({} if callable(submitted) else {"odd": f"a {type(submitted).__name__}"})
    except BaseException as error:  # noqa: BLE001, the code may raise anything, SystemExit too
        return tell(_describe_error(error))
    for number, question in enumerate(request["questions"]):
        tell({"begins": number})
        try:
            (_estimate if "hosts" in question else _place)(submitted, question, tell)
        except BaseException as error:  # noqa: BLE001
            tell(_describe_error(error))


def _estimate(function: Any, question: Message, tell: Tell) -> None:
    inputs = {name: np.array(question[name], dtype=np.int32) for name in ("src", "dst")}
    message = _encode_numbers("demand", function(inputs["src"], inputs["dst"], question["hosts"]))
    tell({**message, "changed_inputs": [name for name in inputs if inputs[name].tolist() != question[name]]})


def _place(scheduler: Any, question: Message, tell: Tell) -> None:
    """Make the class as `hedera.schemes.Scheme.placement` does, and ask it period by period."""
    (seed, iterations), history = question["search"], History.read(question["history"])
    placement = scheduler(FatTree(history.k), make_generator(seed, Stream.PLACEMENT), Options(iterations))

    def place(flows: LargeFlows, links: LinkState) -> Int32:
        # The scheduler gets copies, so that what it writes into its inputs is noticed, and spoils no later question.
        inputs = {name: getattr(flows, name).copy() for name in LargeFlows.__dataclass_fields__}
        up = links.up.copy()
        placed = placement.place(LargeFlows(**inputs), links)
        message = _encode_numbers("core", placed)
        changed = [name for name in inputs if not np.array_equal(inputs[name], getattr(flows, name))]
        message["changed_inputs"] = changed + ["links.up"] * (not np.array_equal(links.up, up))
        message["numbers"] = {}
        for name in _REPORTED:
            value = getattr(placement, name, None)
            if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and "values" in message:
                message["values"][name] = value.tolist()
            elif isinstance(value, (int, float, np.integer, np.floating)):
                message["numbers"][name] = float(value)
        tell(message)
        return np.asarray(placed)  # where these are no cores, nobody reads what follows

    walk(history, place)


def _encode_numbers(name: str, answer: Any) -> Message:
    values = np.asarray(answer)
    # The answer travels as a line of JSON, which has plain numbers alone, and of which only so much is read.
    if answer is None or values.dtype.kind not in "biuf" or values.dtype.itemsize > 8 or values.size > _MOST:
        return {"odd": "None" if answer is None else f"a {type(answer).__name__}"}
    return {"values": {name: values.tolist()}}


def _describe_error(error: BaseException) -> Message:
    """The exception, and the last line of the user's code in its traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename.startswith("/submission/")]
    line = error.lineno if isinstance(error, SyntaxError) else [None, *lines][-1]
    text = " ".join(str(error).split())[:300]
    return {"error": f"{type(error).__name__}: {text}" if text else type(error).__name__, "line": line or 0}


def main() -> None:
    for name, value in json.loads(sys.argv[1]).items():  # limits, which hold for all that it starts
        import resource  # which Windows, where a student may check a file, does not have

        limit = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(limit)
        # Only root may raise a hard limit: a lower one, which the machine has set, stays.
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (value, value))
    # The descriptors 0 and 1 get other meanings below, before any code of the submission runs: what that reads and
    # prints has nothing to do with questions and answers.
    with os.fdopen(os.dup(0), "rb") as requests, os.fdopen(os.dup(1), "wb") as answers:

        def tell(message: Message) -> None:
            answers.write(json.dumps(message).encode() + b"\n")
            answers.flush()

        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(2, 1)  # the code's output must not be taken for answers
        # What it prints would stay in a buffer, which is lost when the process is ended, or ends without Python's own
        # end: so each line is written at once.
        sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
        tell({})  # all is ready
        request = requests.read()
        requests.close()
        if request:
            answer(json.loads(request), tell)
            tell({"done": True})
        with suppress(OSError, ValueError, AttributeError):  # whatever the code has made of it
            sys.stdout.flush()
        os._exit(0)  # whatever the code has left to be done at the end


if __name__ == "__main__":
    main()
