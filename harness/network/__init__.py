"""The emulated network: namespaces, Open vSwitch, limited links, and what all of it leaves on the machine.

What other rooms need to build a network and to read it is here; the files below hold the details. Limits on processors
(`cpulimit`), what a run leaves behind (`cleanup`) and what this machine is (`machine`) are asked for by their names.
Mininet itself is imported when a network is built (`Fabric.build`): who judges a run reads the shapes of its ports, on
machines without Mininet, too.
"""

from harness.network.fabric import CONTROLLER_ADDRESS, COUNTERS_MS, Fabric, FabricOptions
from harness.network.host_setup import HYSTART, Tcp, permit, require_rack_off
from harness.network.netlink import EPORT, VETH, Netlink, call_inside
from harness.network.processes import REAP_S, Children, deadline, run_program, wait_until
from harness.network.shaping import (
    MARK_PACKETS,
    Shape,
    as_kernel_can,
    count_ports,
    require_shape,
    shape_of,
    shape_ports,
    verify_shapes,
)

__all__ = [
    "CONTROLLER_ADDRESS",
    "COUNTERS_MS",
    "EPORT",
    "HYSTART",
    "MARK_PACKETS",
    "REAP_S",
    "VETH",
    "Children",
    "Fabric",
    "FabricOptions",
    "Netlink",
    "Shape",
    "Tcp",
    "as_kernel_can",
    "call_inside",
    "count_ports",
    "deadline",
    "permit",
    "require_rack_off",
    "require_shape",
    "run_program",
    "shape_of",
    "shape_ports",
    "verify_shapes",
    "wait_until",
]  # fmt: skip
