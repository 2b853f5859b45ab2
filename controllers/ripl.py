"""RipL-POX's arguments, in this controller's terms, so that its users' command lines go on working."""

from __future__ import annotations

_SCHEMES = {"hashed": "ecmp", "st": "spanning-tree", "random": "random"}
_MODES = ("reactive", "proactive", "hybrid")


def translate(given: dict[str, str]) -> tuple[dict[str, str], str | None]:
    """Replace ``topo``, ``routing`` and ``mode`` by ``k`` and ``scheme``; also a sentence on what they became.

    Without any of the three, the arguments come back as they are, with None. As in RipL-POX, the routing is
    ``st`` and the mode ``reactive`` unless told. What the modes mean here: the rules on the way down are
    always there from the start and those on the way up always follow a flow's first packet, which is
    RipL-POX's ``hybrid``; ``reactive`` takes the same paths. ``proactive`` is refused except for ``st``:
    rules installed before a flow exists cannot depend on its ports, and hashing or drawing one path per pair
    of switches is another scheme under the same name.

    Raises ValueError, with one sentence, for values RipL-POX does not know or that contradict each other.
    """
    for name in ("topo", "routing", "mode"):
        if not isinstance(given.get(name, ""), str):  # POX says True for a flag without a value
            raise ValueError(f"{name} needs a value")
    rest = dict(given)
    topo, routing, mode = rest.pop("topo", None), rest.pop("routing", None), rest.pop("mode", None)
    if (topo, routing, mode) == (None, None, None):
        return rest, None
    if topo is not None:
        name, _, k = topo.partition(",")
        if name != "ft" or not k.isdecimal():
            raise ValueError(f"topo must be ft,K as in ft,4, not {topo!r}")
        if rest.setdefault("k", k) != k:
            raise ValueError(f"topo {topo} and k {rest['k']} contradict each other")
    if routing is not None and "scheme" in rest:
        raise ValueError("give routing (RipL-POX's word) or scheme, not both")
    if routing is None and "scheme" not in rest:
        routing = "st"
    if routing is not None:
        if routing not in _SCHEMES:
            raise ValueError(f"routing must be one of {', '.join(_SCHEMES)}, not {routing!r}")
        rest["scheme"] = _SCHEMES[routing]
    if mode is not None and mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(_MODES)}, not {mode!r}")
    if mode == "proactive" and rest["scheme"] != "spanning-tree":
        raise ValueError(
            f"mode proactive does not go with {rest['scheme']}: rules installed before a flow exists cannot "
            "depend on its ports; use hybrid or reactive"
        )
    return rest, (
        f"RipL-POX arguments: scheme {rest['scheme']}; rules down are installed at start, "
        "rules up with a flow's first packet (RipL-POX's hybrid mode)"
    )
