"""What the kernel counts of TCP in every host: segments sent again, out of order, or marked (ECN)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.network.fabric import Fabric


COUNTERS = {
    "RetransSegs": "retransmitted_segments",
    "TCPOFOQueue": "segments_out_of_order",
    "TCPSACKReorder": "reorderings_by_sack",
    "TCPTSReorder": "reorderings_by_timestamp",
    "TCPDSACKRecv": "needless_retransmissions",
    "TCPTimeouts": "timeouts",
    "TCPDeliveredCE": "segments_marked",
}
"""The kernel's names (Tcp and TcpExt in /proc/net/snmp and netstat; snmp_counter.rst), and ours."""


def of_hosts(fabric: Fabric) -> Counter[str]:
    """The counters of all hosts together, since they were made."""
    total: Counter[str] = Counter()
    for host in fabric.topo.hosts:
        net = Path(f"/proc/{fabric.pid_of(host)}/net")
        total.update(parse((net / "snmp").read_text() + (net / "netstat").read_text()))
    return total


def parse(text: str) -> Counter[str]:
    """The counters in a text of pairs of lines, names and numbers; those that a kernel lacks are left out."""
    lines = [line.split() for line in text.splitlines()]
    found: Counter[str] = Counter()
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        for name, value in zip(names[1:], values[1:], strict=False):
            if name in COUNTERS and names[0] in ("Tcp:", "TcpExt:"):
                found[COUNTERS[name]] += int(value)
    return found
