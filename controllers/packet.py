"""The few frames a controller has to read and write: IPv4 5-tuples in, ARP replies out."""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

from topos.wire import ETHERNET_HEADER, IP_HEADER

IPV4, ARP = 0x0800, 0x0806
ICMP, TCP, UDP = 1, 6, 17

_ARP_FIXED = struct.pack("!HHBB", 1, IPV4, 6, 4)  # Ethernet and IPv4, with their address lengths
_ARP_REQUEST, _ARP_REPLY = 1, 2


class FiveTuple(NamedTuple):
    """What identifies a flow. For ICMP the ports are type and code, as OpenFlow 1.0 has it (section 5.2.3).

    Addresses are dotted strings. Ports are 0 for other protocols and for every fragment: that is what
    Open vSwitch matches a fragment with.
    """

    protocol: int
    src_ip: str
    dst_ip: str
    src_port: int
    dst_port: int


class ArpRequest(NamedTuple):
    """Who asks (MAC as bytes, address as dotted string), and for whom."""

    sender_mac: bytes
    sender_ip: str
    target_ip: str


def parse(frame: bytes) -> FiveTuple | ArpRequest | None:
    """What a frame is about; None for anything but a whole IPv4 packet or an ARP request.

    A frame cut short by the switch is None as well: sending it on would deliver a broken packet.
    """
    if len(frame) < ETHERNET_HEADER + IP_HEADER:
        return None
    ethertype = frame[12] << 8 | frame[13]
    if ethertype == IPV4:
        return _parse_ipv4(frame)
    if ethertype == ARP:
        return _parse_arp(frame)
    return None


def _parse_ipv4(frame: bytes) -> FiveTuple | None:
    version_ihl, _, length, _, fragment, _, protocol = struct.unpack_from("!BBHHHBB", frame, ETHERNET_HEADER)
    header = (version_ihl & 0xF) * 4
    if version_ihl >> 4 != 4 or header < IP_HEADER or length < header or len(frame) < ETHERNET_HEADER + length:
        return None
    src, dst = socket.inet_ntoa(frame[26:30]), socket.inet_ntoa(frame[30:34])
    transport = ETHERNET_HEADER + header
    is_fragment = fragment & 0x3FFF  # more-fragments flag or an offset; the don't-fragment flag aside
    ports = (0, 0)
    if not is_fragment and length >= header + 4:
        if protocol in (TCP, UDP):
            ports = struct.unpack_from("!HH", frame, transport)
        elif protocol == ICMP:
            ports = (frame[transport], frame[transport + 1])
    return FiveTuple(protocol, src, dst, *ports)


def _parse_arp(frame: bytes) -> ArpRequest | None:
    arp = frame[ETHERNET_HEADER:]
    if len(arp) < 28 or arp[:6] != _ARP_FIXED or arp[6:8] != struct.pack("!H", _ARP_REQUEST):
        return None
    return ArpRequest(arp[8:14], socket.inet_ntoa(arp[14:18]), socket.inet_ntoa(arp[24:28]))


def arp_reply(request: ArpRequest, target_mac: str) -> bytes:
    """The frame that answers ``request``: its target address is at ``target_mac`` (colon notation)."""
    mac = bytes.fromhex(target_mac.replace(":", ""))
    return (
        request.sender_mac
        + mac
        + struct.pack("!H", ARP)
        + _ARP_FIXED
        + struct.pack("!H", _ARP_REPLY)
        + mac
        + socket.inet_aton(request.target_ip)
        + request.sender_mac
        + socket.inet_aton(request.sender_ip)
    )
