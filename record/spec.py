"""What an experiment is, for every backend, and what one run is: the fields are the command line's options.

A field's type has its range (`msgspec.Meta`), and its description is the option's help. Made from these: options
(`record.options`), the check of a value and its message, the controller's flags, the settings of run.json
(`record.run.Settings`). Results use the same field names, which include their units.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import signal
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from hedera.schemes import Options, Scheme, find_file, find_scheme
from record.errors import UserMistake
from topos.fattree import FatTree, port_name
from topos.graphs import MAX_GRAPH_BYTES, SUFFIXES, GraphPlan, plan_of
from topos.links import link_rates
from topos.network import LeafSpine, NonBlocking, PlannedNetwork
from topos.wire import DEFAULT_MTU
from traffic.graph import PLACEMENTS, list_ranks

if TYPE_CHECKING:
    from topos.arrays import Int32
    from topos.links import Fault
    from topos.network import Network
    from traffic.flows import Matrix
    from traffic.workload import Workload

# --- options ----------------------------------------------------------------------------------------------------------

BAD = r"\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""What controls a terminal, or the direction of text."""
Name = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=300,
        pattern=rf"^(?![-=+@])[^<>{BAD}]+\Z",
        title="one line of at most 300 characters, without < and >, and no = + - @ at its beginning",
    ),
]
"""One line, which is no markup, and no formula in a spreadsheet. It still has to be quoted in a path."""
Positive = Annotated[float, Meta(gt=0, le=1e9)]

_SUFFIXES = ("_s", "_us", "_ms", "_kb", "_mbps")
"""Units at the end of fields' names; options leave them out."""
_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below", "multiple_of": "a multiple of"}


def one_of(*choices: str) -> Meta:
    """The range of a word."""
    return Meta(pattern=rf"^({'|'.join(choices)})\Z", extra={"choices": choices})


def described(help: str, **extra: str) -> Meta:
    """What `Option` says of a field; ``help`` has the unit at its end."""
    return Meta(description=help, extra=extra)


@dataclass(frozen=True)
class Option:
    """An option of the command line, as the type of its field describes it.

    ``type`` has the range, ``kind`` is without one: float for ``Positive | None``. ``metavar``: the placeholder for a
    value in the help.
    """

    field: str
    name: str
    type: Any
    kind: Any
    default: Any
    help: str
    choices: tuple[str, ...]
    metavar: str | None

    @property
    def in_python(self) -> str:
        """As a controller's flag, and an argument of the library: ``link_delay`` for ``--link-delay``."""
        return self.name.lstrip("-").replace("-", "_")

    @property
    def allowed(self) -> str:
        """The allowed values as text: ``at least 3 and at most 86400``; empty if anything of its type is."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        metas = list(_list_metas(self.type))
        bounds = [
            f"{words} {_format_number(bound)}"
            for meta in metas
            for name, words in _BOUNDS.items()
            if (bound := getattr(meta, name)) is not None
        ]
        return " and ".join(bounds) or next((meta.title for meta in metas if meta.title), "")

    def checked(self, value: Any, strict: bool = True) -> Any:
        """The value, of the field's type; if not ``strict``, text is read as what it stands for. UserMistake for one of
        another type, or out of its range; what is infinite always is."""
        try:
            checked = msgspec.convert(value, self.type, strict=strict)
            if checked not in (math.inf, -math.inf):
                return checked
        except msgspec.ValidationError:
            pass
        raise UserMistake(f"{self.name} must be {self.allowed or self.kind.__name__}, not {_format_number(value)}")


def name_option(field: str) -> str:
    """``--link-delay`` for the field ``link_delay_us``, unless it has a name of its own."""
    suffix = next((suffix for suffix in _SUFFIXES if field.endswith(suffix)), "")
    return "--" + field.removesuffix(suffix).replace("_", "-")


@cache
def list_options(owner: type[Any]) -> dict[str, Option]:
    """The options of a dataclass: its fields with a description, which a class that narrows a range inherits. ``extra``
    of a `Meta` may have ``option``, a name that does not follow from the field's, ``metavar`` and ``choices``."""
    types = [get_type_hints(each, include_extras=True) for each in owner.__mro__ if dataclasses.is_dataclass(each)]
    described = {}
    for field in fields(owner):
        metas = [meta for hints in types if field.name in hints for meta in _list_metas(hints[field.name])]
        help = next((meta.description for meta in metas if meta.description), None)
        if help is not None:
            extra = {name: value for meta in reversed(metas) for name, value in (meta.extra or {}).items()}
            type = types[0][field.name]
            described[field.name] = Option(
                field=field.name,
                name=extra.get("option") or name_option(field.name),
                type=type,
                kind=_find_kind(type),
                default=field.default,
                help=help,
                choices=extra.get("choices", ()),
                metavar=extra.get("metavar"),
            )
    return described


def _find_kind(type: Any) -> Any:
    while get_origin(type) is not tuple and (parts := get_args(type)):
        type = parts[0]
    return get_origin(type) or type


def check(instance: Any) -> None:
    """UserMistake for the first field of a dataclass whose value is not of its type or out of its range."""
    owner: type = type(instance)
    for name, option in list_options(owner).items():
        option.checked(getattr(instance, name))


def _list_metas(type: Any) -> Iterator[Meta]:
    """Of a type and of what it is made of."""
    yield from (each for each in getattr(type, "__metadata__", ()) if isinstance(each, Meta))
    for part in get_args(type):
        yield from _list_metas(part)


def _format_number(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else repr(value)


# --- experiments ------------------------------------------------------------------------------------------------------

READ_S = 2.0


@dataclass(frozen=True)
class Experiment:
    """One traffic pattern under one scheme; each backend extends it by fields that only it has, and may narrow the
    values it accepts. Defaults are the paper's, where it gives any.

    The middle two thirds of ``seconds`` are measured (sections 5.5, 6.2). ``link_mbps`` is in 10^6 bit/s.
    ``fail`` is in the notation of `topos.links`.

    Raises ValueError, one sentence, for a value that makes no sense.
    """

    scheme: Annotated[Name, described("How paths are chosen: ecmp, hedera-gff, nonblocking, FILE.py:CLASS ...")]
    traffic: Annotated[Name, described("Who sends to whom: stride:4, published:randbij0, file:m.csv ...")]
    k: Annotated[int, Meta(ge=4, le=254, multiple_of=2), described("Ports per switch: k^3/4 hosts.", option="-k")] = 4
    seconds: Annotated[float, Meta(gt=0), described("How long the traffic lasts; its middle two thirds count, s.")] = (
        60.0
    )
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1), described("Fixes every draw: matrices, source ports, hashes.")] = 1
    interval_s: Annotated[float, Meta(gt=0), described("Hedera's scheduling period, s.")] = 5.0
    link_mbps: Annotated[Positive, described("Rate of every link, Mb/s.", option="--bw")] = 1000.0
    threshold: Annotated[
        float, Meta(ge=0, lt=1), described("Share of a link above which a flow is large (section 3.1).")
    ] = 0.1
    large_flows: Annotated[
        str,
        one_of("measured", "measured-or-estimated"),
        described(
            "Which flows Hedera places: those above a tenth of a link as measured (section 3.1), or by estimated "
            "demand, too."
        ),
    ] = "measured"
    iterations: Annotated[int, Meta(ge=1), described("Iterations of Simulated Annealing per round.")] = 1000
    flows_per_host: Annotated[int, Meta(ge=1), described("Number of draws of the pattern, added together.")] = 1
    keep: Annotated[float, Meta(gt=0, le=1), described("Fraction of the flows to keep, at random.")] = 1.0
    scale_sizes: Annotated[
        bool, described("Scale the flow sizes of poisson traffic from 1 Gb/s to --bw, so that times stay the same.")
    ] = True
    placement: Annotated[
        str, one_of(*PLACEMENTS), described("Which hosts a collective's ranks are: in their order, or drawn.")
    ] = "compact"
    compute_s: Annotated[
        float, Meta(ge=0), described("What hosts compute before each collective; in every stage of a pipeline, s.")
    ] = 0.0
    repeats: Annotated[int, Meta(ge=1), described("How often the collective is done.")] = 1
    fail: Annotated[
        tuple[Name, ...],
        described(
            "Break link:A-B@SECONDS or switch:NAME@SECONDS, until :UNTIL. Can be repeated.", metavar="WHAT@SECONDS"
        ),
    ] = ()
    topology: Annotated[
        Name | None,
        described(
            "Another network than the fat-tree of -k: leaf-spine:LEAVES,SPINES,HOSTS (of each leaf), FILE.py:CLASS, "
            "a graph FILE.json, FILE.graphml or ns-3's FILE.txt."
        ),
    ] = None
    oversubscribe: Annotated[
        Positive | None, described("What the hosts of a switch can send over what its links to other switches carry.")
    ] = None

    _simulates: ClassVar[bool] = False
    """Whether this backend has the schemes that only the simulator has."""

    def __post_init__(self) -> None:
        check(self)
        chosen, _ = self.chosen, self.topo  # raise for a scheme or a network that does not exist
        tree_alone = self.scheme == "spanning-tree" and self.topology is not None
        for wrong, where in (
            (chosen.plans and not self._simulates, "the simulator only (hedera simulate)"),
            (chosen.gap_us and self._simulates, "emulation only (hedera run): a fluid has no gaps"),
            (chosen.clos and not self.plain, "a fat-tree whose links all have one rate"),
            (tree_alone, "a fat-tree: paths by number make no tree of another network"),
        ):
            if wrong:
                raise ValueError(f"scheme {self.scheme!r} is for {where}")
        try:
            _ = self.faults
        except ValueError as error:
            raise ValueError(f"--fail: {error}") from None

    @property
    def chosen(self) -> Scheme:
        return find_scheme(self.scheme)

    @property
    def options(self) -> Options:
        return Options(self.iterations)

    @property
    def reading_s(self) -> float:
        """How often a controller reads what switches have counted: with every round, or without rounds READ_S."""
        return self.interval_s if self.chosen.scheduler else READ_S

    @property
    def topo(self) -> Network:
        """The network that is asked for, whose hosts there are whatever the scheme; ValueError if there is none."""
        if self.topology is not None:
            return load_own_network(self.topology, self.oversubscribe)
        return FatTree(self.k) if self.oversubscribe is None else FatTree(self.k, 1 / self.oversubscribe)

    @property
    def tree(self) -> FatTree:
        """The fat-tree of this k, for what knows no other network; ValueError where another is asked for."""
        if not isinstance(self.topo, FatTree):
            raise ValueError(f"this is for fat-trees only, not for --topology {self.topology}")
        return self.topo

    @property
    def plain(self) -> bool:
        """Whether it is a fat-tree whose links all have one rate, as the paper's."""
        return self.topology is None and self.oversubscribe in (None, 1)

    def network(self) -> Network:
        """The network of the scheme: the one asked for, or one switch for the control."""
        return NonBlocking(self.topo.num_hosts) if self.chosen.nonblocking else self.topo

    def workload(self) -> Workload:
        """Who sends what to whom, and when; ValueError, one sentence, if that is impossible on this network, or under
        this scheme."""
        from traffic.workload import make_workload

        chosen = self.chosen
        drawn = make_workload(
            self.traffic,
            self.topo,
            self.seed,
            seconds=self.seconds,
            link_mbps=self.link_mbps,
            scale_sizes=self.scale_sizes,
            flows_per_host=self.flows_per_host,
            keep=self.keep,
            placement=self.placement,
            compute_s=self.compute_s,
            repeats=self.repeats,
            subflows=chosen.subflows,
        )
        if drawn.graph is None and (chosen.plans or chosen.subflows > 1):
            raise ValueError(f"scheme {self.scheme!r} is for collectives, and traffic {self.traffic!r} is none")
        return drawn

    def user_files(self) -> dict[str, str]:
        """What a job takes along: the content of the files that scheme and traffic name, for
        `traffic.user_files.job_files`. ValueError, one sentence, where one cannot be read."""
        from traffic.user_files import MAX_CODE_BYTES, read_text
        from traffic.workload import read_files

        files = read_files(self.traffic, self.topo, self.seed)
        if self.topology is not None and isinstance(self.topo, PlannedNetwork):
            files[self.topology] = self.topo.rows()
        path = find_file(self.scheme)
        return files if path is None else files | {str(path): read_text(path, MAX_CODE_BYTES)}

    @property
    def size_scale(self) -> float:
        from traffic.workload import compute_size_scale

        return compute_size_scale(self.link_mbps, self.scale_sizes)

    @property
    def scaling_in_words(self) -> str:
        """A sentence where sizes of this traffic are not as they are spelled; else empty."""
        if "poisson:" not in self.traffic or self.size_scale == 1:
            return ""
        return (
            f"sizes of poisson traffic are {self.size_scale:g} of what they are at 1 Gb/s, as links have "
            f"{self.link_mbps:g} Mb/s, so that times stay the same (--no-scale-sizes leaves them as they are)"
        )

    def matrix(self) -> Matrix:
        """The flows of long-lived or shuffle traffic; ValueError, one sentence, for any other `workload`."""
        matrix = self.workload().matrix
        if matrix is None:
            raise ValueError(f"traffic {self.traffic!r} has flows that end, and here flows must last")
        return matrix

    @property
    def capacity_mbps(self) -> float:
        """What all hosts together could receive, Mb/s."""
        return self.topo.num_hosts * self.link_mbps

    def bound_mbps(self, src: Int32, dst: Int32) -> float | None:
        """The most that these links could carry of flows that last (`hedera.maxmin.bound_total`), Mb/s; None for a
        fat-tree whose links all have one rate."""
        if self.plain:
            return None
        from hedera.maxmin import bound_total

        return bound_total(self.network(), src, dst, self.link_mbps * link_rates(self.network()))

    @property
    def window_s(self) -> tuple[float, float]:
        """The measured part: the middle two thirds, seconds."""
        return find_middle(self.seconds)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What fails in the network; nothing for the control, which has none of its links."""
        if not self.fail:
            return ()
        from topos.links import parse

        return tuple(parse(text, self.topo, self.seconds) for text in self.fail)


OPEN = "/proc/self/fd/"


def load_own_network(spelled: str, oversubscribe: float | None) -> PlannedNetwork:
    """The network of that name: ``leaf-spine:LEAVES,SPINES,HOSTS``, FILE.py:CLASS, or a graph: FILE.json,
    FILE.graphml or ns-3's FILE.txt, of which it is said once what was made of it. Only the user's own process reads or
    runs a file; others make the network of its rows, which came with a job or, for a controller, in an open file.
    ValueError, one sentence, for one that is none."""
    from traffic.user_files import MAX_CODE_BYTES, job_files, load_own_code, read_text, running_own_code

    if spelled in job_files or spelled.startswith(OPEN):
        rows = job_files[spelled] if spelled in job_files else read_text(Path(spelled), MAX_CODE_BYTES)
        return _made(spelled, rows, oversubscribe)
    if path := find_file(spelled):
        subject, name = f"topology {spelled!r}", spelled.rpartition(":")[2]
        if not isinstance(plan := load_own_code(subject, path, name), type):
            raise ValueError(f"{subject}: there is no class {name} in {path}")
        with running_own_code(subject):
            return _made(spelled, plan, oversubscribe)
    if match := re.fullmatch("leaf-spine:([1-9][0-9]{0,2}),([1-9][0-9]{0,2}),([1-9][0-9]{0,2})", spelled, re.ASCII):
        return _made(spelled, LeafSpine(*map(int, match.groups())), oversubscribe)
    if (suffix := Path(spelled).suffix.lower()) in SUFFIXES:
        return _made(spelled, _load_graph(spelled, read_text(Path(spelled), MAX_GRAPH_BYTES), suffix), oversubscribe)
    raise ValueError(
        f"there is no topology {spelled!r}; there are leaf-spine:LEAVES,SPINES,HOSTS, FILE.py:CLASS, "
        "FILE.json, FILE.graphml and ns-3's topology.txt"
    )


@lru_cache(maxsize=8)
def _load_graph(spelled: str, text: str, suffix: str) -> GraphPlan:
    try:
        plan = plan_of(text, suffix)
    except ValueError as error:
        raise ValueError(f"topology {spelled!r}: {' '.join(str(error).split())}") from None
    warnings.warn(f"topology {spelled!r}: {'; '.join(plan.said)}", stacklevel=3)
    return plan


_made = lru_cache(maxsize=8)(PlannedNetwork)
"""Each once: an experiment asks for its network again and again."""


def find_middle(length: float) -> tuple[float, float]:
    """The measured middle two thirds of a run of this length (sections 5.5, 6.2): begin and end, in the same unit."""
    return length / 6, length * 5 / 6


def split_phases(times: Sequence[float], window: tuple[float, float], seconds: float) -> list[tuple[float, float]]:
    """A run's measuring window, cut at ``times`` into before, during and after a failure. All in seconds.

    If a time is outside the window, the window is widened half way to the beginning or the end of the run. What fails
    at 0 has no before.
    """
    times = [time for time in times if time > 0]
    begin, end = window
    if times:
        begin = begin if begin < times[0] else times[0] / 2
        end = end if end > times[-1] else (times[-1] + seconds) / 2
    return list(itertools.pairwise([begin, *times, end]))


# --- runs -------------------------------------------------------------------------------------------------------------

LEAST_MBPS, MAX_MBPS = 0.1, 1e6
"""Beyond it a rate is a slip of the keyboard: no machine forwards such links in software."""
MAX_FLOWS = 200_000
"""What a run can keep a record of: `record.run.MAX_RUN_BYTES` at about a kilobyte each."""
SHORTEST_S = 3
"""Of a run: rates are read once a second, and the first and the last of them do not count."""
MEASURED_DELAY_MS = 8.0
"""What polling and deciding took of a round in real time, the median (docs/notes/deviations.md: of which runs)."""
LINUX_MIN_RTO_MS = 200
"""TCP's shortest retransmission timeout in Linux, unless a route says otherwise (TCP_RTO_MIN)."""
LINUX_INITIAL_WINDOW = 10
"""Segments that Linux sends of a new connection before the first acknowledgement, unless a route says otherwise
(TCP_INIT_CWND)."""
ONLY_RACK = (6, 17)
"""From this Linux on there is no other detection of losses with selective acknowledgements, and its setting is read by
nobody (Documentation/networking/ip-sysctl.rst, tcp_recovery)."""
KNOWN_TO_ALL = 128
"""In a network of so many hosts each knows all others' addresses; in a larger one those of its flows."""
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
MAX_RTO_S = 120.0
"""TCP's longest retransmission timeout in Linux (TCP_RTO_MAX)."""
PATIENCE_S = 300.0
PATIENCE_PER_NODE_S = 2.0
"""What a run may take beyond its traffic before it is taken to hang: many times what slow machines need."""

_PHANTOM = re.compile(r"([01]|[01]?\.[0-9]{1,9}):([1-9][0-9]{0,8})", re.ASCII)
SIGNALS = {"kill": signal.SIGKILL, "freeze": signal.SIGSTOP}
_DISTURBANCE = re.compile(r"controller:(kill|freeze)@([0-9]{1,9}(?:\.[0-9]{1,9})?)", re.ASCII)


@dataclass(frozen=True)
class Phantom:
    """HULL's phantom queue of a switch's port: a counter that grows by each packet's bytes as it leaves, and drains at
    the share ``drain`` of the link's rate. A packet that leaves it above ``bytes`` is marked."""

    drain: float
    bytes: int


@dataclass(frozen=True)
class Disturbance:
    """What happens to the controller, and when."""

    how: str
    at: float


@dataclass(frozen=True)
class RunSpec(Experiment):
    """One pattern, one scheme, one trial, in emulation; the period is the replication's, the rate what machines carry.

    Where ``new_flows`` is ``switch``, lasting flows take the paths that the simulator's hash gives, on every machine,
    and short ones do not wait for the controller.
    ``controller_delay_ms`` follows from ``time`` where it is not given, and so does ``start_spread_ms``; in real time
    both are what they are.

    Raises UserMistake, one sentence, when a field makes no sense.
    """

    seconds: Annotated[float, Meta(ge=SHORTEST_S, le=86_400)] = 60.0
    interval_s: Annotated[
        float, Meta(ge=0.02, le=3600), described("Hedera's scheduling period; in real time at least 1, s.")
    ] = 2.0
    link_mbps: Annotated[float, Meta(ge=LEAST_MBPS, le=MAX_MBPS)] = 10.0
    trial: int = 1
    time: Annotated[
        str,
        one_of("auto", "real", "virtual"),
        described("Real, or virtual: in a Linux that is a process (docs/virtual-time.md); auto: real for root alone."),
    ] = "auto"
    controller_delay_ms: Annotated[
        Annotated[float, Meta(ge=0, le=MAX_DELAY_MS)] | None,
        described(
            "By how much what the controller says is late in virtual time, where computing takes none "
            f"(default there: {MEASURED_DELAY_MS:g}, from real time), ms."
        ),
    ] = None
    start_spread_ms: Annotated[
        Annotated[float, Meta(ge=0, le=1000)] | None,
        described(
            "Lasting flows start within so long, in an order and at moments that the seed draws; in real time as the "
            f"machine starts them (default in virtual time: {START_SPREAD_MS:g}), ms."
        ),
    ] = None
    platform: Annotated[str, one_of("auto", "os-ken", "pox"), described("The controller's platform.")] = "auto"
    congestion_control: Annotated[
        str,
        Meta(pattern=r"^[a-z0-9_]+\Z", title="the name of a TCP algorithm"),
        described("TCP algorithm; with dctcp, queues mark from 20 packets on."),
    ] = "cubic"
    phantom: Annotated[
        Name | None,
        described(
            "Phantom queues (HULL) at switches, with dctcp in virtual time: they drain at so much of a link's rate and "
            "mark above so many bytes, as 0.95:2500. Frames count themselves.",
            metavar="GAMMA:BYTES",
        ),
    ] = None
    pacer: Annotated[
        Annotated[str, one_of("front", "behind")] | None,
        described("HULL's pacers at hosts, in virtual time: in front of the host's queue, or behind it."),
    ] = None
    sack: Annotated[
        bool,
        described(
            "Selective acknowledgements (RFC 2018); without them Linux recovers as NewReno, and probes no tails."
        ),
    ] = True
    rack: Annotated[
        bool,
        described(
            "With --sack, losses by time (RACK, RFC 8985), not by three later acknowledgements (RFC 6675); --no-rack "
            "is for virtual time and for kernels before 6.17: later ones have nothing else."
        ),
    ] = True
    tail_loss_probes: Annotated[
        bool, described("With --sack, probe for the loss of a last segment (RFC 8985); Linux does since 3.10.")
    ] = True
    hystart: Annotated[
        bool, described("CUBIC leaves slow start when round trips grow (HyStart); --no-hystart is for virtual time.")
    ] = True
    initial_window: Annotated[
        int,
        Meta(ge=1, le=1000),
        described("Segments before the first acknowledgement: Linux has 10 (RFC 6928); 3 in 2010 (RFC 3390)."),
    ] = LINUX_INITIAL_WINDOW
    # What `ip route` takes whole; above a minute no run would see a second try.
    min_rto_ms: Annotated[
        int, Meta(ge=1, le=60_000), described("TCP's shortest retransmission timeout; 200 is Linux's own, ms.")
    ] = LINUX_MIN_RTO_MS
    queue: Annotated[
        int, Meta(ge=2, le=100_000), described("What the queue of a switch's port holds, in packets of --mtu bytes.")
    ] = 50
    delay_ms: Annotated[
        Annotated[float, Meta(gt=0, le=100)] | None, described("What every cable adds to each way of a packet, ms.")
    ] = None
    # From IPv4's least of 576 bytes (RFC 791) to a jumbo frame; larger packets gained nothing.
    mtu: Annotated[int, Meta(ge=576, le=9000), described("Largest packet, bytes.")] = DEFAULT_MTU
    trace_ms: Annotated[
        Annotated[float, Meta(ge=1, le=60_000)] | None,
        described("Write down so often what waits in queues, and connections' windows and round trips, ms."),
    ] = None
    host_cpu: Annotated[
        Annotated[float, Meta(gt=0, le=1)] | None,
        described(
            "In real time: what each host's programs may take of all processors, as Mininet's cpu= (the replication: "
            "4/k^3, 0.0625).",
            metavar="SHARE",
        ),
    ] = None
    pcap: Annotated[
        tuple[Name, ...],
        described("Capture what a port sends and receives, as 0_0_1-eth3. Can be repeated.", metavar="PORT"),
    ] = ()
    new_flows: Annotated[
        str,
        one_of("auto", "controller", "switch"),
        described("Who gives a flow its first path; auto: the switch when flows come and go."),
    ] = "auto"
    ack_paths: Annotated[
        str,
        one_of("hashed", "with-data"),
        described(
            "How acknowledgements go back: as flows of their own, each by its hash, as switches do it; or over the "
            "cables of their data."
        ),
    ] = "hashed"
    disturb: Annotated[
        tuple[Name, ...],
        described(
            "Kill or freeze the controller: controller:kill@SECONDS or controller:freeze@SECONDS.",
            metavar="controller:HOW@SECONDS",
        ),
    ] = ()

    def __post_init__(self) -> None:
        try:
            super().__post_init__()
        except ValueError as error:
            raise UserMistake(str(error)) from None
        _ = self.disturbances
        _ = self.phantom_queue
        if self.pcap:
            ports = {port_name(*end) for link in self.network().links() for end in (link[:2], link[2:])}
            if wrong := [port for port in self.pcap if port not in ports]:
                some = ", ".join(sorted(ports)[:3])
                raise UserMistake(f"--pcap: there is no port {wrong[0]!r} in this network; there are {some} ...")
        if not self.plain:
            rates = self.link_mbps * link_rates(self.topo)
            lowest, most = rates.min(), rates.max()
            if not LEAST_MBPS <= lowest <= most <= MAX_MBPS:
                raise UserMistake(f"rates of links are {LEAST_MBPS:g} to {MAX_MBPS:g} Mb/s, not {lowest:g} to {most:g}")
        if self.new_flows == "switch" and self.topology is not None:
            raise UserMistake("--new-flows switch is for fat-trees: switches of other networks choose no whole path")
        if self.new_flows == "switch" and self.chosen.own:
            raise UserMistake(f"--new-flows switch is for hashes: no switch can choose paths as {self.scheme} does")
        if self.new_flows == "switch" and self.chosen.hash and not self.chosen.hash.learned:
            raise UserMistake(f"--new-flows switch: Open vSwitch cannot give a flow its path by {self.chosen.hash}")
        if self.ack_paths == "with-data" and self.new_flows == "switch":
            raise UserMistake("--ack-paths with-data takes --new-flows controller: no switch knows both ways")
        if self.ack_paths == "with-data" and self.chosen.gap_us is not None:
            raise UserMistake(f"--ack-paths with-data: under {self.scheme!r} data has no path of its own to go back by")
        if self.time == "real" and self.chosen.gap_us is not None:
            raise UserMistake(f"scheme {self.scheme!r} takes our guests' kernel: --time virtual")
        of_one_path = self.topology is not None and not getattr(self.topo, "two_tiers", False)
        if (self.fail or of_one_path) and self.chosen.gap_us is not None:
            raise UserMistake(f"scheme {self.scheme!r} is emulated on a fat-tree or a leaf-spine, without --fail")
        # Open vSwitch moves a flow's counters every half second: polled faster, rates are mostly 0 or double.
        if self.time == "real" and self.interval_s < 1:
            raise UserMistake(f"--interval must be at least 1 s in real time, not {self.interval_s:g}")
        if self.time == "virtual" and self.host_cpu is not None:
            raise UserMistake("--host-cpu is for real time: in virtual time computing takes none, so no host is slowed")
        if self.time == "virtual" and self.congestion_control not in GUESTS_TCP:
            raise UserMistake(f"--congestion-control is one of {', '.join(GUESTS_TCP)} in virtual time")
        for name in ("phantom", "pacer"):
            if self.time == "real" and getattr(self, name) is not None:
                raise UserMistake(f"--{name} takes our guests' kernel: --time virtual")
        if self.phantom is not None and self.congestion_control != "dctcp":
            raise UserMistake(f"--phantom is for --congestion-control dctcp: {self.congestion_control} sees no marks")
        if self.pacer is not None and self.congestion_control != "dctcp":
            raise UserMistake(f"--pacer is for --congestion-control dctcp: {self.congestion_control} echoes no marks")
        if self.time == "real" and not self.hystart:
            raise UserMistake("--no-hystart is for virtual time: it is a setting of the whole machine, not of a host")
        if not self.hystart and self.congestion_control != "cubic":
            raise UserMistake(f"--no-hystart is for cubic: {self.congestion_control} has no HyStart")
        virtual_alone = {"controller_delay_ms": MEASURED_DELAY_MS, "start_spread_ms": START_SPREAD_MS}
        for name, default in virtual_alone.items():
            if self.time == "real" and getattr(self, name):
                raise UserMistake(f"{name_option(name)} is for virtual time: in real time it is what it is")
            if self.time != "auto" and getattr(self, name) is None:
                object.__setattr__(self, name, default if self.time == "virtual" else 0.0)

    @cached_property
    def phantom_queue(self) -> Phantom | None:
        """What ``phantom`` asks for."""
        if self.phantom is None:
            return None
        match = _PHANTOM.fullmatch(self.phantom)
        if match is None or not 0.01 <= float(match[1]) <= 1:
            raise UserMistake(
                "--phantom is GAMMA:BYTES, such as 0.95:2500, with a share of 0.01 to 1 and a whole number of 1 to "
                f"999999999, not {self.phantom[:60]!r}"
            )
        return Phantom(float(match[1]), int(match[2]))

    @cached_property
    def disturbances(self) -> tuple[Disturbance, ...]:
        """What ``disturb`` asks for, in the order of the times, in seconds since the traffic started."""
        disturbances = []
        for text in self.disturb:
            match = _DISTURBANCE.fullmatch(text)
            if match is None or not 0 < float(match[2]) < self.seconds:
                raise UserMistake(
                    "--disturb is controller:kill@SECONDS or controller:freeze@SECONDS "
                    f"inside the run of {self.seconds:g} s, not {text[:60]!r}"
                )
            disturbances.append(Disturbance(match[1], float(match[2])))
        return tuple(sorted(disturbances, key=lambda disturbance: disturbance.at))

    def workload(self) -> Workload:
        """The flows of this run; UserMistake when the traffic makes no sense."""
        try:
            drawn = super().workload().bounded(MAX_FLOWS)
            if drawn.graph is not None:
                if len(drawn.parts) > 1:
                    beside = "other traffic beside a collective is for the simulator only (hedera simulate)"
                    raise ValueError(f"traffic {drawn.name!r}: {beside}")
                list_ranks(drawn.graph, drawn.standing.src_port)  # raises for what the hosts' programs cannot carry out
            return drawn
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
    def marks(self) -> bool:
        """Whether queues tell TCP of congestion: DCTCP without marks would be Reno."""
        return self.congestion_control == "dctcp"

    def for_its_traffic(self, work: Workload | None = None) -> RunSpec:
        """With what ``auto`` means for ``new_flows``; ``work``: its traffic, if it is drawn."""
        if self.new_flows != "auto":
            return self
        work = work or self.workload()
        few = find_lasting(work) is not None or work.graph is not None  # a collective's connections stay
        return replace(self, new_flows="controller" if few or not self._can_switches_choose() else "switch")

    def _can_switches_choose(self) -> bool:
        """Whether Open vSwitch itself can give new flows the paths that this scheme gives them."""
        if self.topology is not None or self.ack_paths == "with-data" or self.chosen.own:
            return False
        return self.chosen.hash is None or self.chosen.hash.learned

    def as_json(self) -> dict[str, Any]:
        """Plain data, for the result file. What few runs have is left out of those that do not have it."""
        fields = {**asdict(self), "sink": self.sink}
        return {name: value for name, value in fields.items() if value not in ((), None)}


def find_lasting(workload: Workload) -> Matrix | None:
    """The flows of traffic that all begin at once and last for the whole run; None for all other traffic."""
    matrix = workload.matrix
    return None if matrix is None or matrix.sequential else matrix


def linger_s(spec: RunSpec) -> float:
    """Seconds an iperf client may take longer than asked (RFC 6298, section 5.5).

    Its flow may have been starved: each retransmission that is lost doubles the timeout, so that the next one comes
    after about as long again as the flow has been silent, which is the whole run at most.
    """
    # Without this time runs with starved flows were invalid, and means were of those where hashes had not collided as
    # badly. Where something fails flows may have lost their ways for good, and nobody waits for them.
    silent_s = 0.0 if spec.faults or spec.disturbances else min(spec.seconds, MAX_RTO_S)
    return LINGER_S + LINGERING_BYTES * 8e-6 / spec.slowest_mbps + silent_s


def compute_longest_s(spec: RunSpec) -> float:
    """Seconds after which a run is taken to hang."""
    topo = spec.network()
    nodes = topo.num_hosts + topo.num_switches
    return spec.seconds + linger_s(spec) + PATIENCE_S + PATIENCE_PER_NODE_S * nodes
