"""The emulated network: Mininet hosts, an Open vSwitch of our own, limited links, a control network.

Everything lives in unnamed network namespaces that end with this process (`harness.network.netlink`). So whatever
ends the harness ends the network, and nothing is left on the machine.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from harness.network import netlink, shaping
from harness.network.host_setup import Tcp, list_ipv6_settings, set_up_host, write_settings
from harness.network.netlink import EPORT, VETH
from harness.network.processes import Children, run_program, wait_until
from record.errors import RunFailed, UnfitMachine
from topos.fattree import port_name
from topos.links import link_rates
from topos.network import Network

if TYPE_CHECKING:
    from mininet.net import Mininet

T = TypeVar("T")

CONTROLLER_ADDRESS, SWITCHES_ADDRESS = "169.254.77.1", "169.254.77.10"
"""Where the controller listens, and from where Open vSwitch calls it. Both are link-local addresses of the control
network, in which no host is."""


# In the first 10 s after boot Open vSwitch 3 counts no processors, starts no thread for packets that the kernel
# datapath does not know, and loses every first packet (4 of 10 boots).
COUNTS_PROCESSORS_S = 10.5
"""ovs-vswitchd may be started so long after boot."""
COUNTERS_MS = 500
"""Open vSwitch looks at the kernel's counters so often, unless it is told to do so more often."""
# A program may be given 2 MB of arguments. k = 16 has so many ports, and is made in one transaction.
PORTS_AT_ONCE = 5120
"""The ports of one transaction."""
DAEMON_SOCKET_S = 10.0
"""A daemon of Open vSwitch may take so long to open its socket."""
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
"""Where the daemons find the programs that they start."""
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")


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
        self._namespaces: list[int] = []
        self._dropped_before: dict[str, int] = {}

    def __enter__(self) -> Fabric:
        self.control_namespace = self._make_namespace()
        # The controller is in a network of its own, as in the paper's testbed: what it says takes no room on the links
        # that are measured.
        _run_ip("link set lo up", f"addr add {CONTROLLER_ADDRESS}/32 dev lo", namespace=self.control_namespace)
        self.open_vswitch = OpenVSwitch(self._make_namespace(), self._directory / "openvswitch")
        return self

    def __exit__(self, *exception: object) -> None:
        for host in () if self.net is None else self.net.hosts:
            host.terminate()
        for pid in self._namespaces:
            netlink.release_namespace(pid)

    def _make_namespace(self) -> int:
        try:
            self._namespaces.append(netlink.hold_namespace())
        except OSError as error:
            raise RunFailed(f"a network namespace cannot be made: {error.strerror}") from None
        return self._namespaces[-1]

    # --- building ------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Lay every cable and start Open vSwitch; hosts are addressed, bridges not yet made."""
        from mininet.net import Mininet

        from harness.network.mininet_nodes import FabricHost, FabricSwitch, LaidLink

        self._join_control_network()
        Mininet.init()
        self.net = Mininet(topo=None, controller=None, host=FabricHost, switch=FabricSwitch, link=LaidLink)
        for host, name in enumerate(self.topo.hosts):
            # All hosts are in one subnet, so that none of them needs a gateway: switches alone decide where a packet
            # goes.
            self.net.addHost(name, ip=f"{self.topo.host_ip(host)}/8", mac=self.topo.host_mac(host))
        for name in self.topo.switches:
            self.net.addSwitch(name, dpid=f"{self.topo.dpid(name):016x}", namespace=self.open_vswitch.namespace)
        self._lay_cables(self._plan_ports())
        self._prepare_switch_ports()
        # A host is set up when its interface is in its namespace.
        self._set_up_hosts()
        # Open vSwitch is started last: for every change of a link that it hears of, ovs-vswitchd reads all links.
        self.open_vswitch.start(self._children)

    def _join_control_network(self) -> None:
        switches = self.open_vswitch.namespace
        _run_ip(f"link add switches netns {self.control_namespace} type veth peer name control netns {switches}")
        route = f"route add {SWITCHES_ADDRESS}/32 dev switches src {CONTROLLER_ADDRESS}"
        _run_ip("link set switches up", route, namespace=self.control_namespace)
        route = f"route add {CONTROLLER_ADDRESS}/32 dev control src {SWITCHES_ADDRESS}"
        address = f"addr add {SWITCHES_ADDRESS}/32 dev control"
        _run_ip("link set lo up", address, "link set control up", route, namespace=switches)
        if self.options.control_delay_ms:
            delay = f"{round(self.options.control_delay_ms * 1000)}us"
            netem = ["netem", "delay", delay, "limit", str(shaping.MOST_DELAYED)]
            run_program(["tc", "qdisc", "add", "dev", "switches", "root", *netem], namespace=self.control_namespace)

    def _plan_ports(self) -> list[list[tuple[str, int]]]:
        """Name every port of every node (`ports`), and say what limits it (`shapes`). Returns the cables, each by its
        two ends: an interface, and the namespace that it belongs to."""
        cables, shape, hosts = [], self.options.shape, set(self.topo.hosts)
        self.ports: dict[str, dict[int, str]] = defaultdict(dict)
        self.shapes: dict[str, shaping.Shape] = {}
        rates = link_rates(self.topo).tolist()  # of both directions; a cable has one rate, and the first half names all
        for link, rate in zip(self.topo.links(), rates, strict=False):
            ends = []
            for name, port in ((link.lower, link.lower_port), (link.upper, link.upper_port)):
                self.ports[name][port] = interface = port_name(name, port)
                limit = replace(shape, mbps=shape.mbps * rate)
                if link.lower in hosts:
                    limit = limit.at_host() if name in hosts else limit.to_host()
                else:
                    limit = limit.between_switches()
                self.shapes[interface] = limit
                ends.append((interface, self.pid_of(name)))
            cables.append(ends)
        return cables

    def _lay_cables(self, cables: list[list[tuple[str, int]]]) -> None:
        """Make the cables, limit those that carry nothing without a limit, and have Mininet know them."""
        assert self.net is not None
        shape = self.options.shape
        shaping.lay_cables(shape.carrier, cables, shape.mtu)
        # An eport without a limit carries nothing, and each change of a link later on would have ovs-vswitchd read all
        # links. So eports are shaped before Open vSwitch is started.
        if shape.carrier == EPORT:
            self._map_namespaces(partial(shaping.shape_ports, self.shapes))
        for link in self.topo.links():
            self.net.addLink(link.lower, link.upper, port1=link.lower_port, port2=link.upper_port)

    def _prepare_switch_ports(self) -> None:
        # IPv6 would send packets of its own over the links that are measured.
        netlink.call_inside(self.open_vswitch.namespace, partial(write_settings, list_ipv6_settings()))
        _run_ip(*(f"link set {interface} up" for interface in self.switch_ports), namespace=self.open_vswitch.namespace)

    def not_ports(self) -> list[str]:
        """The interfaces in Open vSwitch's namespace that are not ports of switches."""
        lines = Path(f"/proc/{self.open_vswitch.namespace}/net/dev").read_text().splitlines()
        return sorted({line.partition(":")[0].strip() for line in lines[2:]}.difference(self.switch_ports))

    @property
    def switch_ports(self) -> list[str]:
        return [interface for name in self.topo.switches for interface in self.ports[name].values()]

    def _set_up_hosts(self) -> None:
        topo = self.topo
        macs = {topo.host_ip(host): topo.host_mac(host) for host in range(topo.num_hosts)}
        known = {ip: dict(macs) if self.options.pairs is None else {ip: mac} for ip, mac in macs.items()}
        for a, b in self.options.pairs or ():
            for address, peer_address in ((topo.host_ip(a), topo.host_ip(b)), (topo.host_ip(b), topo.host_ip(a))):
                known[address][peer_address] = macs[peer_address]
        for name, (ip, neighbours) in zip(topo.hosts, known.items(), strict=True):
            set_up_host(name, self.pid_of(name), self.ports[name][0], ip, neighbours, self.options.tcp)

    def pid_of(self, name: str) -> int:
        """The number that stands for the namespace of a node (`harness.network.netlink`)."""
        assert self.net is not None
        return int(self.net[name].pid)

    # --- switching on ------------------------------------------------------------------------------------

    def connect(self, port: int) -> None:
        """Make the bridges, connected to the controller's ``port``; then see that every port has its limit."""
        bridges = [Bridge(name, self.topo.dpid(name), self.ports[name]) for name in self.topo.switches]
        self.open_vswitch.configure(bridges, f"tcp:{CONTROLLER_ADDRESS}:{port}", self.options.counters_ms)
        # Open vSwitch may take a qdisc away when it takes a port. So veths are shaped only now, and all ports are
        # looked at afterwards.
        if self.options.shape.carrier == VETH:
            self._map_namespaces(partial(shaping.shape_ports, self.shapes))
        self.verify()

    def lost_packets(self) -> dict[str, int]:
        """Packets that were lost outside every queue since the last call, by place. Places that lost none are not
        named."""
        lost = {"upcalls to ovs-vswitchd": self.open_vswitch.lost_upcalls()}
        for group in self._map_namespaces(shaping.count_dropped_elsewhere):
            lost |= {f"port {name}": count for name, count in group.items()}
        new = {place: count - self._dropped_before.get(place, 0) for place, count in lost.items()}
        self._dropped_before |= lost
        return {place: count for place, count in new.items() if count}

    def set_cables(self, cables: Iterable[tuple[str, str]], *, up: bool) -> None:
        """Take cables, given by the names of their ends, out of service or put them back into it, at switches alone.
        RunFailed names ports that come back without their limit."""
        # An interface of a host that goes down would forget its neighbours. The loss of its carrier, as the switch's
        # port goes down, cuts the host off just as well.
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
        _run_ip(*(f"link set {port} {'up' if up else 'down'}" for port in ports), namespace=self.open_vswitch.namespace)
        if up:
            shaping.verify_shapes(self.shapes, ports, self.open_vswitch.namespace)

    def verify(self) -> None:
        """Compare every port with its shape. RunFailed names ports whose limit is not what it should be."""
        self._map_namespaces(partial(shaping.verify_shapes, self.shapes))

    def queue_drops(self) -> dict[str, int]:
        """Packets that the queue of each port has dropped since it was limited."""
        dropped = partial(shaping.count_dropped_in_queue, self.options.shape.carrier)
        return {name: n for group in self._map_namespaces(dropped) for name, n in group.items()}

    def marked_and_paced(self) -> dict[str, int]:
        """What phantom queues and pacers have counted (`shaping.count_marked_and_paced`), of all ports together."""
        total: Counter[str] = Counter()
        for counts in self._map_namespaces(shaping.count_marked_and_paced):
            total.update(counts)
        return dict(total)

    def _map_namespaces(self, work: Callable[[list[str], int], T]) -> list[T]:
        """Do it with the ports and the namespace of every host, and of Open vSwitch."""
        ports = [*([self.ports[name][0]] for name in self.topo.hosts), self.switch_ports]
        return _map_side_by_side(work, ports, [*map(self.pid_of, self.topo.hosts), self.open_vswitch.namespace])


def _map_side_by_side(work: Callable[..., T], *arguments: Iterable[Any]) -> list[T]:
    """Map the work, which is to wait for other processes, over all at once. Raises the first that was raised."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(work, *arguments))


def _run_ip(*lines: str, namespace: int | None = None) -> None:
    run_program(["ip", "-batch", "-"], namespace=namespace, stdin_text="".join(f"{line}\n" for line in lines))


# --- Open vSwitch -------------------------------------------------------------------------------------------

# An ovsdb-server and an ovs-vswitchd of our own, in a namespace of their own, on the kernel's datapath. The system's
# Open vSwitch, and every bridge on it, is never touched: the kernel's datapath is one per network namespace.


@dataclass(frozen=True)
class Bridge:
    """One switch: its name, datapath id, and the interface behind each OpenFlow port."""

    name: str
    dpid: int
    ports: Mapping[int, str]


class OpenVSwitch:
    """An ovsdb-server and an ovs-vswitchd in a namespace that we hold, with their files in ``directory``."""

    def __init__(self, namespace: int, directory: Path) -> None:
        self.namespace = namespace
        self.directory = directory
        self._remote = f"unix:{directory}/db.sock"

    def start(self, children: Children) -> None:
        """Start both daemons (they are up when `configure` returns)."""
        if not SCHEMA.exists():
            raise UnfitMachine("Open vSwitch is missing: apt-get install openvswitch-switch")
        self.directory.mkdir(parents=True)
        database = self.directory / "conf.db"
        run_program(["ovsdb-tool", "create", str(database), str(SCHEMA)])
        server = self._start_daemon(children, "ovsdb-server", str(database), f"--remote=p{self._remote}")
        _await(self.directory / "db.sock", server, "ovsdb-server")
        self.vsctl("--no-wait", "init")
        time.sleep(max(0.0, COUNTS_PROCESSORS_S - time.monotonic()))
        self.switchd = self._start_daemon(children, "ovs-vswitchd", self._remote)

    def _start_daemon(self, children: Children, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        place = str(self.directory)
        quiet = ["--verbose=console:off", "--verbose=syslog:off", "--verbose=file:info"]
        return children.spawn(
            name,
            [name, *arguments, f"--unixctl={place}/{name}.ctl", f"--log-file={place}/{name}.log", *quiet],
            namespace=self.namespace,
            environment={"PATH": PATH} | dict.fromkeys(("OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR"), place),
        )

    def vsctl(self, *arguments: str) -> str:
        """Run ovs-vsctl on our database."""
        # The database may have a socket before it listens there, hence --retry. ovs-vsctl waits until ovs-vswitchd has
        # done what it is told, and would wait for ever for one that died: that ends after 30 s.
        return run_program(["ovs-vsctl", f"--db={self._remote}", "--timeout=30", "--retry", *arguments])

    def lost_upcalls(self) -> int:
        """Packets that the kernel's datapath wanted to hand to ovs-vswitchd and could not, since it was made."""
        shown = run_program(["ovs-appctl", "-t", f"{self.directory}/ovs-vswitchd.ctl", "dpctl/show"])
        match = re.search(r"lookups:.* lost:(\d+)", shown)
        if match is None:
            raise RunFailed("Open vSwitch does not say how many packets its kernel datapath lost")
        return int(match[1])

    def configure(self, bridges: Sequence[Bridge], controller: str, counters_ms: int = COUNTERS_MS) -> None:
        """Create all bridges, each in secure mode and connected to ``controller``. What the kernel counts is added to
        the statistics at least every ``counters_ms``.

        Returns when ovs-vswitchd has carried it out; RunFailed names any port it could not open.
        """
        _await(self.directory / "ovs-vswitchd.ctl", self.switchd, "ovs-vswitchd")
        # Open vSwitch goes by the shorter of two times, and takes max-revalidator from 100 ms up only. Below that
        # max-idle is set, which also ends the entries of flows that are idle for so long.
        shortest = f"other_config:max-{'idle' if counters_ms < 100 else 'revalidator'}={counters_ms}"
        words = ["--", "set", "Open_vSwitch", ".", shortest] if counters_ms < COUNTERS_MS else []
        size = max(1, PORTS_AT_ONCE // max(len(bridge.ports) for bridge in bridges))
        for first in range(0, len(bridges), size):
            words += _make_settings(bridges[first : first + size], controller)
            self.vsctl(*words[1:])
            words.clear()
        wanted = {interface: number for bridge in bridges for number, interface in bridge.ports.items()}
        got = json.loads(self.vsctl("--format=json", "--columns=name,ofport", "list", "Interface"))
        actual = dict(got["data"])
        wrong = [name for name, number in wanted.items() if actual.get(name) != number]
        if wrong:
            raise RunFailed(f"Open vSwitch did not give these ports their numbers: {', '.join(wrong[:5])}")


def _make_settings(bridges: Sequence[Bridge], controller: str) -> list[str]:
    """The words by which ovs-vsctl makes these bridges, in one transaction."""
    words = []
    # Ports first: after each setting ovs-vsctl reads all bridges and ports anew for the next that it adds.
    for bridge in bridges:
        words += ["--", "add-br", bridge.name]
    for bridge in bridges:
        for interface in bridge.ports.values():
            words += ["--", "add-port", bridge.name, interface]
    for bridge in bridges:
        # A switch that has lost its controller forwards nothing on its own (secure): it would learn addresses, and
        # packets would go round the loops of a fat-tree. OpenFlow 1.0 is what both controllers speak, POX no other. The
        # controller has a network of its own, so switches need no hidden entries to reach it (in-band).
        words += ["--", "set", "Bridge", bridge.name, "datapath_type=system", "fail_mode=secure"]
        words += [
            "protocols=OpenFlow10",
            f"other_config:datapath-id={bridge.dpid:016x}",
            "other_config:disable-in-band=true",
            "mcast_snooping_enable=false",
        ]
        # A switch that has lost its controller calls every second, and not more and more rarely: a controller that is
        # started again is found soon.
        words += ["--", f"--id=@c{bridge.dpid}", "create", "Controller"]
        words += [f'target="{controller}"', "max_backoff=1000"]
        words += ["--", "set", "Bridge", bridge.name, f"controller=@c{bridge.dpid}"]
        for number, interface in bridge.ports.items():
            words += ["--", "set", "Interface", interface, f"ofport_request={number}"]
    return words


def _await(socket: Path, daemon: subprocess.Popen[bytes], name: str) -> None:
    """Wait for a daemon's socket. RunFailed when the daemon ends first, or takes more than DAEMON_SOCKET_S."""
    wait_until(lambda: socket.exists() or daemon.poll() is not None, DAEMON_SOCKET_S)
    if daemon.poll() is not None:
        raise RunFailed(f"{name} ended at once (status {daemon.returncode})")
    if not socket.exists():
        raise RunFailed(f"{name} did not open its socket within {DAEMON_SOCKET_S:g} s")
