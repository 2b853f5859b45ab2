"""What one run is: its fields are the command line's options, checked once, here."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

from controllers.settings import MIN_INTERVAL_S, NEW_FLOWS
from harness.errors import UserMistake
from harness.run import disturbance
from harness.run.disturbance import Disturbance
from hedera.experiment import Experiment
from hedera.large_flows import RULES
from results.wire import DEFAULT_MTU
from traffic.matrix import Matrix
from traffic.workload import Workload

PLATFORMS = ("auto", "os-ken", "pox")
MOST_MBPS = 1e6
"""Beyond it a rate is a slip of the keyboard: no machine forwards such links in software."""
MTU = range(576, 9000 + 1)
"""Bytes: from what every IPv4 host takes (RFC 791) to the customary jumbo frame; more gave nothing."""
MOST_FLOWS = 200_000
"""What a run can keep a record of: `results.record.MOST_BYTES` at about a kilobyte each."""
DATAPATHS = ("auto", "kernel", "user")
SHORTEST_S = 3
"""Of a run: rates are read once a second, and the first and the last of them do not count."""


@dataclass(frozen=True)
class RunSpec(Experiment):
    """One pattern, one scheme, one trial, in emulation. The period is the replication's, the rate what most machines
    carry.

    ``queue`` is in full-size packets, ``mtu`` bytes the largest; ``disturb`` is in the words of
    `harness.run.disturbance`. ``new_flows``: who gives a flow its first path, ``controller`` or ``switch``
    (`controllers.settings`); ``auto``: the switch when flows come and go. Paths of lasting flows are then those that
    the simulator's hash gives, on every machine; short ones do not wait for the controller. ``large_flows`` may be
    ``auto`` as well: by measured rates alone when flows come and go. Many small ones that ended within a period have
    large demands in its estimate, and leave the lasting ones next to none.
    Raises UserMistake, one sentence, when a field makes no sense.
    """

    interval_s: float = 2.0
    link_mbps: float = 10.0
    trial: int = 1
    platform: str = "auto"
    datapath: str = "auto"
    congestion_control: str = "cubic"
    queue: int = 50
    mtu: int = DEFAULT_MTU
    new_flows: str = "auto"
    large_flows: str = "auto"
    disturb: tuple[str, ...] = ()

    LARGE_FLOWS: ClassVar[tuple[str, ...]] = ("auto", *RULES)

    def __post_init__(self) -> None:
        _check(
            SHORTEST_S <= self.seconds <= 86_400,
            f"--seconds must be from {SHORTEST_S} to 86400, not {self.seconds:g}",
        )
        _check(
            0.1 <= self.link_mbps <= MOST_MBPS,
            f"--bw must be from 0.1 to {MOST_MBPS:g} Mb/s, not {self.link_mbps:g}",
        )
        _check(
            MIN_INTERVAL_S <= self.interval_s <= 3600,
            f"--interval must be from {MIN_INTERVAL_S:g} to 3600 s (switches count anew every half second), "
            f"not {self.interval_s:g}",
        )
        _check(2 <= self.queue <= 100_000, f"--queue must be from 2 to 100000 packets, not {self.queue}")
        _check(self.mtu in MTU, f"--mtu must be from {MTU.start} to {MTU.stop - 1} bytes, not {self.mtu}")
        _check(
            self.platform in PLATFORMS, f"--platform is one of {', '.join(PLATFORMS)}, not {self.platform}"
        )
        _check(
            self.datapath in DATAPATHS, f"--datapath is one of {', '.join(DATAPATHS)}, not {self.datapath}"
        )
        _check(
            re.fullmatch("[a-z0-9_]+", self.congestion_control) is not None,
            f"--congestion-control names a TCP algorithm, not {self.congestion_control!r}",
        )
        _check(
            self.new_flows in ("auto", *NEW_FLOWS),
            f"--new-flows is one of auto, {', '.join(NEW_FLOWS)}, not {self.new_flows}",
        )
        try:
            super().__post_init__()
        except ValueError as error:
            raise UserMistake(str(error)) from None
        try:
            _ = self.disturbances
        except ValueError as error:
            raise UserMistake(f"--disturb: {error}") from None

    @cached_property
    def disturbances(self) -> tuple[Disturbance, ...]:
        """What happens to the controller."""
        return disturbance.parse_all(self.disturb, self.seconds)

    def workload(self) -> Workload:
        """The flows of this run; UserMistake when the traffic makes no sense."""
        try:
            return super().workload().bounded(MOST_FLOWS)
        except (ValueError, OSError) as error:
            raise UserMistake(str(error)) from None

    @property
    def marks(self) -> bool:
        """Whether queues tell TCP of congestion: DCTCP without marks would be Reno."""
        return self.congestion_control == "dctcp"

    @cached_property
    def settled(self) -> dict[str, str]:
        """What ``new_flows`` and ``large_flows`` come to, by these names, where they are ``auto``."""
        by_nature = (
            {"new_flows": "controller", "large_flows": "measured-or-estimated"}
            if lasting(self.workload()) is not None
            else {"new_flows": "switch", "large_flows": "measured"}
        )
        asked = {name: getattr(self, name) for name in by_nature}
        return {name: by_nature[name] if value == "auto" else value for name, value in asked.items()}

    def as_json(self) -> dict[str, Any]:
        """Plain data, for the result file. What few runs have is left out of those that do not have it."""
        return {name: value for name, value in asdict(self).items() if value != ()}


def lasting(workload: Workload) -> Matrix | None:
    """The flows of traffic that all begin at once and last for the whole run; None for all other traffic."""
    matrix = workload.matrix
    return None if matrix is None or matrix.sequential else matrix


def _check(holds: bool, sentence: str) -> None:
    if not holds:
        raise UserMistake(sentence)
