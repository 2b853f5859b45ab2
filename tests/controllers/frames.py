"""Ethernet frames, made here without the code under test."""

import socket
import struct
from dataclasses import dataclass

BROADCAST = "ff:ff:ff:ff:ff:ff"


def mac_bytes(mac):
    return bytes(int(part, 16) for part in mac.split(":"))


@dataclass(frozen=True)
class Packet:
    """An IPv4 packet by its header fields. For ICMP the ports are type and code."""

    src_mac: str
    dst_mac: str
    src_ip: str
    dst_ip: str
    protocol: int = 6
    src_port: int = 20000
    dst_port: int = 5001

    ethertype = 0x0800

    def frame(self, payload=b"", fragment=0, options=b""):
        if self.protocol == 6:
            transport = struct.pack("!HHIIBBHHH", self.src_port, self.dst_port, 1, 0, 5 << 4, 2, 8192, 0, 0)
        elif self.protocol == 17:
            transport = struct.pack("!HHHH", self.src_port, self.dst_port, 8 + len(payload), 0)
        elif self.protocol == 1:
            transport = struct.pack("!BBHHH", self.src_port, self.dst_port, 0, 7, 1)
        else:
            transport = b""
        header = 20 + len(options)
        total = header + len(transport) + len(payload)
        ip = struct.pack(
            "!BBHHHBBH4s4s",
            *(4 << 4 | header // 4, 0, total, 0, fragment, 64, self.protocol, 0),
            *(socket.inet_aton(self.src_ip), socket.inet_aton(self.dst_ip)),
        )
        ethernet = mac_bytes(self.dst_mac) + mac_bytes(self.src_mac) + struct.pack("!H", self.ethertype)
        return ethernet + ip + options + transport + payload


@dataclass(frozen=True)
class Other:
    """A frame that is not IPv4."""

    ethertype: int
    body: bytes = bytes(46)
    src_mac: str = "02:00:00:00:00:01"
    dst_mac: str = BROADCAST

    src_ip = dst_ip = protocol = src_port = dst_port = None

    def frame(self):
        return mac_bytes(self.dst_mac) + mac_bytes(self.src_mac) + struct.pack("!H", self.ethertype) + self.body


def between(topo, src, dst, **fields):
    """A packet from one host number to another."""
    macs = {"src_mac": topo.host_mac(src), "dst_mac": topo.host_mac(dst)}
    return Packet(src_ip=topo.host_ip(src), dst_ip=topo.host_ip(dst), **macs, **fields)


def arp_request(topo, src, dst_ip):
    sender = mac_bytes(topo.host_mac(src)) + socket.inet_aton(topo.host_ip(src))
    body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + sender + bytes(6) + socket.inet_aton(dst_ip)
    return Other(0x0806, body + bytes(18), src_mac=topo.host_mac(src))
