"""Protocol buffers on the wire, as far as traces need them: messages, their fields, whole numbers.

Nothing is copied, nothing is kept and nothing nests by itself, so bytes cost no more memory than they are.
Source: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_VARINT, _EIGHT_BYTES, _CONTENT, _FOUR_BYTES = 0, 1, 2, 5
_FIXED = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}
_MOST_BYTES = 10
"""Of a number of 64 bits, of which each byte has seven."""
_ALL_BITS = (1 << 64) - 1


class Malformed(ValueError):
    """Why bytes are no such messages: words that follow their name."""


class Field(NamedTuple):
    """A field of a message: a ``whole`` number below 2**64, ``content``, or neither, which is of no use here."""

    number: int
    whole: int | None
    content: memoryview | None

    def wholes(self) -> Iterator[int]:
        """The numbers of a repeated field, be they packed or not. Malformed for what has none."""
        if self.whole is not None:
            yield self.whole
            return
        data, at = self.bytes(), 0
        while at < len(data):
            value, at = _varint(data, at)
            yield value

    def one(self) -> int:
        """The number. Malformed for what is none."""
        if self.whole is None:
            raise Malformed(f"field {self.number} is no whole number")
        return self.whole

    def bytes(self) -> memoryview:
        """The content. Malformed for what has none."""
        if self.content is None:
            raise Malformed(f"field {self.number} has no content")
        return self.content


def messages(data: memoryview) -> Iterator[memoryview]:
    """Messages, each behind its length. Malformed where they end too early."""
    at = 0
    while at < len(data):
        size, at = _varint(data, at)
        yield _part(data, at, size)
        at += size


def fields(message: memoryview) -> Iterator[Field]:
    """The fields of a message, in their order. Malformed for what is none."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        whole, content = None, None
        if not 1 <= number < 1 << 29:
            raise Malformed(f"no field has the number {number}")
        if kind == _VARINT:
            whole, at = _varint(message, at)
        elif kind == _CONTENT:
            size, at = _varint(message, at)
            content = _part(message, at, size)
            at += size
        elif kind in _FIXED:
            at += len(_part(message, at, _FIXED[kind]))
        else:
            raise Malformed(f"field {number} is of a kind that there is not")
        yield Field(number, whole, content)


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """The number at a place, and where it ends."""
    value = 0
    for place, byte in enumerate(data[at : at + _MOST_BYTES]):
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value & _ALL_BITS, at + place + 1
    raise Malformed("it ends within a number, or one has more than 64 bits")


def _part(data: memoryview, at: int, size: int) -> memoryview:
    if size > len(data) - at:
        raise Malformed(f"it ends within a part of {size:,} bytes")
    return data[at : at + size]
