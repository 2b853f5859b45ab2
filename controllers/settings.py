"""What a controller is told when it starts. The fields are the command line's flags, on both platforms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property

from hedera.experiment import Experiment
from hedera.placement import Placement
from hedera.schemes import Scheme
from topos.network import Network
from topos.nonblocking import NonBlocking

MIN_INTERVAL_S = 1.0
"""Open vSwitch moves a flow's counters every 500 ms: polled faster, rates are mostly 0 or double."""
NEW_FLOWS = ("controller", "switch")


@dataclass(frozen=True)
class Settings:
    """Scheme and network of one controller. ``interval`` is in seconds, ``bw`` in Mb/s per link.

    ``scheme`` is what `hedera.schemes.scheme` is asked for, the user's own included, and the same name is what the
    log says. ``threshold``, ``large_flows`` and ``iterations`` are those of `hedera.experiment.Experiment`, which
    checks them and the rest. ``hosts`` is for ``nonblocking`` alone (default k^3/4). ``new_flows``: who gives a flow
    its first path, the ``controller``, to which its first packet goes, or the ``switch``, by a hash of its own.

    Raises ValueError, with one sentence, for bad values.
    """

    scheme: str = "ecmp"
    k: int = 4
    seed: int = 1
    interval: float = 2.0
    bw: float = 10.0
    threshold: float = 0.1
    large_flows: str = "measured-or-estimated"
    iterations: int = 1000
    hosts: int | None = None
    new_flows: str = "controller"

    def __post_init__(self) -> None:
        if not MIN_INTERVAL_S <= self.interval < float("inf"):
            raise ValueError(
                f"the interval must be at least {MIN_INTERVAL_S:g} second(s), because switches update their "
                f"counters every half second; it is {self.interval:g}"
            )
        _ = self._experiment  # raises for what makes no sense on any backend
        if self.hosts is not None and not self.chosen.nonblocking:
            raise ValueError(f"hosts is for the nonblocking scheme; under {self.scheme} it follows from k")
        if self.new_flows not in NEW_FLOWS:
            raise ValueError(f"new flows are placed by {' or '.join(NEW_FLOWS)}, not {self.new_flows!r}")
        _ = self.topology  # raises for a bad k or number of hosts

    @classmethod
    def from_text(cls, given: Mapping[str, str]) -> Settings:
        """Settings from flags as they were typed. Raises ValueError for unknown flags and bad values."""
        values: dict[str, str | int | float] = {}
        for name, text in given.items():
            if name not in cls.__dataclass_fields__:
                known = ", ".join(field.name for field in fields(cls))
                raise ValueError(f"{name} is not a setting; there are {known}")
            kind = _KINDS[cls.__annotations__[name]]
            if not isinstance(text, str):  # POX says True for a flag without a value
                raise ValueError(f"{name} needs a value")
            try:
                values[name] = kind(text)
            except ValueError:
                noun = "a whole number" if kind is int else "a number"
                raise ValueError(f"{name} must be {noun}, not {text!r}") from None
        return cls(**values)  # type: ignore[arg-type]

    @cached_property
    def _experiment(self) -> Experiment:
        """The run, as far as a controller knows it: it sees what comes, not what was asked for."""
        return Experiment(
            self.scheme,
            traffic="",
            k=self.k,
            seed=self.seed,
            interval_s=self.interval,
            link_mbps=self.bw,
            threshold=self.threshold,
            large_flows=self.large_flows,
            iterations=self.iterations,
        )

    @cached_property
    def chosen(self) -> Scheme:
        """The scheme by name."""
        return self._experiment.chosen

    def placement(self) -> Placement | None:
        """The scheme's placement, made anew; None for a static scheme."""
        experiment = self._experiment
        return self.chosen.placement(experiment.tree, experiment.seed, experiment.options)

    @cached_property
    def topology(self) -> Network:
        """The network this controller is for."""
        return self._experiment.network() if self.hosts is None else NonBlocking(self.hosts)


_KINDS = {"str": str, "int": int, "int | None": int, "float": float}
