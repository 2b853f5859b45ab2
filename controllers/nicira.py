"""Nicira's actions for OpenFlow 1.0, as bytes: what Open vSwitch needs to spread new flows by itself.

Platforms know these actions in part, each in a way of its own; the bytes are the same for all of them.
Layouts as in Open vSwitch's ``include/openflow/nicira-ext.h`` and ovs-actions(7).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from controllers.driver import LearnAction
from controllers.packet import IPV4, TCP, UDP

VENDOR = 0x2320
_ACTION = 0xFFFF  # OFPAT_VENDOR
_REG_LOAD, _BUNDLE_LOAD, _OUTPUT_REG, _LEARN = 7, 13, 15, 16
_HIGHEST_RANDOM_WEIGHT = 1
_REGISTER = 1 << 16 | 1 << 9 | 4  # NXM_NX_REG1: where the chosen port is kept
_PORT_BITS = 16
_IN_PORT = 0 << 9 | 2  # NXM_OF_IN_PORT: what the members of a bundle are, ports
_ETH_TYPE, _IP_PROTO, _IP_SRC, _IP_DST = 3 << 9 | 2, 6 << 9 | 1, 7 << 9 | 4, 8 << 9 | 4
_PORTS = {TCP: (9 << 9 | 2, 10 << 9 | 2), UDP: (11 << 9 | 2, 12 << 9 | 2)}
_IMMEDIATE, _TO_OUTPUT = 1 << 13, 2 << 11

_BY_FIVE_TUPLE, _BY_DESTINATION = 3, 5
"""What is hashed: NX_HASH_FIELDS_SYMMETRIC_L3L4_UDP (both directions of a flow alike), NX_HASH_FIELDS_NW_DST."""


def actions(learn: LearnAction) -> bytes:
    fields = _BY_DESTINATION if learn.by_destination else _BY_FIVE_TUPLE
    return (
        _choose(learn.ports, fields, learn.basis)
        + _learn(learn.protocol, learn.priority, learn.cookie, learn.idle_timeout)
        + _output()
    )


def _choose(ports: Sequence[int], fields: int, basis: int) -> bytes:
    """Put one of ``ports`` into the register: the only one, or by a hash of ``fields`` with a 16-bit ``basis``.

    By highest random weight (Thaler and Ravishankar, 1998) among the ports that are up: when one fails, only its
    flows go elsewhere.
    """
    offset_and_bits = _PORT_BITS - 1
    if len(ports) == 1:
        return _action(_REG_LOAD, struct.pack("!HIQ", offset_and_bits, _REGISTER, ports[0]))
    head = struct.pack(
        "!HHHIHHI4x", _HIGHEST_RANDOM_WEIGHT, fields, basis, _IN_PORT, len(ports), offset_and_bits, _REGISTER
    )
    return _action(_BUNDLE_LOAD, head + struct.pack(f"!{len(ports)}H", *ports))


def _learn(protocol: int, priority: int, cookie: int, idle_timeout: int) -> bytes:
    """Add an entry for the packet's 5-tuple, of TCP or UDP, that sends to the port in the register."""
    head = struct.pack("!HHHQHBxHH", idle_timeout, 0, priority, cookie, 0, 0, 0, 0)
    match = _constant(_ETH_TYPE, 16, IPV4) + _constant(_IP_PROTO, 8, protocol)
    match += _copied(_IP_SRC, 32) + _copied(_IP_DST, 32)
    for field in _PORTS[protocol]:
        match += _copied(field, 16)
    output = struct.pack("!HIH", _TO_OUTPUT | _PORT_BITS, _REGISTER, 0)
    return _action(_LEARN, head + match + output)


def _output() -> bytes:
    return _action(_OUTPUT_REG, struct.pack("!HIH6x", _PORT_BITS - 1, _REGISTER, 0))


def _action(subtype: int, body: bytes) -> bytes:
    length = -(-(10 + len(body)) // 8) * 8
    return struct.pack("!HHIH", _ACTION, length, VENDOR, subtype) + body.ljust(length - 10, b"\0")


def _constant(field: int, bits: int, value: int) -> bytes:
    """Part of `_learn`: match a constant, in whole 16-bit words."""
    return struct.pack("!HHIH", _IMMEDIATE | bits, value, field, 0)


def _copied(field: int, bits: int) -> bytes:
    """Part of `_learn`: match what the packet has in a field."""
    return struct.pack("!HIHIH", bits, field, 0, field, 0)
