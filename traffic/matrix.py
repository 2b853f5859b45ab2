"""A traffic matrix: which host sends to which, one entry per flow."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topos.arrays import Int32, Int64


@dataclass(frozen=True, eq=False)
class Matrix:
    """The flows of one workload, among hosts numbered from 0 to ``num_hosts`` - 1.

    ``src``, ``dst``: int32 of shape (flows,); two flows may join the same pair of hosts.
    ``name``: the pattern as the user spelled it.
    ``size_bytes``: int64 of shape (flows,), what each flow transfers; None when every flow lasts for the
    whole run. ``turn``: int32 of shape (flows,), given exactly when ``size_bytes`` is: a host's flow of turn
    t starts when its flow of turn t - 1 has ended, so a host's transfers follow each other (the shuffle of
    section 6.3).

    Arrays are copied and made read-only. Raises ValueError, one sentence, for an empty matrix, arrays of
    different lengths, a host that does not exist, a self-flow, or a turn that a host takes twice.
    """

    src: Int32
    dst: Int32
    num_hosts: int
    name: str = ""
    size_bytes: Int64 | None = field(default=None)
    turn: Int32 | None = field(default=None)

    def __post_init__(self) -> None:
        src = self._freeze("src", np.int32)
        dst = self._freeze("dst", np.int32)
        if src.shape != dst.shape:
            raise ValueError(f"{self._label} has {src.size} senders but {dst.size} receivers")
        if src.size == 0:
            raise ValueError(f"{self._label} has no flow")
        for role, hosts in (("sender", src), ("receiver", dst)):
            outside = (hosts < 0) | (hosts >= self.num_hosts)
            if outside.any():
                flow = int(outside.argmax())
                raise ValueError(
                    f"{self._label}: the {role} of flow {flow} is host {hosts[flow]}, "
                    f"but there are only hosts 0 to {self.num_hosts - 1}"
                )
        if (src == dst).any():
            flow = int((src == dst).argmax())
            raise ValueError(f"{self._label}: flow {flow} goes from host {src[flow]} to itself")
        if (self.size_bytes is None) != (self.turn is None):
            raise ValueError(f"{self._label}: sizes and turns come together or not at all")
        if self.size_bytes is not None:
            size = self._freeze("size_bytes", np.int64)
            turn = self._freeze("turn", np.int32)
            if size.shape != src.shape or turn.shape != src.shape:
                raise ValueError(f"{self._label} needs one size and one turn for each of its {src.size} flows")
            if (size <= 0).any() or (turn < 0).any():
                raise ValueError(f"{self._label}: sizes must be above 0 bytes and turns 0 or later")
            order = np.lexsort((turn, src))
            twice = (np.diff(src[order]) == 0) & (np.diff(turn[order]) == 0)
            if twice.any():
                flow = int(order[int(twice.argmax())])
                raise ValueError(f"{self._label}: host {src[flow]} has two flows of turn {turn[flow]}")

    def __len__(self) -> int:
        return int(self.src.size)

    @property
    def sequential(self) -> bool:
        """Whether flows have sizes and take turns, instead of lasting for the whole run."""
        return self.size_bytes is not None

    @property
    def _label(self) -> str:
        return f"traffic {self.name!r}" if self.name else "the traffic matrix"

    def _freeze(self, attribute: str, dtype: type[np.integer]) -> NDArray[np.integer]:
        """Replace an attribute by a read-only integer copy, refusing what would lose information."""
        given = np.asarray(getattr(self, attribute))
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise ValueError(f"{self._label}: {attribute} must be a one-dimensional array of integers")
        info = np.iinfo(dtype)
        if given.size and (given.min() < info.min or given.max() > info.max):
            raise ValueError(f"{self._label}: {attribute} holds a number too large to be true")
        copy = given.astype(dtype)
        copy.setflags(write=False)
        object.__setattr__(self, attribute, copy)
        return copy
