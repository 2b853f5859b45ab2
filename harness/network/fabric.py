"""The emulated network: Mininet hosts, an Open vSwitch of our own, limited links, a control network.

Everything lives in unnamed network namespaces that end with this process (`harness.network.netlink`). So whatever
ends the harness ends the network, and nothing is left on the machine.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from mininet.link import Intf, Link
from mininet.net import Mininet
from mininet.node import Host, Node, Switch

from harness.network import netlink, shaping
from harness.network.hosts import Tcp, ipv6_off, set_up, write_settings
from harness.network.netlink import EPORT, VETH
from harness.network.openvswitch import COUNTERS_MS, Bridge, OpenVSwitch
from harness.network.processes import Children, run
from record.errors import RunFailed
from topos.fattree import port_name
from topos.links import link_rates
from topos.network import Network

T = TypeVar("T")

CONTROLLER_ADDRESS, SWITCHES_ADDRESS = "169.254.77.1", "169.254.77.10"
"""Where the controller listens: link-local, on the loopback of a namespace of its own (the control network); and from
where Open vSwitch calls it."""


@dataclass(frozen=True)
class FabricOptions:
    """How the network is emulated, switches' ports to hosts with this ``shape``; by how much the controller's messages
    are late; how often Open vSwitch counts (`OpenVSwitch.configure`); which hosts exchange packets, in pairs (None:
    all)."""

    shape: shaping.Shape
    tcp: Tcp = field(default_factory=Tcp)
    control_delay_ms: float = 0.0
    counters_ms: int = COUNTERS_MS
    pairs: frozenset[tuple[int, int]] | None = None


class Fabric:
    """A topology made real. Use as a context manager: `build` it, `connect` it to its controller, `verify` it."""

    def __init__(self, topo: Network, options: FabricOptions, directory: Path, children: Children) -> None:
        self.topo = topo
        self.options = options
        self.net: Mininet | None = None
        self._directory = directory
        self._children = children
        self._held: list[int] = []
        self._dropped_before: dict[str, int] = {}

    def __enter__(self) -> Fabric:
        self.control = self._namespace()
        _ip("link set lo up", f"addr add {CONTROLLER_ADDRESS}/32 dev lo", namespace=self.control)
        self.switches = OpenVSwitch(self._namespace(), self._directory / "openvswitch")
        return self

    def __exit__(self, *exception: object) -> None:
        for host in () if self.net is None else self.net.hosts:
            host.terminate()
        for pid in self._held:
            netlink.release(pid)

    def _namespace(self) -> int:
        try:
            self._held.append(netlink.hold())
        except OSError as error:
            raise RunFailed(f"a network namespace cannot be made: {error.strerror}") from None
        return self._held[-1]

    # --- building ------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Lay every cable and start Open vSwitch; hosts are addressed, bridges not yet made."""
        self._join_control_network()
        Mininet.init()
        self.net = Mininet(topo=None, controller=None, host=FabricHost, switch=FabricSwitch, link=LaidLink)
        for host, name in enumerate(self.topo.hosts):
            self.net.addHost(name, ip=f"{self.topo.host_ip(host)}/8", mac=self.topo.host_mac(host))
        for name in self.topo.switches:
            self.net.addSwitch(name, dpid=f"{self.topo.dpid(name):016x}", namespace=self.switches.pid)
        self._lay_cables()
        self._set_up_hosts()
        # Not before: for every change of a link that it hears of, ovs-vswitchd reads all links.
        self.switches.start(self._children)

    def _join_control_network(self) -> None:
        switches = self.switches.pid
        _ip(f"link add switches netns {self.control} type veth peer name control netns {switches}")
        route = f"route add {SWITCHES_ADDRESS}/32 dev switches src {CONTROLLER_ADDRESS}"
        _ip("link set switches up", route, namespace=self.control)
        route = f"route add {CONTROLLER_ADDRESS}/32 dev control src {SWITCHES_ADDRESS}"
        address = f"addr add {SWITCHES_ADDRESS}/32 dev control"
        _ip("link set lo up", address, "link set control up", route, namespace=switches)
        if self.options.control_delay_ms:
            delay = f"{round(self.options.control_delay_ms * 1000)}us"
            netem = ["netem", "delay", delay, "limit", str(shaping.MOST_DELAYED)]
            run(["tc", "qdisc", "add", "dev", "switches", "root", *netem], namespace=self.control)

    def _lay_cables(self) -> None:
        assert self.net is not None
        cables, shape, hosts = [], self.options.shape, set(self.topo.hosts)
        self.ports: dict[str, dict[int, str]] = defaultdict(dict)
        self.shapes: dict[str, shaping.Shape] = {}
        for link, rate in zip(
            self.topo.links(), link_rates(self.topo).tolist(), strict=False
        ):  # those of one direction
            ends = []
            for name, port in ((link.lower, link.lower_port), (link.upper, link.upper_port)):
                self.ports[name][port] = interface = port_name(name, port)
                limit = replace(shape, mbps=shape.mbps * rate)
                if link.lower in hosts:
                    limit = limit.at_host() if name in hosts else limit.to_host()
                else:
                    limit = limit.at_switch()
                self.shapes[interface] = limit
                ends.append((interface, self.pid_of(name)))
            cables.append(ends)
        shaping.lay(shape.carrier, cables, shape.mtu)
        if shape.carrier == EPORT:
            self._each_namespace(partial(shaping.apply, self.shapes))
        for link in self.topo.links():
            self.net.addLink(link.lower, link.upper, port1=link.lower_port, port2=link.upper_port)
        netlink.inside(self.switches.pid, partial(write_settings, ipv6_off()))
        _ip(*(f"link set {interface} up" for interface in self.switch_ports), namespace=self.switches.pid)

    def not_ports(self) -> list[str]:
        """All other interfaces beside the switches' ports."""
        lines = Path(f"/proc/{self.switches.pid}/net/dev").read_text().splitlines()
        return sorted({line.partition(":")[0].strip() for line in lines[2:]}.difference(self.switch_ports))

    @property
    def switch_ports(self) -> list[str]:
        return [interface for name in self.topo.switches for interface in self.ports[name].values()]

    def _set_up_hosts(self) -> None:
        topo = self.topo
        macs = {topo.host_ip(host): topo.host_mac(host) for host in range(topo.num_hosts)}
        known = {ip: dict(macs) if self.options.pairs is None else {ip: mac} for ip, mac in macs.items()}
        for a, b in self.options.pairs or ():
            for one, other in ((topo.host_ip(a), topo.host_ip(b)), (topo.host_ip(b), topo.host_ip(a))):
                known[one][other] = macs[other]
        for name, (ip, neighbours) in zip(topo.hosts, known.items(), strict=True):
            set_up(name, self.pid_of(name), self.ports[name][0], ip, neighbours, self.options.tcp)

    def pid_of(self, name: str) -> int:
        """What stands for the namespace of a node (`harness.network.netlink`)."""
        assert self.net is not None
        return int(self.net[name].pid)

    # --- switching on ------------------------------------------------------------------------------------

    def connect(self, port: int) -> None:
        """Make the bridges, connected to the controller's ``port``; then see that every port has its limit."""
        bridges = [Bridge(name, self.topo.dpid(name), self.ports[name]) for name in self.topo.switches]
        self.switches.configure(bridges, f"tcp:{CONTROLLER_ADDRESS}:{port}", self.options.counters_ms)
        if self.options.shape.carrier == VETH:
            self._each_namespace(partial(shaping.apply, self.shapes))
        self.verify()

    def lost(self) -> dict[str, int]:
        """Packets lost outside every queue, by place, since this was last asked; places without any left out."""
        lost = {"upcalls to ovs-vswitchd": self.switches.lost_upcalls()}
        for group in self._each_namespace(shaping.dropped_elsewhere):
            lost |= {f"port {name}": count for name, count in group.items()}
        new = {place: count - self._dropped_before.get(place, 0) for place, count in lost.items()}
        self._dropped_before |= lost
        return {place: count for place, count in new.items() if count}

    def set_cables(self, cables: Iterable[tuple[str, str]], *, up: bool) -> None:
        """Take cables, given by the names of their ends, out of service or put them back into it.

        At switches alone: an interface of a host that goes down would forget its neighbours, and the loss of
        its carrier cuts it off just as well. RunFailed names ports that come back without their limit.
        """
        wanted = {frozenset(cable) for cable in cables}
        if not wanted:
            return
        at_switches = set(self.switch_ports)
        ports = [
            port_name(*end)
            for link in self.topo.links()
            if frozenset((link.lower, link.upper)) in wanted
            for end in ((link.lower, link.lower_port), (link.upper, link.upper_port))
            if port_name(*end) in at_switches
        ]
        _ip(*(f"link set {port} {'up' if up else 'down'}" for port in ports), namespace=self.switches.pid)
        if up:
            shaping.verify(self.shapes, ports, self.switches.pid)

    def verify(self) -> None:
        """RunFailed names ports whose limit is not what it should be."""
        self._each_namespace(partial(shaping.verify, self.shapes))

    def queue_drops(self) -> dict[str, int]:
        """Packets that the queue of each port has dropped since it was limited."""
        dropped = partial(shaping.dropped_in_queue, self.options.shape.carrier)
        return {name: n for group in self._each_namespace(dropped) for name, n in group.items()}

    def marked_and_paced(self) -> dict[str, int]:
        """What phantom queues and pacers have counted (`shaping.marked_and_paced`), of all ports together."""
        total: Counter[str] = Counter()
        for counts in self._each_namespace(shaping.marked_and_paced):
            total.update(counts)
        return dict(total)

    def _each_namespace(self, work: Callable[[list[str], int], T]) -> list[T]:
        """Do it with the ports and the namespace of every host, and of Open vSwitch."""
        ports = [*([self.ports[name][0]] for name in self.topo.hosts), self.switch_ports]
        return _side_by_side(work, ports, [*map(self.pid_of, self.topo.hosts), self.switches.pid])


# --- Mininet's own objects ----------------------------------------------------------------------------------

# Mininet starts a shell for every node and configures every interface through it, some hundred round trips for k=4.
# Here a thread holds a host's namespace, and the fabric has created and configured all cables before Mininet hears of
# them; these classes keep it from doing so a second time.


class QuietIntf(Intf):  # type: ignore[misc]
    """An interface that the fabric has configured already."""

    def config(self, **params: Any) -> dict[str, Any]:
        return {}


class LaidLink(Link):  # type: ignore[misc]
    """A cable that the fabric has created already, both ends in their namespaces."""

    def __init__(self, node1: Node, node2: Node, **params: Any) -> None:
        super().__init__(node1, node2, **{**params, "intf": QuietIntf})

    @classmethod
    def makeIntfPair(cls, *args: Any, **params: Any) -> None:
        """The pair exists."""

    def delete(self) -> None:
        """The pair goes with the namespaces it lives in."""


class FabricHost(Host):  # type: ignore[misc]
    """A host in a network namespace of its own."""

    def startShell(self, mnopts: str | None = None) -> None:
        """None: a thread is in its namespace."""
        self.pid = netlink.hold()

    def config(self, **params: Any) -> dict[str, Any]:
        """The fabric configures it."""
        return {}

    def terminate(self) -> None:
        super().terminate()
        netlink.release(self.pid)


class FabricSwitch(Switch):  # type: ignore[misc]
    """A bridge of our Open vSwitch, in whose namespace it is."""

    def __init__(self, name: str, namespace: int, **params: Any) -> None:
        self._namespace = namespace
        super().__init__(name, **{**params, "inNamespace": True})

    def startShell(self, mnopts: str | None = None) -> None:
        """None: its namespace is Open vSwitch's."""
        self.pid = self._namespace


def _side_by_side(work: Callable[..., T], *things: Iterable[Any]) -> list[T]:
    """Map the work, which is to wait for other processes, over all at once. Raises the first that was raised."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(work, *things))


def _ip(*lines: str, namespace: int | None = None) -> None:
    run(["ip", "-batch", "-"], namespace=namespace, given="".join(f"{line}\n" for line in lines))
