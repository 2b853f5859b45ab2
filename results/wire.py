"""How much of what a link carries can reach a socket.

A full segment has 52 bytes of IP and TCP header (RFC 7323's timestamps among them) within the MTU, and 14 bytes of
Ethernet header around it: 1448 of 1514 bytes are payload. Those 1514 are what an emulated link limits and what its
counters count. A cable is busy for 24 bytes more: preamble, checksum and the gap between frames (IEEE 802.3).
"""

from __future__ import annotations

TCP_IP_HEADERS = 20 + 20 + 12
ETHERNET_HEADER = 14
CABLE_OVERHEAD = 8 + 4 + 12


def payload_share(mtu: int = 1500, *, cable: bool = False) -> float:
    """Payload per byte on the wire, of full segments: 0.956 at an MTU of 1500 bytes; on a ``cable`` 0.941."""
    frame = mtu + ETHERNET_HEADER + (CABLE_OVERHEAD if cable else 0)
    return (mtu - TCP_IP_HEADERS) / frame
