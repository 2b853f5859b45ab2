"""The hashes by which switches can choose a flow's first path, by their names in commands and results.

Those without a salt of the switch's own are the same on every switch: two tiers then choose alike, and flows use k/2 of
a fat-tree's (k/2)^2 cores. `hedera.hash_functions` computes them, and is imported by what does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

FIELDS = {
    "5-tuple": "addresses, ports and protocol",
    "addresses": "both addresses",
    "destination": "the destination's address",
    "edge-pair": "the addresses of both edge switches",
}
"""What a switch can hash of a flow."""


@dataclass(frozen=True)
class HashFunction:
    """How a switch hashes. ``fields``: of FIELDS, those that it can. ``salted``: each switch has a salt of its own; two
    tiers of switches without one choose alike. ``learned``: of the fields, those that Open vSwitch can hash when it
    gives new flows their paths itself."""

    summary: str
    fields: tuple[str, ...] = tuple(FIELDS)
    salted: bool = False
    learned: tuple[str, ...] = ()


_LAYERS = ("5-tuple", "addresses")
_LEARNED = ("5-tuple", "destination")
HASHES = {
    "salted": HashFunction("a mixing hash with a salt for each switch", salted=True, learned=_LEARNED),
    "unsalted": HashFunction("the same without: one for all switches, which the seed draws", learned=_LEARNED),
    "crc16": HashFunction("CRC-16 (ARC)"),
    "crc32": HashFunction("CRC-32 (Ethernet's)"),
    "xor": HashFunction("all bytes XORed into one"),
    "toeplitz": HashFunction("Toeplitz, with the key of Microsoft's examples"),
    "linux": HashFunction("Linux's routes, layer 4 or 3, with a key for each switch", _LAYERS, salted=True),
    "ovs": HashFunction("Open vSwitch's symmetric L4", ("5-tuple",), learned=("5-tuple",)),
}
"""By name; FUNCTIONS has the functions."""
HASH_SPELLING = "FUNCTION:FIELDS"


@dataclass(frozen=True)
class Hash:
    """What switches choose a flow's path by: a function of HASHES, of fields of FIELDS. ValueError, one sentence, for
    one that there is not."""

    function: str
    fields: str

    def __post_init__(self) -> None:
        if self.function not in HASHES:
            raise ValueError(
                f"there is no hash {str(self)!r}: a hash is {HASH_SPELLING}, a function of {_join_names(HASHES)}"
            )
        able = HASHES[self.function].fields
        if self.fields not in able:
            raise ValueError(f"there is no hash {str(self)!r}: {self.function} is of {_join_names(able)}")

    def __str__(self) -> str:
        return f"{self.function}:{self.fields}"

    @property
    def salted(self) -> bool:
        return HASHES[self.function].salted

    @property
    def learned(self) -> bool:
        """Whether Open vSwitch can choose by these fields itself (`controllers.rules.LearnRules`)."""
        return self.fields in HASHES[self.function].learned


def _join_names(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def parse_hash(text: str) -> Hash:
    """The hash that is spelled ``FUNCTION:FIELDS``; ValueError, one sentence, if there is none."""
    function, _, fields = text.partition(":")
    return Hash(function, fields)


SALTED = Hash("salted", "5-tuple")
