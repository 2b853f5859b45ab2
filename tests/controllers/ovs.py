"""A private Open vSwitch in a network namespace of its own: a whole fat-tree, with a few hosts attached."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness.network.hosts import ipv6_off
from tests.controllers.fake_switch import wait_for
from topos.fattree import FatTree

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"


def run(*command, env=None, timeout=30, check=True):
    done = subprocess.run(command, env=env, timeout=timeout, capture_output=True, text=True)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return done


class Fabric:
    """Bridges joined by patch ports, named as the topology names them; hosts are namespaces on veth pairs."""

    def __init__(self, tree: FatTree):
        self.tree = tree
        self.namespace = f"hct{os.getpid()}"
        self.hosts = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *exc):
        self._stack.close()

    def _start(self):
        folder = Path(tempfile.mkdtemp(prefix="hct-ovs-"))
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        self.env = dict(os.environ, OVS_RUNDIR=str(folder), OVS_DBDIR=str(folder), OVS_LOGDIR=str(folder))
        run("ip", "netns", "add", self.namespace)
        self._stack.callback(run, "ip", "netns", "del", self.namespace)
        self.exec("ip", "link", "set", "lo", "up")
        database, socket = folder / "conf.db", f"unix:{folder}/db.sock"
        run("ovsdb-tool", "create", str(database), SCHEMA)
        self._daemon("ovsdb-server", f"--remote=p{socket}", str(database))
        self._socket = socket
        wait_for(lambda: (folder / "db.sock").exists(), 5)
        self.vsctl("--no-wait", "init")
        self._daemon("ovs-vswitchd", "--disable-system", socket)

    def _daemon(self, *command):
        self.child(self.inside(*command), env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def inside(self, *command):
        return ["ip", "netns", "exec", self.namespace, *command]

    def child(self, command, **options):
        """A process that ends with the fabric, if it has not before."""
        process = subprocess.Popen(command, **options)
        self._stack.callback(end, process)
        return process

    def exec(self, *command, **options):
        return run(*self.inside(*command), **options)

    def vsctl(self, *command):
        return run("ovs-vsctl", f"--db={self._socket}", "--timeout=20", *command, env=self.env).stdout

    def ofctl(self, *command):
        return run("ovs-ofctl", "-O", "OpenFlow10", *command, env=self.env).stdout

    def build(self, controller):
        """All bridges and the links between them, in one transaction."""
        command = []
        for name in self.tree.switches:
            bridge = "s" + name
            command += ["--", "add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=netdev"]
            command += ["fail_mode=secure", "protocols=OpenFlow10"]
            command += [f"other_config:datapath-id={self.tree.dpid(name):016x}"]
            command += ["--", "set-controller", bridge, f"tcp:{controller}"]
            command += ["--", "set", "controller", bridge, "connection_mode=out-of-band"]
        for link in self.tree.links():
            if link.lower in self.tree.switches:
                down, up = f"{link.lower}-{link.lower_port}", f"{link.upper}-{link.upper_port}"
                command += self._patch(link.lower, link.lower_port, down, up)
                command += self._patch(link.upper, link.upper_port, up, down)
        self.vsctl(*command)

    @staticmethod
    def _patch(switch, port, name, peer):
        return [
            *("--", "add-port", "s" + switch, name, "--", "set", "interface", name),
            *("type=patch", f"options:peer={peer}", f"ofport_request={port}"),
        ]

    def attach(self, host):
        """A namespace for a host, static ARP for all others, offloads that the userspace datapath breaks off."""
        tree, name = self.tree, f"{self.namespace}h{host}"
        run("ip", "netns", "add", name)
        self._stack.callback(run, "ip", "netns", "del", name)
        port = f"{self.namespace}v{host}"
        run("ip", "link", "add", port, "netns", self.namespace, "type", "veth", "peer", "name", "eth0", "netns", name)
        self.exec("ip", "link", "set", port, "up")
        link = next(link for link in tree.links() if link.lower == tree.host_name(host))
        self.vsctl(
            *("add-port", "s" + link.upper, port, "--", "set", "interface", port), f"ofport_request={link.upper_port}"
        )
        self.hosts[host] = name
        for setting in ipv6_off():
            self.at(host, "sysctl", "-qw", setting)
        self.at(host, "ip", "link", "set", "eth0", "address", tree.host_mac(host))
        self.at(host, "ethtool", "-K", "eth0", "tx", "off", "tso", "off", "gso", "off", "sg", "off")
        self.at(host, "ip", "address", "add", tree.host_ip(host) + "/8", "dev", "eth0")
        self.at(host, "ip", "link", "set", "eth0", "up")
        self.at(host, "ip", "link", "set", "lo", "up")

    def at(self, host, *command, **options):
        return run(*self.at_command(host, *command), **options)

    def at_command(self, host, *command):
        return ["ip", "netns", "exec", self.hosts[host], *command]


def end(process):
    """End one child, by its own handle."""
    process.terminate()
    try:
        process.wait(120)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
