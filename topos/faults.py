"""Links and switches that fail during a run, in the notation of ``--fail`` (Hedera section 4.6).

``link:A-B@SECONDS`` cuts the cable between two switches, ``switch:NAME@SECONDS`` all cables of one switch. With
``:UNTIL`` appended they work again from then on. Seconds count from the start of the traffic.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from topos.links import link_ends, links_between, links_of_switch
from topos.network import Network

_FORM = re.compile(r"(?P<kind>link|switch):(?P<what>[^@:]+)@(?P<at>[^@:]+)(:(?P<until>[^@:]+))?", re.DOTALL | re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
HOW = "a failure is link:A-B@SECONDS or switch:NAME@SECONDS, with :UNTIL appended if it is repaired"


@dataclass(frozen=True)
class Fault:
    """A cable (two ``ends``) or a switch (one) that is out of service from ``at`` until ``until``, seconds.

    ``until`` is infinity for what stays broken. Raises ValueError when it would end before it begins.
    """

    ends: tuple[str, ...]
    at: float
    until: float = math.inf

    def __post_init__(self) -> None:
        if not 0 <= self.at < self.until:
            raise ValueError(
                f"a failure must begin at 0 s or later, and end after it begins: {self.what} from {self.at:g} s "
                f"to {self.until:g} s does not"
            )

    @property
    def what(self) -> str:
        """``link:A-B`` or ``switch:NAME``."""
        return f"{'link' if len(self.ends) == 2 else 'switch'}:{'-'.join(self.ends)}"

    def links(self, tree: Network) -> frozenset[int]:
        """The directed links that it takes out of service, by the numbers of `topos.links`."""
        if len(self.ends) == 2:
            return frozenset(links_between(tree, *self.ends))
        return frozenset(links_of_switch(tree, self.ends[0]))


def parse(text: str, tree: Network, seconds: float) -> Fault:
    """One failure of a run of ``seconds`` on a fat-tree. Raises ValueError, one sentence, for any mistake: an unknown
    switch or cable, a cable to a host, a time outside the run."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{HOW}, not {_shown(text)}")
    ends = tuple(found["what"].split("-"))
    if len(ends) != (2 if found["kind"] == "link" else 1):
        raise ValueError(f"{HOW}, not {_shown(text)}")
    for name in ends:
        if name in tree and tree.layer(name) == "host":
            raise ValueError(f"{name} is a host; it has only one cable, which nothing can replace")
        if name not in tree:
            like = {tree.layer(one): one for one in reversed(tree.switches)}
            told = ", ".join(f"{like[layer]} ({layer})" for layer in ("edge", "aggregation", "core") if layer in like)
            raise ValueError(f"there is no switch {_shown(name)} in this network; its switches are named like {told}")
    times = [word for word in (found["at"], found["until"]) if word is not None]
    if not all(map(_NUMBER.fullmatch, times)):
        raise ValueError(f"{HOW}, and SECONDS a number, not {_shown(text)}")
    if not all(0 <= float(time) < seconds for time in times):
        raise ValueError(f"{_shown(text)} is outside the run, which lasts from 0 to {seconds:g} s")
    fault = Fault(ends, *map(float, times))
    try:
        fault.links(tree)
    except KeyError:
        raise ValueError(f"there is no cable between {ends[0]} and {ends[1]}") from None
    return fault


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def moments(faults: Iterable[Fault]) -> list[float]:
    """The times when something fails or works again, seconds, sorted and each once."""
    return sorted({t for fault in faults for t in (fault.at, fault.until) if t != math.inf})


def links_down(faults: Iterable[Fault], tree: Network, t: float) -> frozenset[int]:
    """The directed links out of service at a time. A failure counts at the time it begins, but not when it ends."""
    return frozenset().union(*(fault.links(tree) for fault in faults if fault.at <= t < fault.until))


def cables(network: Network, links: Iterable[int]) -> list[tuple[str, str]]:
    """The cables of directed links, as (node, node), each once, sorted."""
    return sorted({tuple(sorted(link_ends(network, link))) for link in links})  # type: ignore[misc]
