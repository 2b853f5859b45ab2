"""A scheduler in a guest whose answers come from outside: it stands in for a submission in virtual time.

A submission does not run in the guest, where it could see all files and disturb the measurement. Only this code of
ours does: it writes each request to a file and opens the next answer. The other side (`classroom.answerer`) holds a
lease on that file until it has answered, so the opening waits in the host's kernel. No time passes in the guest,
however long a submission computes, and runs are repeatable.
"""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classroom.protocol import Place, encode, pack
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from topos.fattree import FatTree

FOLDER = Path("/run/guest/results/asked")
"""The folder of questions and answers, as a guest sees it (`virtual.guest.RESULTS`)."""
GOOD = b"+"
"""The first byte of an answer; any other ends the run."""
_LOOKS = 20_000
"""Turns of an empty loop between two polls if the host has no leases: computing takes no time here, polling does."""


class Relay:
    """Asks for each period's placement."""

    def __init__(self, tree: FatTree, rng: np.random.Generator, options: Any, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._number = count()

    def place(self, flows: LargeFlows, links: LinkState) -> NDArray[np.int32]:
        """The core for each flow, from the answer. RuntimeError if there is none."""
        number = next(self._number)
        columns = {name: pack(getattr(flows, name)) for name in LargeFlows.__dataclass_fields__}
        down = tuple(np.flatnonzero(~links.up).tolist())
        self._ask(number, encode(Place(columns, down)))
        path, size = self._folder / f"a{number}", len(GOOD) + 4 * flows.key.size
        while True:
            answer = path.read_bytes()
            if answer[:1] not in (b"", GOOD):
                raise RuntimeError("the submission gave no usable answer")
            if len(answer) == size:
                cores: NDArray[np.int32] = np.frombuffer(answer[len(GOOD) :], dtype=np.int32).copy()
                return cores
            for _ in range(_LOOKS):
                pass

    def _ask(self, number: int, question: bytes) -> None:
        """Write a question atomically."""
        made = self._folder / "new"
        descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(question)
            file.flush()
            os.fsync(descriptor)
        made.rename(self._folder / f"q{number}")
