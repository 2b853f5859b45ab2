"""Links and switches that fail in the middle of a run, in the words of ``--fail`` (Hedera section 4.6).

``link:A-B@SECONDS`` cuts the cable between two switches, ``switch:NAME@SECONDS`` all cables of one; ``:UNTIL``
behind it mends them again. Seconds count from the start of the traffic.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from topos.fattree import FatTree
from topos.links import link_ends, links_between, links_of_switch
from topos.network import Network

_FORM = re.compile(
    r"(?P<kind>link|switch):(?P<what>[^@:]+)@(?P<at>[^@:]+)(:(?P<until>[^@:]+))?", re.DOTALL | re.ASCII
)
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
HOW = "a failure is link:A-B@SECONDS or switch:NAME@SECONDS, with :UNTIL behind it if it is mended"


@dataclass(frozen=True)
class Fault:
    """A cable (two ``ends``) or a switch (one) that is out of service from ``at`` until ``until``, seconds.

    ``until`` is infinity for what stays broken. Raises ValueError when it would end before it begins.
    """

    ends: tuple[str, ...]
    at: float
    until: float = math.inf

    def __post_init__(self) -> None:
        if not 0 < self.at < self.until:
            raise ValueError(
                f"a failure needs to begin after 0 s and before it ends: {self.what} from {self.at:g} s "
                f"to {self.until:g} s does not"
            )

    @property
    def what(self) -> str:
        """``link:A-B`` or ``switch:NAME``."""
        return f"{'link' if len(self.ends) == 2 else 'switch'}:{'-'.join(self.ends)}"

    def links(self, tree: FatTree) -> frozenset[int]:
        """The directed links that are out of service with it, by the numbers of `topos.links`."""
        if len(self.ends) == 2:
            return frozenset(links_between(tree, *self.ends))
        return frozenset(links_of_switch(tree, self.ends[0]))


def parse(text: str, tree: FatTree, seconds: float) -> Fault:
    """One failure of a run of ``seconds`` on a fat-tree. Raises ValueError, one sentence, for all that is wrong:
    an unknown switch or cable, a cable to a host, a time outside the run."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{HOW}, not {_shown(text)}")
    ends = tuple(found["what"].split("-"))
    if len(ends) != (2 if found["kind"] == "link" else 1):
        raise ValueError(f"{HOW}, not {_shown(text)}")
    for name in ends:
        if name in tree and tree.layer(name) == "host":
            raise ValueError(f"{name} is a host; its only cable has nothing to take its place")
        if name not in tree:
            raise ValueError(
                f"there is no switch {_shown(name)} in a k={tree.k} fat-tree; its switches are named like "
                f"{tree.edge_name(0, 0)} (edge), {tree.aggregation_name(0, 0)} (aggregation), "
                f"{tree.core_name(0)} (core)"
            )
    times = [_seconds(part, text) for part in (found["at"], found["until"]) if part is not None]
    for time in times:
        if not 0 < time < seconds:
            raise ValueError(f"{_shown(text)} is outside the run, which lasts from 0 to {seconds:g} s")
    fault = Fault(ends, *times)
    try:
        fault.links(tree)
    except KeyError:
        raise ValueError(f"no cable joins {ends[0]} and {ends[1]}") from None
    return fault


def _seconds(word: str, text: str) -> float:
    if not _NUMBER.fullmatch(word):
        raise ValueError(f"{HOW}, and SECONDS a number, not {_shown(text)}")
    return float(word)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def moments(faults: Iterable[Fault]) -> list[float]:
    """When something fails or is mended, seconds, in order and each once."""
    return sorted({t for fault in faults for t in (fault.at, fault.until) if t != math.inf})


def links_down(faults: Iterable[Fault], tree: FatTree, t: float) -> frozenset[int]:
    """The directed links out of service at a time; at the moment of a failure it counts, at its end no more."""
    return frozenset().union(*(fault.links(tree) for fault in faults if fault.at <= t < fault.until))


def cables(network: Network, links: Iterable[int]) -> list[tuple[str, str]]:
    """The cables that directed links belong to, as (node, node), each once, in order."""
    return sorted({tuple(sorted(link_ends(network, link))) for link in links})  # type: ignore[misc]


def parse_all(texts: Sequence[str], tree: FatTree, seconds: float) -> tuple[Fault, ...]:
    """`parse` for each of several."""
    return tuple(parse(text, tree, seconds) for text in texts)
