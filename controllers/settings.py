"""What a controller is told when it starts. The fields are the command line's flags, on both platforms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property

from hedera.schemes import Scheme, scheme
from topos.fattree import FatTree
from topos.network import Network
from topos.nonblocking import NonBlocking

MIN_INTERVAL_S = 1.0
"""Open vSwitch moves a flow's counters every 500 ms: polled faster, rates are mostly 0 or double."""


@dataclass(frozen=True)
class Settings:
    """Scheme and network of one controller. ``interval`` is in seconds, ``bw`` in Mb/s per link.

    ``scheme`` is looked up in `hedera.schemes.SCHEMES`, and the same name is what the log says. ``hosts``
    is for ``nonblocking`` alone (default k^3/4). Raises ValueError, with one sentence, for bad values.
    """

    scheme: str = "ecmp"
    k: int = 4
    seed: int = 1
    interval: float = 2.0
    bw: float = 10.0
    hosts: int | None = None

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ValueError(f"the seed must not be negative, and {self.seed} is")
        if not MIN_INTERVAL_S <= self.interval < float("inf"):
            raise ValueError(
                f"the interval must be at least {MIN_INTERVAL_S:g} second(s), because switches update their "
                f"counters every half second; it is {self.interval:g}"
            )
        if not 0 < self.bw < float("inf"):
            raise ValueError(f"the link rate must be above 0 Mb/s, and {self.bw:g} is not")
        if self.hosts is not None and not self.chosen.nonblocking:
            raise ValueError(f"hosts is for the nonblocking scheme; under {self.scheme} it follows from k")
        _ = self.topology  # raises for a bad k or number of hosts

    @classmethod
    def from_text(cls, given: Mapping[str, str]) -> Settings:
        """Settings from flags as they were typed. Raises ValueError for unknown flags and bad values."""
        values: dict[str, str | int | float] = {}
        for name, text in given.items():
            if name not in cls.__dataclass_fields__:
                known = ", ".join(field.name for field in fields(cls))
                raise ValueError(f"{name} is not a setting; there are {known}")
            kind = _KINDS[name]
            if not isinstance(text, str):  # POX says True for a flag without a value
                raise ValueError(f"{name} needs a value")
            try:
                values[name] = kind(text)
            except ValueError:
                noun = "a whole number" if kind is int else "a number"
                raise ValueError(f"{name} must be {noun}, not {text!r}") from None
        return cls(**values)  # type: ignore[arg-type]

    @cached_property
    def chosen(self) -> Scheme:
        """The scheme by name."""
        return scheme(self.scheme)

    @cached_property
    def topology(self) -> Network:
        """The network this controller is for."""
        tree = FatTree(self.k)
        if not self.chosen.nonblocking:
            return tree
        return NonBlocking(tree.num_hosts if self.hosts is None else self.hosts)


_KINDS = {"scheme": str, "k": int, "seed": int, "interval": float, "bw": float, "hosts": int}
