"""Captures of runs, read without a library that might be wrong about the same thing."""

import struct


def read_packets(path):
    """(seconds, length on the wire, kept bytes) of each packet of a capture."""
    data = path.read_bytes()
    magic, _, _, _, _, snap, link = struct.unpack_from("=IHHiIII", data)
    assert (magic, link) == (0xA1B23C4D, 1)
    at = 24
    while at < len(data):
        seconds, nanoseconds, kept, length = struct.unpack_from("=IIII", data, at)
        assert kept == min(snap, length)
        yield seconds + nanoseconds * 1e-9, length, data[at + 16 : at + 16 + kept]
        at += 16 + kept
