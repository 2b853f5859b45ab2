"""What a controller is told when it starts: the fields of a run that concern it, as flags; or RipL-POX's arguments, so
that its users' command lines go on working."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from record.spec import RunSpec, list_options

if TYPE_CHECKING:
    from hedera.placement import Placement
    from hedera.routing import Routing

FIELDS = (
    "scheme k seed interval_s link_mbps threshold large_flows iterations topology oversubscribe new_flows ack_paths"
)
FLAGS = {name: list_options(RunSpec)[name].in_python for name in FIELDS.split()}
"""The flags of a controller, the same on both platforms, by the fields they set."""
UNTOLD = {"scheme": "ecmp", "traffic": "unknown", "new_flows": "controller"}
"""What a controller takes that is started by hand. Of the traffic it sees what comes, not what was asked for."""
_RIPL_POX = {"hashed": "ecmp", "st": "spanning-tree", "random": "random"}
_MODES = ("reactive", "proactive", "hybrid")


def parse_settings(arguments: Mapping[str, str]) -> RunSpec:
    """Settings from flags as they were typed. Raises ValueError, one sentence, for unknown flags and bad values."""
    names = {flag: name for name, flag in FLAGS.items()}
    values: dict[str, object] = dict(UNTOLD)
    for flag, text in arguments.items():
        if flag not in names:
            raise ValueError(f"{flag} is not a setting; there are {', '.join(names)}")
        value = list_options(RunSpec)[names[flag]].checked(text, strict=False)
        # What `auto` means is settled by a run's traffic, and a controller that is started by hand knows of none.
        if value != "auto":
            values[names[flag]] = value
    return RunSpec(**values)  # type: ignore[arg-type]


def make_flags(spec: RunSpec) -> dict[str, object]:
    values = {flag: getattr(spec, name) for name, flag in FLAGS.items()}
    return {flag: value for flag, value in values.items() if value is not None}


def make_placement(spec: RunSpec, routing: Routing | None = None) -> Placement | None:
    """The scheme's placement, made anew but for a user's object that ``routing`` has; None for a static scheme."""
    return spec.chosen.placement(spec.topo, spec.seed, spec.options, routing)


def from_ripl_pox(arguments: dict[str, str]) -> tuple[dict[str, str], str | None]:
    """Replace ``topo``, ``routing`` and ``mode`` by ``k`` and ``scheme``; also a sentence on what they became.

    Without any of the three, the arguments come back as they are, with None. As in RipL-POX, the routing is
    ``st`` and the mode ``reactive`` unless told. What the modes mean here: the rules on the way down are
    always there from the start and those on the way up always follow a flow's first packet, which is
    RipL-POX's ``hybrid``; ``reactive`` takes the same paths. ``proactive`` is refused except for ``st``:
    rules installed before a flow exists cannot depend on its ports, and hashing or drawing one path per pair
    of switches is another scheme under the same name.

    Raises ValueError, with one sentence, for values RipL-POX does not know or that contradict each other.
    """
    rest = {name: text for name, text in arguments.items() if name not in ("topo", "routing", "mode")}
    if len(rest) == len(arguments):
        return rest, None
    for name, known in (("routing", _RIPL_POX), ("mode", _MODES)):
        if name in arguments and arguments[name] not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, not {arguments[name]!r}")
    if "topo" in arguments:
        spelled = re.fullmatch("ft,([0-9]+)", str(arguments["topo"]))  # POX says True for a flag without a value
        if spelled is None:
            raise ValueError(f"topo must be ft,K as in ft,4, not {arguments['topo']!r}")
        if rest.setdefault("k", spelled[1]) != spelled[1]:
            raise ValueError(f"topo {arguments['topo']} and k {rest['k']} contradict each other")
    if "routing" in arguments and "scheme" in rest:
        raise ValueError("give routing (RipL-POX's word) or scheme, not both")
    scheme = rest.setdefault("scheme", _RIPL_POX[arguments.get("routing", "st")])
    if arguments.get("mode") == "proactive" and scheme != "spanning-tree":
        raise ValueError(
            f"mode proactive does not go with {scheme}: rules installed before a flow exists cannot "
            "depend on its ports; use hybrid or reactive"
        )
    return rest, (
        f"RipL-POX arguments: scheme {scheme}; rules down are installed at start, "
        "rules up with a flow's first packet (RipL-POX's hybrid mode)"
    )
