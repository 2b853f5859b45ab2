"""An Open vSwitch of our own: ovsdb-server and ovs-vswitchd in a namespace of their own, on the kernel's datapath.

The system's Open vSwitch, and every bridge on it, is never touched: the kernel's datapath is one per network namespace.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.network.processes import Children, run, wait_until
from record.errors import RunFailed, UnfitMachine

COUNTS_PROCESSORS_S = 10.5
"""How long after boot ovs-vswitchd may be started (see `OpenVSwitch.start`)."""
COUNTERS_MS = 500
"""How often Open vSwitch itself looks at the kernel's counters."""
PORTS_AT_ONCE = 5120
"""In one transaction, as many as k = 16 has: a program may be given 2 MB of arguments."""
START_S = 10.0
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
"""Where the daemons find what they start."""
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")


@dataclass(frozen=True)
class Bridge:
    """One switch: its name, datapath id, and the interface behind each OpenFlow port."""

    name: str
    dpid: int
    ports: Mapping[int, str]


class OpenVSwitch:
    """An ovsdb-server and an ovs-vswitchd in a namespace that we hold, with their files in ``directory``."""

    def __init__(self, pid: int, directory: Path) -> None:
        self.pid = pid
        self.directory = directory
        self._remote = f"unix:{directory}/db.sock"

    def start(self, children: Children) -> None:
        """Start both daemons (they are up when `configure` returns)."""
        if not SCHEMA.exists():
            raise UnfitMachine("Open vSwitch is missing: apt-get install openvswitch-switch")
        self.directory.mkdir(parents=True)
        database = self.directory / "conf.db"
        run(["ovsdb-tool", "create", str(database), str(SCHEMA)])
        server = self._daemon(children, "ovsdb-server", str(database), f"--remote=p{self._remote}")
        _await(self.directory / "db.sock", server, "ovsdb-server")
        self.vsctl("--no-wait", "init")
        # In the first 10 s after boot Open vSwitch 3 counts no processors, starts no thread for what the kernel
        # datapath does not know, and loses every first packet.
        time.sleep(max(0.0, COUNTS_PROCESSORS_S - time.monotonic()))
        self.switchd = self._daemon(children, "ovs-vswitchd", self._remote)

    def _daemon(self, children: Children, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        place = str(self.directory)
        quiet = ["--verbose=console:off", "--verbose=syslog:off", "--verbose=file:info"]
        return children.spawn(
            name,
            [name, *arguments, f"--unixctl={place}/{name}.ctl", f"--log-file={place}/{name}.log", *quiet],
            namespace=self.pid,
            environment={"PATH": PATH} | dict.fromkeys(("OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR"), place),
        )

    def vsctl(self, *arguments: str) -> str:
        """Run ovs-vsctl on our database, which may have a socket before it listens there."""
        return run(["ovs-vsctl", f"--db={self._remote}", "--timeout=30", "--retry", *arguments])

    def lost_upcalls(self) -> int:
        """Packets that the kernel's datapath wanted to hand to ovs-vswitchd and could not, since it was made."""
        shown = run(["ovs-appctl", "-t", f"{self.directory}/ovs-vswitchd.ctl", "dpctl/show"])
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
        # It goes by the shorter of two times, and takes the second from 100 ms up only; the first also ends idle flows.
        shortest = f"other_config:max-{'idle' if counters_ms < 100 else 'revalidator'}={counters_ms}"
        words = ["--", "set", "Open_vSwitch", ".", shortest] if counters_ms < COUNTERS_MS else []
        size = max(1, PORTS_AT_ONCE // max(len(bridge.ports) for bridge in bridges))
        for first in range(0, len(bridges), size):
            words += _settings(bridges[first : first + size], controller)
            self.vsctl(*words[1:])
            words.clear()
        wanted = {interface: number for bridge in bridges for number, interface in bridge.ports.items()}
        got = json.loads(self.vsctl("--format=json", "--columns=name,ofport", "list", "Interface"))
        actual = dict(got["data"])
        wrong = [name for name, number in wanted.items() if actual.get(name) != number]
        if wrong:
            raise RunFailed(f"Open vSwitch did not give these ports their numbers: {', '.join(wrong[:5])}")


def _settings(bridges: Sequence[Bridge], controller: str) -> list[str]:
    """What ovs-vsctl is told for them, in one transaction."""
    words = []
    # Ports first: after each setting ovs-vsctl reads all bridges and ports anew for the next that it adds.
    for bridge in bridges:
        words += ["--", "add-br", bridge.name]
    for bridge in bridges:
        for interface in bridge.ports.values():
            words += ["--", "add-port", bridge.name, interface]
    for bridge in bridges:
        words += ["--", "set", "Bridge", bridge.name, "datapath_type=system", "fail_mode=secure"]
        words += [
            "protocols=OpenFlow10",
            f"other_config:datapath-id={bridge.dpid:016x}",
            "other_config:disable-in-band=true",
            "mcast_snooping_enable=false",
        ]
        # Every second, not more and more rarely: a controller that is started again is found soon.
        words += ["--", f"--id=@c{bridge.dpid}", "create", "Controller"]
        words += [f'target="{controller}"', "max_backoff=1000"]
        words += ["--", "set", "Bridge", bridge.name, f"controller=@c{bridge.dpid}"]
        for number, interface in bridge.ports.items():
            words += ["--", "set", "Interface", interface, f"ofport_request={number}"]
    return words


def _await(socket: Path, daemon: subprocess.Popen[bytes], name: str) -> None:
    """RunFailed when a daemon ends, or takes more than START_S, before it opens a socket."""
    wait_until(lambda: socket.exists() or daemon.poll() is not None, START_S)
    if daemon.poll() is not None:
        raise RunFailed(f"{name} ended at once (status {daemon.returncode})")
    if not socket.exists():
        raise RunFailed(f"{name} did not open its socket within {START_S:g} s")
