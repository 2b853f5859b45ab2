"""A traffic matrix: which host sends to which, one entry per flow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    different lengths, a host that does not exist, or a self-flow.
    """

    src: Int32
    dst: Int32
    num_hosts: int
    name: str = ""
    size_bytes: Int64 | None = None
    turn: Int32 | None = None

    def __post_init__(self) -> None:
        label = f"traffic {self.name!r}" if self.name else "the traffic matrix"
        for column, dtype in (("src", np.int32), ("dst", np.int32), ("size_bytes", np.int64), ("turn", np.int32)):
            if (given := getattr(self, column)) is not None:
                copy = np.array(given, dtype=dtype)
                copy.setflags(write=False)
                object.__setattr__(self, column, copy)
                if copy.shape != (len(self),):
                    raise ValueError(f"{label} has {len(self)} senders, and another number in {column}")
        if not len(self):
            raise ValueError(f"{label} has no flow")
        for role, hosts in (("sender", self.src), ("receiver", self.dst)):
            outside = (hosts < 0) | (hosts >= self.num_hosts)
            if outside.any():
                flow = int(outside.argmax())
                raise ValueError(
                    f"{label}: the {role} of flow {flow} is host {hosts[flow]}, "
                    f"but there are only hosts 0 to {self.num_hosts - 1}"
                )
        if (self.src == self.dst).any():
            flow = int((self.src == self.dst).argmax())
            raise ValueError(f"{label}: flow {flow} goes from host {self.src[flow]} to itself")

    def __len__(self) -> int:
        return int(self.src.size)

    @property
    def sequential(self) -> bool:
        """Whether flows have sizes and take turns, instead of lasting for the whole run."""
        return self.size_bytes is not None
