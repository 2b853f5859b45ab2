"""A star of hosts at one switch, in a guest: the harness's own network, whose few rules are put there by hand."""

from __future__ import annotations

from pathlib import Path

from harness.network.fabric import Fabric
from harness.network.processes import run_program
from topos.network import NonBlocking

NOBODY = 6653
"""A port where no controller listens."""


def lay(topo: NonBlocking, fabric: Fabric, folder: Path) -> None:
    """Build and connect the fabric of ``topo``, whose files are in ``folder``; each host is found by its address."""
    fabric.build()
    fabric.connect(NOBODY)
    rules = "".join(f"dl_dst={topo.host_mac(host)},actions=output:{host + 1}\n" for host in range(topo.num_hosts))
    bridge = f"unix:{folder}/openvswitch/{topo.SWITCH}.mgmt"
    run_program(["ovs-ofctl", "-O", "OpenFlow10", "add-flows", bridge, "-"], stdin_text=rules)
    for host in topo.hosts:
        # No memory of earlier connections (RFC 2140), so that transfers are independent.
        run_program(["sysctl", "-q", "-w", "net.ipv4.tcp_no_metrics_save=1"], namespace=fabric.pid_of(host))
