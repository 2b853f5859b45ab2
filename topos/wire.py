"""Bytes on the wire, and how many of them can reach a socket.

A full segment has 52 bytes of IP and TCP header (RFC 7323's timestamps among them) within the MTU, and 14 bytes of
Ethernet header around it: 1448 of 1514 bytes are payload (at an MTU of 1500). Every second segment is answered by
a bare acknowledgement, 66 bytes. Limits and counters of an emulated link count these 1514 bytes. On a real cable a
frame takes 24 bytes more: preamble, checksum and the gap between frames (IEEE 802.3).
"""

from __future__ import annotations

DEFAULT_MTU = 1500
"""Default size of a full packet in bytes, with its IP header (RFC 894)."""
ETHERNET_HEADER = 14
IP_HEADER = 20
TCP_HEADER = 20
TCP_IP_HEADERS = IP_HEADER + TCP_HEADER + 12
"""With the timestamps, which Linux sends with every segment."""
BARE_FRAME = ETHERNET_HEADER + TCP_IP_HEADERS
"""A segment without data."""
SYN_FRAME = BARE_FRAME + 8
"""A SYN offers the segment size, selective acknowledgements and the window's scale as well."""
CABLE_OVERHEAD = 8 + 4 + 12


def compute_payload_share(mtu: int = DEFAULT_MTU, *, cable: bool = False) -> float:
    """Payload per byte on the wire, of full segments: 0.956 at an MTU of 1500 bytes; on a ``cable`` 0.941."""
    frame = mtu + ETHERNET_HEADER + (CABLE_OVERHEAD if cable else 0)
    return (mtu - TCP_IP_HEADERS) / frame


def compute_wire_per_payload(mtu: int = DEFAULT_MTU) -> float:
    """Bytes on the wire per byte of payload; data frames only, all of them full."""
    return 1 / compute_payload_share(mtu)


def compute_acknowledgements_per_payload(mtu: int = DEFAULT_MTU) -> float:
    """Bytes of acknowledgements on the wire per byte of payload (RFC 5681: one for every two full segments)."""
    return BARE_FRAME / 2 / (mtu - TCP_IP_HEADERS)
