"""The emulated network: Mininet hosts, private Open vSwitch instances, limited links, a control network.

Everything lives in unnamed network namespaces that end with the processes in them: the hosts' and the
instances' Mininet shells. So whatever ends the harness ends the network, and nothing is left on the machine.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from mininet.net import Mininet
from mininet.node import Node

from harness.errors import RunFailed
from harness.network import shaping
from harness.network.hosts import HostSetup, ipv6_off, set_up
from harness.network.nodes import FabricHost, FabricSwitch, LaidLink, ShellWithDeadline
from harness.network.openvswitch import Bridge, Instance
from harness.network.placement import place
from harness.network.processes import Children, run
from harness.network.sockets import lost_packets, widen_packet_sockets
from topos.fattree import port_name
from topos.network import Network

S = TypeVar("S")
T = TypeVar("T")

CONTROLLER_ADDRESS = "169.254.77.1"
"""Where the controller listens: link-local, on the loopback of a namespace of its own (the control network)."""
MOST_DELAYED = 100_000
"""Packets on their way from the controller: netem's own 1000 are fewer than many switches are told at once."""


@dataclass(frozen=True)
class FabricOptions:
    """How the network is emulated; ``instances`` of Open vSwitch at most (`placement.place` says how many help), by
    how much the controller's messages are late, and the rest as of `hosts.HostSetup`."""

    datapath: str
    instances: int
    shape: shaping.Shape
    congestion_control: str = "cubic"
    unsent_bytes: int | None = None
    control_delay_ms: float = 0.0
    sack: bool = True
    min_rto_ms: int | None = None


class Fabric:
    """A topology made real. Use as a context manager: `build` it, `connect` it to its controller, `verify` it."""

    def __init__(self, topo: Network, options: FabricOptions, directory: Path, children: Children) -> None:
        self.topo = topo
        self.options = options
        self._directory = directory
        self._children = children
        self._nodes: list[Node] = []
        self.instances: list[Instance] = []
        self._dropped_before: dict[str, int] = {}
        self.net: Mininet | None = None

    def __enter__(self) -> Fabric:
        # Where a namespace cannot be made, this says why; Mininet would not.
        run(["mnexec", "-n", "true"], seconds=10)
        Mininet.init()
        self.control = self._node("control")
        run(["ip", "-batch", "-"], namespace=self.control.pid, given=_control_side())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        hosts = [] if self.net is None else self.net.hosts
        for node in [*hosts, *self._nodes]:
            # A shell that has ended already must not keep the others from ending, nor hide why it did.
            with contextlib.suppress(OSError):
                node.terminate()

    def _node(self, name: str) -> Node:
        node = ShellWithDeadline(name, inNamespace=True)
        self._nodes.append(node)
        return node

    # --- building ------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Start the Open vSwitch instances and lay every cable; hosts are addressed, bridges not yet made."""
        placed = place(self.topo, self.options.instances)
        for number in range(1 + max(placed.values())):
            node = self._node(f"ovs{number}")
            instance = Instance(number, node.pid, self._directory / f"openvswitch-{number}", self.options.datapath)
            self.instances.append(instance)
            self._join_control_network(number, node.pid)
            instance.start(self._children)
        self.instance_of = {name: self.instances[number] for name, number in placed.items()}
        self.net = Mininet(topo=None, controller=None, host=FabricHost, switch=FabricSwitch, link=LaidLink)
        for host, name in enumerate(self.topo.hosts):
            self.net.addHost(name, ip=f"{self.topo.host_ip(host)}/8", mac=self.topo.host_mac(host))
        for name in self.topo.switches:
            self.net.addSwitch(name, dpid=f"{self.topo.dpid(name):016x}", instance_pid=self.instance_of[name].pid)
        self._lay_cables()
        self._configure_hosts()

    def _join_control_network(self, number: int, pid: int) -> None:
        ours, theirs = f"ctl{number}", "ctl"
        run(
            ["ip", "-batch", "-"],
            given=f"link add {ours} netns {self.control.pid} type veth peer name {theirs} netns {pid}\n",
        )
        address = f"169.254.77.{number + 10}"
        run(
            ["ip", "-batch", "-"],
            namespace=self.control.pid,
            given=f"link set {ours} up\nroute add {address}/32 dev {ours} src {CONTROLLER_ADDRESS}\n",
        )
        run(
            ["ip", "-batch", "-"],
            namespace=pid,
            given=f"link set lo up\naddr add {address}/32 dev {theirs}\nlink set {theirs} up\n"
            f"route add {CONTROLLER_ADDRESS}/32 dev {theirs} src {address}\n",
        )
        if self.options.control_delay_ms:
            delay = f"{round(self.options.control_delay_ms * 1000)}us"
            netem = ["netem", "delay", delay, "limit", str(MOST_DELAYED)]
            run(["tc", "qdisc", "add", "dev", ours, "root", *netem], namespace=self.control.pid)

    def _lay_cables(self) -> None:
        assert self.net is not None
        lines = []
        self.ports: dict[str, dict[int, str]] = defaultdict(dict)
        for link in self.topo.links():
            ends = []
            for name, port in ((link.lower, link.lower_port), (link.upper, link.upper_port)):
                self.ports[name][port] = interface = port_name(name, port)
                ends.append(f"{interface} mtu {self.options.shape.mtu} netns {self.net[name].pid}")
            lines.append(f"link add name {ends[0]} type veth peer name {ends[1]}\n")
        run(["ip", "-batch", "-"], given="".join(lines))
        for link in self.topo.links():
            self.net.addLink(link.lower, link.upper, port1=link.lower_port, port2=link.upper_port)
        for instance in self.instances:
            lines = [f"link set {interface} up\n" for interface in self.interfaces_of(instance)]
            if settings := ipv6_off():
                run(["sysctl", "-q", "-w", *settings], namespace=instance.pid)
            run(["ip", "-batch", "-"], namespace=instance.pid, given="".join(lines))

    def interfaces_of(self, instance: Instance) -> list[str]:
        """Every switch port of an instance."""
        return [
            interface
            for name in self.topo.switches
            if self.instance_of[name] is instance
            for interface in self.ports[name].values()
        ]

    def _configure_hosts(self) -> None:
        """Address, neighbours, offloads and TCP of every host."""
        neighbours = [(self.topo.host_ip(host), self.topo.host_mac(host)) for host in range(self.topo.num_hosts)]
        shape = self.options.shape
        hosts = {
            name: (
                self.pid_of(name),
                HostSetup(
                    self.ports[name][0],
                    self.topo.host_ip(host),
                    self.topo.host_mac(host),
                    neighbours,
                    self.options.congestion_control,
                    self.options.unsent_bytes,
                    shape.segments_at_once if shape.bunches else None,
                    self.options.sack,
                    self.options.min_rto_ms,
                ),
            )
            for host, name in enumerate(self.topo.hosts)
        }
        set_up(hosts)

    def pid_of(self, name: str) -> int:
        """A process in the namespace of a node (its Mininet shell)."""
        assert self.net is not None
        return int(self.net[name].pid)

    # --- switching on ------------------------------------------------------------------------------------

    def connect(self, port: int) -> None:
        """Make the bridges, connected to the controller's ``port``; then limit every port, and verify it."""

        def configure_instance(instance: Instance) -> None:
            bridges = [
                Bridge(name, self.topo.dpid(name), self.ports[name])
                for name in self.topo.switches
                if self.instance_of[name] is instance
            ]
            instance.configure(bridges, f"tcp:{CONTROLLER_ADDRESS}:{port}")

        _side_by_side(configure_instance, self.instances)
        self._each_group(lambda interfaces, namespace: shaping.apply(self.options.shape, interfaces, namespace))
        self.verify()

    def make_room(self) -> None:
        """Let packets be dropped in the queues of the links alone (see harness/network/sockets.py)."""
        for instance in self.instances if self.options.datapath == "user" else ():
            # ovs-vswitchd opens the socket it sends through with its first packet: one ping inside an edge
            # switch, which needs nothing of the controller.
            a, b = self._neighbours(instance)
            run(
                ["ping", "-q", "-c", "1", "-W", "5", self.topo.host_ip(b)],
                namespace=self.pid_of(self.topo.hosts[a]),
            )
            widen_packet_sockets(instance.switchd.pid, self.options.shape.mtu)
        self.lost()  # what was lost until now is nobody's

    def lost(self) -> dict[str, int]:
        """Packets lost outside every queue, by place, since this was last asked; places without any left out."""
        lost: dict[str, int] = {}
        for instance in self.instances:
            if self.options.datapath == "user":
                place, count = (
                    f"the sockets of ovs-vswitchd {instance.number}",
                    lost_packets(instance.switchd.pid),
                )
            else:
                place = f"upcalls to ovs-vswitchd {instance.number}"
                count = self._since_last(place, instance.lost_upcalls())
            if count:
                lost[place] = count
        for group in self._each_group(shaping.dropped_elsewhere):
            for name, count in group.items():
                if more := self._since_last(f"port {name}", count):
                    lost[f"port {name}"] = more
        return lost

    def _since_last(self, place: str, total: int) -> int:
        """How much a counter has grown since it was last read."""
        before = self._dropped_before.get(place, 0)
        self._dropped_before[place] = total
        return total - before

    def _neighbours(self, instance: Instance) -> tuple[int, int]:
        """Two hosts on one switch of an instance."""
        first: dict[str, int] = {}
        for host in range(self.topo.num_hosts):
            edge = self.topo.edge_of(host)
            if self.instance_of[edge] is instance and first.setdefault(edge, host) != host:
                return first[edge], host
        raise RunFailed(f"Open vSwitch instance {instance.number} has no switch with two hosts")

    def ports_by_namespace(self) -> list[tuple[list[str], int]]:
        """Every port of every link, grouped: (interfaces, a pid in their namespace)."""
        hosts = [([self.ports[name][0]], self.pid_of(name)) for name in self.topo.hosts]
        return hosts + [(self.interfaces_of(instance), instance.pid) for instance in self.instances]

    def set_cables(self, cables: Iterable[tuple[str, str]], *, up: bool) -> None:
        """Take cables, given by the names of their ends, out of service or put them back into it.

        At switches alone: an interface of a host that goes down would forget its neighbours, and the loss of
        its carrier cuts it off just as well. RunFailed names ports that come back without their limit.
        """
        wanted = {frozenset(cable) for cable in cables}
        interfaces: dict[int, list[str]] = defaultdict(list)
        for link in self.topo.links():
            if frozenset((link.lower, link.upper)) in wanted:
                for name, port in ((link.lower, link.lower_port), (link.upper, link.upper_port)):
                    if name in self.instance_of:
                        interfaces[self.instance_of[name].pid].append(self.ports[name][port])
        word = "up" if up else "down"
        for namespace, names in interfaces.items():
            batch = "".join(f"link set {name} {word}\n" for name in names)
            run(["ip", "-batch", "-"], namespace=namespace, given=batch)
        if up:
            for namespace, names in interfaces.items():
                shaping.verify(self.options.shape, names, namespace)

    def verify(self) -> None:
        """RunFailed names ports whose limit or largest packet is not what it should be."""
        self._each_group(lambda interfaces, namespace: shaping.verify(self.options.shape, interfaces, namespace))

    def queue_drops(self) -> dict[str, int]:
        """Packets that the queue of each port has dropped since it was limited."""
        return {name: n for group in self._each_group(shaping.dropped_in_queue) for name, n in group.items()}

    def _each_group(self, work: Callable[[list[str], int], T]) -> list[T]:
        return _side_by_side(lambda group: work(*group), self.ports_by_namespace())


def _side_by_side(work: Callable[[S], T], things: Iterable[S]) -> list[T]:
    """Do the work, which is to wait for other processes, on all at once. Raises the first that was raised."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(work, things))


def _control_side() -> str:
    return f"link set lo up\naddr add {CONTROLLER_ADDRESS}/32 dev lo\n"
