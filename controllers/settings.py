"""What a controller is told when it starts: the fields of an experiment that concern it, as flags; or RipL-POX's
arguments, so that its users' command lines go on working."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import msgspec

from hedera.experiment import Experiment
from hedera.parameter import narrowed, option_of, parameter, parameters_of

if TYPE_CHECKING:
    from hedera.placement import Placement

NEW_FLOWS = ("controller", "switch")
_RIPL_POX = {"hashed": "ecmp", "st": "spanning-tree", "random": "random"}
_MODES = ("reactive", "proactive", "hybrid")


@dataclass(frozen=True)
class Settings(Experiment):
    """Scheme and network of one controller, which sees what traffic comes, not what was asked for.

    ``scheme`` is what `hedera.schemes.scheme` is asked for, the user's own included, and the same name is what the
    log says.

    Raises ValueError, with one sentence, for bad values.
    """

    scheme: str = narrowed(Experiment, "scheme", "ecmp")
    traffic: str = ""
    interval_s: float = narrowed(Experiment, "interval_s", 2.0, above=None, least=0.02)
    link_mbps: float = narrowed(Experiment, "link_mbps", 10.0)
    new_flows: str = parameter(
        "controller",
        "Who gives a flow its first path: the controller, which gets its first packet, or the switch, by a hash.",
        choices=NEW_FLOWS,
        controller=True,
    )

    @classmethod
    def from_text(cls, given: Mapping[str, str]) -> Settings:
        """Settings from flags as they were typed. Raises ValueError for unknown flags and bad values."""
        names = {flag: name for name, flag in FLAGS.items()}
        for flag in given:
            if flag not in names:
                raise ValueError(f"{flag} is not a setting; there are {', '.join(names)}")
        return msgspec.convert({names[flag]: text for flag, text in given.items()}, cls, strict=False)

    def new_placement(self) -> Placement | None:
        """The scheme's placement, made anew; None for a static scheme."""
        return self.chosen.placement(self.topo, self.seed, self.options)


FLAGS = {
    name: option_of(name, known).lstrip("-").replace("-", "_")
    for name, known in parameters_of(Settings).items()
    if known.controller
}
"""The flags of a controller, the same on both platforms, by the fields they set."""


def flags_of(experiment: Experiment) -> dict[str, object]:
    values = asdict(experiment)
    return {flag: values[name] for name, flag in FLAGS.items() if values.get(name) is not None}


def from_ripl_pox(given: dict[str, str]) -> tuple[dict[str, str], str | None]:
    """Replace ``topo``, ``routing`` and ``mode`` by ``k`` and ``scheme``; also a sentence on what they became.

    Without any of the three, the arguments come back as they are, with None. As in RipL-POX, the routing is
    ``st`` and the mode ``reactive`` unless told. What the modes mean here: the rules on the way down are
    always there from the start and those on the way up always follow a flow's first packet, which is
    RipL-POX's ``hybrid``; ``reactive`` takes the same paths. ``proactive`` is refused except for ``st``:
    rules installed before a flow exists cannot depend on its ports, and hashing or drawing one path per pair
    of switches is another scheme under the same name.

    Raises ValueError, with one sentence, for values RipL-POX does not know or that contradict each other.
    """
    rest = {name: text for name, text in given.items() if name not in ("topo", "routing", "mode")}
    if len(rest) == len(given):
        return rest, None
    for name, known in (("routing", _RIPL_POX), ("mode", _MODES)):
        if name in given and given[name] not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, not {given[name]!r}")
    if "topo" in given:
        spelled = re.fullmatch("ft,([0-9]+)", str(given["topo"]))  # POX says True for a flag without a value
        if spelled is None:
            raise ValueError(f"topo must be ft,K as in ft,4, not {given['topo']!r}")
        if rest.setdefault("k", spelled[1]) != spelled[1]:
            raise ValueError(f"topo {given['topo']} and k {rest['k']} contradict each other")
    if "routing" in given and "scheme" in rest:
        raise ValueError("give routing (RipL-POX's word) or scheme, not both")
    scheme = rest.setdefault("scheme", _RIPL_POX[given.get("routing", "st")])
    if given.get("mode") == "proactive" and scheme != "spanning-tree":
        raise ValueError(
            f"mode proactive does not go with {scheme}: rules installed before a flow exists cannot "
            "depend on its ports; use hybrid or reactive"
        )
    return rest, (
        f"RipL-POX arguments: scheme {scheme}; rules down are installed at start, "
        "rules up with a flow's first packet (RipL-POX's hybrid mode)"
    )
