"""The protocol between a check and the process that runs a submission's code: typed messages with their lengths.

Arrays are sent as plain bytes. Answers are limited in size, and decoded against these types before they are used.
"""

from __future__ import annotations

import math
import re
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

MAX_SIZE = 1 << 20
"""The limit of an answer, bytes: 30 times the size for 8,192 flows, k = 32."""
LENGTH = 4
"""Bytes of the length before each message."""
_DIMENSIONS = 8
_SIMPLE = re.compile("[|<>=]?[biuf][1248]")  # numpy's names of plain numeric types


class Array(msgspec.Struct, frozen=True):
    """An array of plain numbers: numpy's name of the type, the shape, the bytes in C order."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


def pack(values: NDArray[Any]) -> Array:
    """An array, ready to be sent."""
    return Array(values.dtype.str, values.shape, np.ascontiguousarray(values).tobytes())


def unpack(array: Array) -> NDArray[Any]:
    """The array that was sent; ValueError if it does not have plain numbers."""
    if not _SIMPLE.fullmatch(array.dtype):
        raise ValueError("an array of something else than plain numbers")
    try:
        dtype = np.dtype(array.dtype)
    except TypeError:
        raise ValueError("an array of an unknown type") from None
    if len(array.shape) > _DIMENSIONS or not all(0 <= length <= MAX_SIZE for length in array.shape):
        raise ValueError("an array of an impossible shape")
    if math.prod(array.shape) * dtype.itemsize != len(array.data):
        raise ValueError("an array whose bytes are not those of its shape")
    copied: NDArray[Any] = np.frombuffer(array.data, dtype).reshape(array.shape).copy()
    return copied


class Load(msgspec.Struct, frozen=True, tag=True):
    """Run a file's text as a module, and take its ``attribute``."""

    file: str
    source: str
    attribute: str


class Make(msgspec.Struct, frozen=True, tag=True):
    """Make the class anew: a scheduler for a fat-tree of this k, its rng from this seed; or a control loop."""

    k: int
    seed: int = 1
    iterations: int = 1000
    loop_mbps: float = 0.0
    """Above 0: it is the control loop, on links of this rate."""


class Place(msgspec.Struct, frozen=True, tag=True):
    """One period of a scheduler, with the columns of `hedera.placement.LargeFlows`, while these links are down."""

    columns: dict[str, Array]
    down: tuple[int, ...] = ()


class Estimate(msgspec.Struct, frozen=True, tag=True):
    """The demands of flows."""

    src: Array
    dst: Array
    num_hosts: int


class Turn(msgspec.Struct, frozen=True, tag=True):
    """One period of a control loop: the counters of all flows, and the placement's answer."""

    columns: dict[str, Array]
    cores: dict[int, int]


Request: TypeAlias = Load | Make | Place | Estimate | Turn


class Answer(msgspec.Struct, frozen=True):
    """The answer to a request.

    ``arrays`` and ``numbers`` by name. ``touched``: the inputs that were written to. ``error``: the exception, and
    the ``line`` of the file (0: none of its lines). ``odd``: a description of an answer that is not an array of
    numbers.
    """

    arrays: dict[str, Array] = {}
    numbers: dict[str, float] = {}
    touched: tuple[str, ...] = ()
    error: str = ""
    line: int = 0
    odd: str = ""


encode = msgspec.msgpack.Encoder().encode
decode_request = msgspec.msgpack.Decoder(Request).decode
decode_answer = msgspec.msgpack.Decoder(Answer).decode
DecodeError = msgspec.MsgspecError
