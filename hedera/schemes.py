"""The schemes a run can use, by the names that commands and results spell them with.

Importing this module costs next to nothing: what a scheme needs is imported when it is built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hedera.placement import Placement
    from hedera.routing import Routing
    from topos.fattree import FatTree


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


def _global_first_fit(tree: FatTree, seed: int) -> Placement:
    from hedera.global_first_fit import GlobalFirstFit

    return GlobalFirstFit(tree)


def _simulated_annealing(tree: FatTree, seed: int) -> Placement:
    import numpy as np

    from hedera.simulated_annealing import SimulatedAnnealing

    return SimulatedAnnealing(tree, np.random.default_rng(seed))


def _nothing(tree: FatTree, seed: int) -> None:
    return None


@dataclass(frozen=True)
class Scheme:
    """How paths are chosen.

    ``routing(tree, seed)`` builds the static routing of all flows, None where there is no choice of path;
    ``placement(tree, seed)`` builds the algorithm that re-places large flows, None for a static scheme.
    """

    name: str
    summary: str
    routing: Callable[[FatTree, int], Routing | None]
    placement: Callable[[FatTree, int], Placement | None] = _nothing
    nonblocking: bool = False


_ALL = (
    Scheme("nonblocking", "all hosts on one switch, the control", _nothing, nonblocking=True),
    Scheme("ecmp", "every switch hashes the flow's 5-tuple", _ecmp),
    Scheme("ecmp-dst", "every switch hashes the destination address", _ecmp_destination),
    Scheme("spanning-tree", "all flows by way of one core", _spanning_tree),
    Scheme("random", "a random path for each flow", _random_path),
    Scheme("hedera-gff", "Hedera with Global First Fit", _ecmp, _global_first_fit),
    Scheme("hedera-sa", "Hedera with Simulated Annealing", _ecmp, _simulated_annealing),
)

SCHEMES: dict[str, Scheme] = {scheme.name: scheme for scheme in _ALL}


def scheme(name: str) -> Scheme:
    """The scheme of that name; ValueError, listing the names, when there is none."""
    if name not in SCHEMES:
        raise ValueError(f"there is no scheme {name!r}; the schemes are {', '.join(SCHEMES)}")
    return SCHEMES[name]
