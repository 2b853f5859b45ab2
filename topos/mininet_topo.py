"""A Mininet Topo from either topology: names, ports, addresses and datapath ids carried over, nothing more."""

from __future__ import annotations

from typing import Any

from mininet.topo import Topo

from topos.fattree import FatTree
from topos.nonblocking import NonBlocking


def mininet_topo(topo: FatTree | NonBlocking, **link_options: Any) -> Topo:
    """A Mininet Topo with the same node names; ``link_options`` go to every link (``bw=10``, say)."""
    net = Topo()
    for host, name in enumerate(topo.hosts):
        net.addHost(name, ip=f"{topo.host_ip(host)}/8", mac=topo.host_mac(host))
    for name in topo.switches:
        net.addSwitch(name, dpid=f"{topo.dpid(name):016x}")
    for link in topo.links():
        net.addLink(link.lower, link.upper, port1=link.lower_port, port2=link.upper_port, **link_options)
    return net
