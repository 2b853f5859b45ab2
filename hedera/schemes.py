"""The schemes a run can use, by their names in commands and results.

To add one: a class with a method ``place`` (`hedera.placement.Placement`) in a file of its own, and a line in
``_ALL``. Users' own classes need no line: such a scheme is called FILE.py:CLASS.

What a scheme needs is imported when the scheme is built.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedera.hashes import SALTED, Hash, parse_hash

if TYPE_CHECKING:
    import numpy as np

    from hedera.placement import Placement
    from hedera.routing import Routing
    from topos.network import Network


@dataclass(frozen=True)
class Options:
    """Options of placements, besides network and seed. ``iterations``: of annealing, in every round."""

    iterations: int = 1000


@dataclass(frozen=True)
class _Hashed:
    """Builds ECMP by a hash, of `hedera.routing`, which is imported then."""

    hash: Hash = SALTED

    def __call__(self, tree: Network, seed: int, options: Options | None = None) -> Routing:
        from hedera.routing import Ecmp

        return Ecmp(tree, seed, hash=self.hash)


def _make_static(name: str) -> Callable[..., Routing]:
    """A class of `hedera.routing`, imported when it is built."""

    def build(tree: Network, seed: int, options: Options | None = None) -> Routing:
        made: Routing = getattr(import_module("hedera.routing"), name)(tree, seed)
        return made

    return build


def _make_placement(
    place: str, *wanted: str, elsewhere: str = ""
) -> Callable[[Network, np.random.Generator, Options], Placement]:
    """A class of hedera/, imported when it is built, of the tree and what it wants: rng, iterations. ``elsewhere``: the
    one for networks that are no fat-tree."""

    def build(tree: Network, rng: np.random.Generator, options: Options) -> Placement:
        from topos.fattree import FatTree

        module, name = (place if isinstance(tree, FatTree) else elsewhere or place).split(":")
        available = {"rng": rng, "iterations": options.iterations}
        made: Placement = getattr(import_module(module), name)(tree, *(available[argument] for argument in wanted))
        return made

    return build


_ecmp = _Hashed()


@dataclass(frozen=True)
class Scheme:
    """How paths are chosen.

    ``routing(tree, seed, options)`` builds the static routing of all flows; None
    if there is no choice of path. ``scheduler(tree, rng, options)`` builds the algorithm that re-places large flows;
    None for a static scheme. ``hidden``: left out of "all" schemes. ``nonblocking``: runs on
    the control network instead of the fat-tree. ``clos``: a fat-tree whose links all have one rate is all it knows.
    ``absolute``: its name for a process with another current folder.

    ``own``: its routing is the user's, which no switch can do. ``fixed``: its hash is a part of it, and ``--hash``
    gives no other.
    ``subflows``: into how many each flow of a collective is split, with a connection for each. For the simulator
    only: ``plans``: the flows of a collective are placed before they start, step by step, from its graph.

    ``gap_us``: a flow's packet may take another path where the one before it came so many microseconds ago or earlier
    (letflow's flowlets; 0: every packet, in the simulator in equal parts by all shortest paths); None: no flow's does.
    """

    name: str
    summary: str
    routing: Callable[..., Routing | None]
    scheduler: Callable[[Network, np.random.Generator, Options], Placement] | None = None
    hidden: bool = False
    nonblocking: bool = False
    clos: bool = False
    absolute: str = ""
    gap_us: int | None = None
    plans: bool = False
    subflows: int = 1
    own: bool = False
    fixed: bool = False

    @property
    def hash(self) -> Hash | None:
        """By which flows get their first path; None: by none."""
        if isinstance(self.routing, _Hashed) and self.gap_us is None and not self.plans:
            return self.routing.hash
        return None

    @property
    def sprays(self) -> bool:
        return self.gap_us == 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "absolute", self.absolute or self.name)

    def placement(
        self, tree: Network, seed: int, options: Options | None = None, routing: Routing | None = None
    ) -> Placement | None:
        """The algorithm that re-places large flows, its draws fixed by ``seed`` alone; None for a static scheme.
        ``routing``: the run's, for a user's object that routes and places."""
        from hedera.placement import OwnPlacement
        from hedera.routing import OwnRouting
        from traffic.flows import Stream, make_generator

        if self.scheduler is None:
            return None
        if isinstance(routing, OwnRouting):
            return OwnPlacement(f"scheme {self.name!r}", routing.made)
        return self.scheduler(tree, make_generator(seed, Stream.PLACEMENT), options or Options())


_ALL = (
    Scheme("nonblocking", "the control: all hosts on one switch", lambda *_: None, nonblocking=True),
    Scheme("ecmp", "every switch hashes the flow's 5-tuple", _ecmp),
    Scheme(
        "ecmp-dst", "every switch hashes the destination address", _Hashed(Hash("salted", "destination")), fixed=True,
    ),
    Scheme("spanning-tree", "all flows by way of one core", _make_static("SpanningTree")),
    Scheme(
        "ecmp-edge-pair", "every switch hashes the pair of edge switches, as some replications did",
        _Hashed(Hash("salted", "edge-pair")), fixed=True, hidden=True,
    ),
    Scheme(
        "ecmp-polarized", "all switches have one hash of the 5-tuple: both tiers choose alike",
        _Hashed(Hash("unsalted", "5-tuple")), hidden=True,
    ),
    Scheme("random", "a random path for each flow", _make_static("RandomPath")),
    Scheme(
        "hedera-gff", "Hedera with Global First Fit", _ecmp, _make_placement("hedera.global_first_fit:GlobalFirstFit")
    ),
    Scheme(
        "hedera-sa", "Hedera with Simulated Annealing", _ecmp,
        _make_placement(
            "hedera.simulated_annealing:SimulatedAnnealing", "rng", "iterations",
            elsewhere="hedera.simulated_annealing:FlowAnnealing",
        ),
    ),
    Scheme(
        "hedera-clos", "Hedera with an edge colouring, optimal for flows of one size", _ecmp,
        _make_placement("hedera.clos:ClosColouring"), hidden=True, clos=True,
    ),
    Scheme(
        "hedera-flow-sa", "annealing with a core per flow (section 4.4)", _ecmp,
        _make_placement("hedera.simulated_annealing:FlowAnnealing", "rng", "iterations"), hidden=True,
    ),
    Scheme("spray", "every packet by a path of its own (emulated: in virtual time)", _ecmp, hidden=True, gap_us=0),
    Scheme(
        "planned", "each step of a collective edge-coloured before it starts (simulator only)", _ecmp,
        hidden=True, plans=True, clos=True,
    ),
)  # fmt: skip

SCHEMES: dict[str, Scheme] = {scheme.name: scheme for scheme in _ALL}
"""All that have a name here."""

SPELLING = "FILE.py:CLASS"
SUBFLOWS = "SCHEME-xN"
"""Spelling of a scheme with N sub-flows for each flow of a collective."""
MAX_SUBFLOWS = 64
FLOWLETS = "flowlet:GAP_US"
"""Spelling of a scheme that draws anew after gaps of so many microseconds in a flow."""
MAX_GAP_US = (1 << 24) - 1
"""What the kernel's mark has room for."""

POLARIZED = "ecmp-polarized"
HASHED = "SCHEME@FUNCTION:FIELDS"
"""Spelling of a scheme with another hash."""
_BY_HASH = re.compile(r"(.+)@([a-z0-9]+:[a-z0-9-]+)", re.ASCII)

CONTROL = next(scheme.name for scheme in _ALL if scheme.nonblocking)
"""The scheme of the control runs, to which all others are compared."""


def with_hash(name: str, hash: str | None, others: bool = False) -> str:
    """The name of a scheme whose flows get their first paths by a hash: ``ecmp@crc32:5-tuple``; itself where none is
    given, and with ``others`` where it can have none. ValueError, one sentence, where it cannot, or there is none."""
    if hash is None:
        return name
    base, wanted_hash = find_scheme(name), parse_hash(hash)
    if others and (base.hash is None or base.fixed or "@" in name):
        return name
    replace_hash(base, wanted_hash)
    return f"{name}@{hash}"


def replace_hash(base: Scheme, hash: Hash) -> Scheme:
    """A scheme whose flows get their first paths by another hash; ValueError, one sentence, where it can have none."""
    if base.hash is None or base.fixed or "@" in base.name:
        why = "has a hash of its own" if base.hash else "chooses no path by a hash"
        raise ValueError(f"--hash is for ecmp, ecmp-polarized and Hedera: scheme {base.name!r} {why}")
    if base.name == POLARIZED and hash.salted:
        raise ValueError(f"scheme {base.name!r} has one hash for all switches, and {hash} has a salt for each")
    name = f"{base.name}@{hash}"
    summary = f"{base.summary.partition(':')[0]}, first paths by {hash}"
    return replace(
        base, name=name, absolute=f"{base.absolute}@{hash}", summary=summary, routing=_Hashed(hash), hidden=True
    )


def find_hash(name: str) -> Hash | None:
    """The hash that gives flows their first paths under a scheme, by its name alone: that of a user's own, whose class
    may route by itself, is known only where the name says it."""
    if by := _BY_HASH.fullmatch(name):
        return parse_hash(by[2])
    return find_scheme(name).hash if find_file(name) is None else None


def _split(base: Scheme, name: str, subflows: int) -> Scheme:
    if base.nonblocking or base.gap_us is not None or not 2 <= subflows <= MAX_SUBFLOWS:
        raise ValueError(
            f"there is no scheme {name!r}: from 2 to {MAX_SUBFLOWS} sub-flows, of a scheme that chooses one path"
        )
    return replace(base, name=name, absolute=name, hidden=True, subflows=subflows)


def find_scheme(name: str) -> Scheme:
    """The scheme of that name, built-in or the user's own.

    Raises ValueError, one sentence, if there is none (listing the names), or if the user's own cannot be imported.
    """
    if name in SCHEMES:
        return SCHEMES[name]
    if by := _BY_HASH.fullmatch(name):
        return replace_hash(find_scheme(by[1]), parse_hash(by[2]))
    if (split := re.fullmatch(r"(.+)-x([1-9][0-9]?)", name)) and split[1] in SCHEMES:
        return _split(SCHEMES[split[1]], name, int(split[2]))
    if (gap := re.fullmatch("flowlet:([0-9]{1,8})", name, re.ASCII)) and int(gap[1]) <= MAX_GAP_US:
        return Scheme(name, "every flowlet by a path of its own", _ecmp, hidden=True, gap_us=int(gap[1]))
    path = find_file(name)
    if path is None:
        from traffic.user_files import suggest_nearest

        if name.endswith(".py"):
            raise ValueError(f"there is no scheme {name!r}: name the class in the file as well, {SPELLING}")
        names = ", ".join(SCHEMES)
        raise ValueError(
            f"there is no scheme {name!r}{suggest_nearest(name, SCHEMES)}; the schemes are {names}, {FLOWLETS} "
            f"(to {MAX_GAP_US}), {HASHED}, and {SPELLING} for your own"
        )
    absolute = f"{path.resolve()}:{name.rpartition(':')[2]}"
    cls = _load_own_class(name, path)
    subject = f"scheme {name!r}"

    def make(*arguments: object) -> Any:
        from traffic.user_files import running_own_code

        with running_own_code(subject):
            return cls(*arguments)

    def make_scheduler(*arguments: object) -> Placement:
        from hedera.placement import OwnPlacement

        return OwnPlacement(subject, make(*arguments))

    def make_routing(tree: Network, seed: int, options: Options | None = None) -> Routing:
        from hedera.routing import OwnRouting
        from traffic.flows import Stream, make_generator

        return OwnRouting(subject, make(tree, make_generator(seed, Stream.PLACEMENT), options or Options()), tree)

    routes, places = hasattr(cls, "route"), hasattr(cls, "place")
    return Scheme(
        name,
        f"a {'routing' if routes else 'scheduler'} of the user's own",
        make_routing if routes else _ecmp,
        make_scheduler if places else None,
        absolute=absolute,
        own=routes,
    )


def find_file(name: str) -> Path | None:
    """The file in the name of a user's own scheme; None for any other name."""
    file = (by[1] if (by := _BY_HASH.fullmatch(name)) else name).rpartition(":")[0]
    return Path(file) if file.endswith(".py") else None


def _load_own_class(name: str, path: Path) -> type:
    """The user's class, made from a tree, an rng and options, with a method ``place`` (`hedera.placement.Placement`)
    or ``route`` (`hedera.routing.OwnRouting`), or with both.

    It is imported in the user's process and in the controller; a job carries its file, and whoever carries out the
    job does not import it (`traffic.user_files.believe_only`).
    """
    from traffic.user_files import load_own_code, reads_only_job_files

    if reads_only_job_files():
        return _Elsewhere
    subject, attribute = f"scheme {name!r}", name.rpartition(":")[2]
    cls = load_own_code(subject, path, attribute)
    methods = [method for method in ("place", "route") if callable(getattr(cls, method, None))]
    if not isinstance(cls, type) or not methods:
        reason = "not a class with a method place or route"
        raise ValueError(f"{subject}: {attribute or 'an empty name'} is {reason} in {path}")
    try:
        inspect.signature(cls).bind(None, None, None)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{subject}: {attribute} cannot be made from (tree, rng, options): {error}") from None
    return cls


class _Elsewhere:
    """In place of a user's scheduler in a process that carries out jobs: the controller, another one, runs it."""

    def __init__(self, *_: object) -> None:
        raise ValueError("a user's scheduler runs in the controller alone")

    def place(self) -> None: ...
