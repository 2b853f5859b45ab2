"""What one run is: its fields are the command line's options, checked once, here."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import ValidationError, convert

from controllers.settings import NEW_FLOWS, Settings
from harness.errors import UserMistake
from hedera.experiment import Experiment
from hedera.parameter import narrowed, parameter
from hedera.text import one_line
from record.parts import Name
from topos.links import link_rates
from topos.wire import DEFAULT_MTU

if TYPE_CHECKING:
    from harness.network.shaping import Shape
    from traffic.flows import Matrix
    from traffic.graph import FlowGraph
    from traffic.workload import Workload

LEAST_MBPS, MAX_MBPS = 0.1, 1e6
"""Beyond it a rate is a slip of the keyboard: no machine forwards such links in software."""
MAX_FLOWS = 200_000
"""What a run can keep a record of: `record.run.MAX_BYTES` at about a kilobyte each."""
SHORTEST_S = 3
"""Of a run: rates are read once a second, and the first and the last of them do not count."""
MEASURED_DELAY_MS = 8.0
"""What polling and deciding took of a round in real time, the median (docs/notes/deviations.md: of which runs)."""
LINUX_MIN_RTO_MS = 200
"""TCP's shortest retransmission timeout in Linux, unless a route says otherwise (TCP_RTO_MIN)."""
GUESTS_TCP = ("reno", "cubic", "dctcp", "bbr")
"""What the kernel of virtual time has (virtual/kernel/linux.config)."""
START_SPREAD_MS = 10.0
"""Within so long a testbed's clients start, one after another (docs/notes/virtual-time.md)."""
MAX_DELAY_MS = 1000.0
"""Beyond it Open vSwitch takes its controller for dead, and asks again and again."""

LINGER_S = 5.0
"""How long after its end a program of a host may be there before it is taken to hang."""
LINGERING_BYTES = 1 << 20
"""What a client may have written when its time is over and still has to get through a link that it shares: iperf's
block, what TCP holds of it, and two windows."""
PATIENCE_S = 300.0
PATIENCE_PER_NODE_S = 2.0
"""What a run may take beyond its traffic before it is taken to hang: many times what slow machines need."""

SIGNALS = {"kill": signal.SIGKILL, "freeze": signal.SIGSTOP}
_DISTURBANCE = re.compile(r"controller:(kill|freeze)@([0-9]{1,9}(?:\.[0-9]{1,9})?)", re.ASCII)


@dataclass(frozen=True)
class Disturbance:
    """What happens to the controller, and when."""

    how: str
    at: float


@dataclass(frozen=True)
class RunSpec(Experiment):
    """One pattern, one scheme, one trial, in emulation. The period is the replication's, the rate what most machines
    carry.

    ``disturb`` is in the words of `parsed_disturbances`. Where ``new_flows`` is ``switch``, lasting flows take
    the paths that the simulator's hash gives, on every machine, and short ones do not wait for the controller.
    ``auto`` takes measured rates alone when flows come and go: many small ones that ended within a period have large
    demands in the estimate, and leave the lasting ones next to none. ``controller_delay_ms`` follows from ``time``
    where it is not given, and so does ``start_spread_ms``; in real time both are what they are.

    Raises UserMistake, one sentence, when a field makes no sense.
    """

    # From 3 s: SHORTEST_S.
    seconds: float = narrowed(Experiment, "seconds", 60.0, above=None, least=SHORTEST_S, most=86_400)
    interval_s: float = narrowed(
        Settings, "interval_s", 2.0, most=3600, help="Hedera's scheduling period; in real time at least 1"
    )
    link_mbps: float = narrowed(Experiment, "link_mbps", 10.0, above=None, least=LEAST_MBPS, most=MAX_MBPS)
    large_flows: str = narrowed(
        Experiment,
        "large_flows",
        "auto",
        choices=("auto", "measured", "measured-or-estimated"),
        help="Which flows Hedera places: above a tenth of a link as measured (section 3.1), or by estimate too; "
        "auto: as measured when flows come and go, else by estimate too.",
    )
    trial: int = 1
    time: str = parameter(
        "auto",
        "Real, or virtual: in a Linux that is a process (docs/virtual-time.md); auto: real for root alone.",
        choices=("auto", "real", "virtual"),
    )
    controller_delay_ms: float | None = parameter(
        None,
        "By how much what the controller says is late in virtual time, where computing takes none "
        f"(default there: {MEASURED_DELAY_MS:g}, from real time)",
        unit="ms",
        least=0,
        most=MAX_DELAY_MS,
    )
    start_spread_ms: float | None = parameter(
        None,
        "Lasting flows start within so long, in an order and at moments that the seed draws; in real time as the "
        f"machine starts them (default in virtual time: {START_SPREAD_MS:g})",
        unit="ms",
        least=0,
        most=1000,
    )
    platform: str = parameter("auto", "The controller's platform.", choices=("auto", "os-ken", "pox"))
    congestion_control: str = parameter("cubic", "TCP algorithm; with dctcp, queues mark from 20 packets on.")
    sack: bool = parameter(
        True, "Selective acknowledgements (RFC 2018); without them Linux recovers as NewReno, and probes no tails."
    )
    # What `ip route` takes whole; above a minute no run would see a second try.
    min_rto_ms: int = parameter(
        LINUX_MIN_RTO_MS, "TCP's shortest retransmission timeout; 200 is Linux's own", unit="ms", least=1, most=60_000
    )
    queue: int = parameter(50, "Queue of every port, full packets.", least=2, most=100_000)
    # From IPv4's least of 576 bytes (RFC 791) to a jumbo frame; larger packets gained nothing.
    mtu: int = parameter(DEFAULT_MTU, "Largest packet", unit="bytes", least=576, most=9000)
    new_flows: str = narrowed(
        Settings,
        "new_flows",
        "auto",
        choices=("auto", *NEW_FLOWS),
        help="Who gives a flow its first path; auto: the switch when flows come and go.",
    )
    disturb: tuple[str, ...] = parameter(
        (),
        "Kill or freeze the controller: controller:kill@SECONDS or controller:freeze@SECONDS.",
        metavar="controller:HOW@SECONDS",
    )

    def __post_init__(self) -> None:
        try:
            super().__post_init__()
            _ = self.disturbances
            if not self.plain:
                rates = self.link_mbps * link_rates(self.topo)
                least, most = rates.min(), rates.max()
                if not LEAST_MBPS <= least <= most <= MAX_MBPS:
                    raise ValueError(
                        f"rates of links are {LEAST_MBPS:g} to {MAX_MBPS:g} Mb/s, not {least:g} to {most:g}"
                    )
        except ValueError as error:
            raise UserMistake(str(error)) from None
        if self.new_flows == "switch" and self.topology is not None:
            raise UserMistake("--new-flows switch is for fat-trees: switches of other networks choose no whole path")
        if self.chosen.gap_us is not None:
            if self.time == "real":
                raise UserMistake(f"scheme {self.scheme!r} takes our guests' kernel: --time virtual")
            if self.topology is not None or self.fail:
                raise UserMistake(
                    f"scheme {self.scheme!r} is emulated on a whole fat-tree: without --topology, without --fail"
                )
        if self.new_flows == "switch" and self.chosen.own:
            raise UserMistake(f"--new-flows switch is for hashes: no switch can choose paths as {self.scheme} does")
        # Open vSwitch moves a flow's counters every half second: polled faster, rates are mostly 0 or double.
        if self.time == "real" and self.interval_s < 1:
            raise UserMistake(f"--interval must be at least 1 s in real time, not {self.interval_s:g}")
        for name in (self.scheme, self.traffic, self.topology or self.scheme):
            try:
                convert(name, Name)
            except ValidationError:
                raise UserMistake(
                    f"{one_line(name)!r} has more than 300 characters, or some that are no name's: = + - @ at its "
                    "beginning, < or > anywhere"
                ) from None
        if re.fullmatch("[a-z0-9_]+", self.congestion_control) is None:
            raise UserMistake(f"--congestion-control names a TCP algorithm, not {self.congestion_control!r}")
        if self.time == "virtual" and self.congestion_control not in GUESTS_TCP:
            raise UserMistake(f"--congestion-control is one of {', '.join(GUESTS_TCP)} in virtual time")
        if self.time == "real" and self.controller_delay_ms:
            raise UserMistake("--controller-delay is for virtual time: in real time the controller takes what it takes")
        if self.time != "auto" and self.controller_delay_ms is None:
            object.__setattr__(self, "controller_delay_ms", MEASURED_DELAY_MS if self.time == "virtual" else 0.0)
        if self.time == "real" and self.start_spread_ms:
            raise UserMistake("--start-spread is for virtual time: in real time a machine starts flows as it can")
        if self.time != "auto" and self.start_spread_ms is None:
            object.__setattr__(self, "start_spread_ms", START_SPREAD_MS if self.time == "virtual" else 0.0)

    @cached_property
    def disturbances(self) -> tuple[Disturbance, ...]:
        try:
            return parsed_disturbances(self.disturb, self.seconds)
        except ValueError as error:
            raise ValueError(f"--disturb: {error}") from None

    def workload(self) -> Workload:
        """The flows of this run; UserMistake when the traffic makes no sense."""
        try:
            found = super().workload().bounded(MAX_FLOWS)
            if found.graph is not None:
                _alone(found, found.graph)
            return found
        except (ValueError, OSError) as error:
            raise UserMistake(str(error)) from None

    @property
    def sink(self) -> str:
        """What takes in flows that last: iperf's server, or ``blocks`` (`harness.hosts.sink`) in virtual time, where
        iperf's would take most of the processor."""
        return "blocks" if self.time == "virtual" else "iperf"

    @property
    def slowest_mbps(self) -> float:
        """The rate of the slowest link, Mb/s."""
        return self.link_mbps if self.plain else self.link_mbps * float(link_rates(self.network()).min())

    @property
    def shape(self) -> Shape:
        """Of a host's port."""
        from harness.network.shaping import BUCKET_S, Shape

        return Shape(self.link_mbps, self.queue, self.mtu, self.marks, 0.0 if self.time == "virtual" else BUCKET_S)

    @property
    def marks(self) -> bool:
        """Whether queues tell TCP of congestion: DCTCP without marks would be Reno."""
        return self.congestion_control == "dctcp"

    def for_its_traffic(self) -> RunSpec:
        """With what ``auto`` means for ``new_flows`` and ``large_flows`` under this traffic."""
        work = self.workload()
        few = lasting(work) is not None or work.graph is not None  # a collective's connections stay
        new_flows, large_flows = self.new_flows, self.large_flows
        if new_flows == "auto":
            new_flows = "controller" if few or self.topology is not None or self.chosen.own else "switch"
        if large_flows == "auto":
            large_flows = "measured-or-estimated" if few else "measured"
        return replace(self, new_flows=new_flows, large_flows=large_flows)

    def as_json(self) -> dict[str, Any]:
        """Plain data, for the result file. What few runs have is left out of those that do not have it."""
        asked = {**asdict(self), "sink": self.sink}
        return {name: value for name, value in asked.items() if value not in ((), None)}


def _alone(work: Workload, graph: FlowGraph) -> None:
    """ValueError for a collective that the hosts' programs cannot carry out."""
    if len(work.parts) > 1:
        raise ValueError(
            f"traffic {work.name!r}: other traffic beside a collective is for the simulator only (hedera simulate)"
        )
    from traffic.graph import ranks

    ranks(graph, work.standing.src_port)


def lasting(workload: Workload) -> Matrix | None:
    """The flows of traffic that all begin at once and last for the whole run; None for all other traffic."""
    matrix = workload.matrix
    return None if matrix is None or matrix.sequential else matrix


def linger_s(mbps: float) -> float:
    """Seconds an iperf client may take longer than asked on links of that rate."""
    return LINGER_S + LINGERING_BYTES * 8e-6 / mbps


def longest_s(spec: RunSpec) -> float:
    """Seconds after which a run is taken to hang."""
    topo = spec.network()
    nodes = topo.num_hosts + topo.num_switches
    return spec.seconds + linger_s(spec.slowest_mbps) + PATIENCE_S + PATIENCE_PER_NODE_S * nodes


def parsed_disturbances(texts: Sequence[str], seconds: float) -> tuple[Disturbance, ...]:
    """What ``--disturb`` asks for, in the order of the times, in seconds since the traffic started.

    Raises ValueError, one sentence, for anything else.
    """
    found = []
    for text in texts:
        match = _DISTURBANCE.fullmatch(text)
        if match is None or not 0 < float(match[2]) < seconds:
            raise ValueError(
                "a disturbance is controller:kill@SECONDS or controller:freeze@SECONDS "
                f"inside the run of {seconds:g} s, not {text[:60]!r}"
            )
        found.append(Disturbance(match[1], float(match[2])))
    return tuple(sorted(found, key=lambda one: one.at))
