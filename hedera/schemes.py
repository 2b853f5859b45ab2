"""The schemes a run can use, by the names that commands and results spell them with.

To add one: a class with a method ``place`` (`hedera.placement.Placement`) in a file of its own, and a line in
``_ALL``. Classes of users need no line: their scheme is called FILE.py:CLASS or MODULE:CLASS.

Importing this module costs next to nothing: what a scheme needs is imported when it is built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from hedera.placement import Placement
    from hedera.routing import Routing
    from topos.fattree import FatTree

_PLACEMENT = 4  # keeps these draws apart from those of traffic.patterns, traffic.ports and the simulator


@dataclass(frozen=True)
class Options:
    """What placements may be told besides network and seed.

    ``iterations``: of annealing, in every round. ``shuffled``: Global First Fit goes by a random order.
    """

    iterations: int = 1000
    shuffled: bool = False


def _nothing(tree: FatTree, seed: int) -> None:
    return None


def _ecmp(tree: FatTree, seed: int) -> Routing:
    from hedera.routing import Ecmp

    return Ecmp(tree, seed)


def _ecmp_destination(tree: FatTree, seed: int) -> Routing:
    from hedera.routing import EcmpDestination

    return EcmpDestination(tree, seed)


def _spanning_tree(tree: FatTree, seed: int) -> Routing:
    from hedera.routing import SpanningTree

    return SpanningTree(tree)


def _random_path(tree: FatTree, seed: int) -> Routing:
    import numpy as np

    from hedera.routing import RandomPath

    return RandomPath(tree, np.random.default_rng(seed))


def _global_first_fit(tree: FatTree, rng: np.random.Generator, options: Options) -> Placement:
    from hedera.global_first_fit import GlobalFirstFit

    return GlobalFirstFit(tree, rng if options.shuffled else None)


def _simulated_annealing(tree: FatTree, rng: np.random.Generator, options: Options) -> Placement:
    from hedera.simulated_annealing import SimulatedAnnealing

    return SimulatedAnnealing(tree, rng, options.iterations)


def _flow_annealing(tree: FatTree, rng: np.random.Generator, options: Options) -> Placement:
    from hedera.flow_annealing import FlowAnnealing

    return FlowAnnealing(tree, rng, options.iterations)


def _clos_colouring(tree: FatTree, rng: np.random.Generator, options: Options) -> Placement:
    from hedera.clos import ClosColouring

    return ClosColouring(tree)


@dataclass(frozen=True)
class Scheme:
    """How paths are chosen.

    ``routing(tree, seed)`` builds the static routing of all flows; None where there is no choice of path.
    ``scheduler(tree, rng, options)`` builds the algorithm that re-places large flows; None for a static scheme.
    ``baseline``: is there to hold the others against, from below or above, and left out where all are asked for.
    ``nonblocking``: runs on the control network instead of the fat-tree. ``absolute``: the name that a process
    which stands in another folder has to use.
    """

    name: str
    summary: str
    routing: Callable[[FatTree, int], Routing | None]
    scheduler: Callable[[FatTree, np.random.Generator, Options], Placement] | None = None
    baseline: bool = False
    nonblocking: bool = False
    absolute: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "absolute", self.absolute or self.name)

    def placement(self, tree: FatTree, seed: int, options: Options | None = None) -> Placement | None:
        """The algorithm that re-places large flows, its draws fixed by ``seed`` alone; None for a static scheme."""
        import numpy as np

        if self.scheduler is None:
            return None
        return self.scheduler(tree, np.random.default_rng((seed, _PLACEMENT)), options or Options())


_ALL = (
    Scheme("nonblocking", "all hosts on one switch, the control", _nothing, nonblocking=True),
    Scheme("ecmp", "every switch hashes the flow's 5-tuple", _ecmp),
    Scheme("ecmp-dst", "every switch hashes the destination address", _ecmp_destination),
    Scheme("spanning-tree", "all flows by way of one core", _spanning_tree),
    Scheme("random", "a random path for each flow", _random_path),
    Scheme("hedera-gff", "Hedera with Global First Fit", _ecmp, _global_first_fit),
    Scheme("hedera-sa", "Hedera with Simulated Annealing", _ecmp, _simulated_annealing),
    Scheme(
        "hedera-flow-sa",
        "annealing with a core per flow (section 4.4)",
        _ecmp,
        _flow_annealing,
        baseline=True,
    ),
    Scheme(
        "hedera-clos",
        "Hedera with an edge colouring, optimal for flows of one size",
        _ecmp,
        _clos_colouring,
        baseline=True,
    ),
)

SCHEMES: dict[str, Scheme] = {scheme.name: scheme for scheme in _ALL}
"""All that have a name here."""


def scheme(name: str) -> Scheme:
    """The scheme of that name, or the user's own that it spells.

    Raises ValueError, one sentence, when there is none, listing the names, or when the user's cannot be had.
    """
    if name in SCHEMES:
        return SCHEMES[name]
    from hedera.own_scheme import SPELLING, from_anywhere, own_scheduler

    if ":" not in name:
        names = ", ".join(SCHEMES)
        raise ValueError(f"there is no scheme {name!r}; the schemes are {names}, and {SPELLING} for your own")
    own = own_scheduler(name)
    return Scheme(name, "a scheduler of the user's own", _ecmp, own, absolute=from_anywhere(name))
