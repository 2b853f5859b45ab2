"""Asks the kernel whether it has a generic netlink family (Linux, Documentation/userspace-api/netlink/intro.rst)."""

from __future__ import annotations

import errno
import os
import socket
import struct

_NETLINK_GENERIC = 16
_ERROR, _CONTROL = 2, 16
"""Types of messages: NLMSG_ERROR, GENL_ID_CTRL."""
_REQUEST, _GET_FAMILY, _FAMILY_NAME = 1, 3, 2
"""NLM_F_REQUEST, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME."""
_HEADER = struct.Struct("=IHHII")
PATIENCE_S = 10.0
"""The kernel looks for a module of that family first, and loads it."""


def has_family(name: str) -> bool:
    """Whether the kernel has the family now, be it built in or in a module, which asking loads.

    OSError when the kernel does not answer.
    """
    text = name.encode() + b"\0"
    attribute = struct.pack("=HH", 4 + len(text), _FAMILY_NAME) + text + bytes(-len(text) % 4)
    body = struct.pack("=BBxx", _GET_FAMILY, 1) + attribute
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_GENERIC) as kernel:
        kernel.settimeout(PATIENCE_S)
        kernel.send(_HEADER.pack(_HEADER.size + len(body), _CONTROL, _REQUEST, 1, 0) + body)
        answer = kernel.recv(1 << 16)
    _, kind, _, _, _ = _HEADER.unpack_from(answer)
    if kind != _ERROR:
        return True
    (number,) = struct.unpack_from("=i", answer, _HEADER.size)
    if -number == errno.ENOENT:
        return False
    raise OSError(-number, os.strerror(-number))
