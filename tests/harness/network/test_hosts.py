import json
import os
import socket
import subprocess

import pytest

from harness.errors import RunFailed
from harness.network import hosts, namespaces
from harness.network.hosts import HostSetup, configure, ipv6_off, set_up
from harness.network.processes import run, wait_until


def script(*more):
    return HostSetup("0_0_2-eth0", "10.0.0.2", "00:00:00:00:00:02", [], "reno", *more).script


def test_ipv6_is_switched_off_where_there_is_any(tmp_path):
    """A kernel booted with ipv6.disable=1 has no such settings, and a host that asked for them would fail."""
    assert ipv6_off(tmp_path) == [
        "net.ipv6.conf.all.disable_ipv6=1",
        "net.ipv6.conf.default.disable_ipv6=1",
    ]
    assert ipv6_off(tmp_path / "nowhere") == []


def test_a_host_without_ipv6_is_configured_all_the_same(monkeypatch):
    monkeypatch.setattr("harness.network.hosts.ipv6_off", list)
    assert "ipv6" not in script()
    assert "sysctl -q -w net.ipv4.tcp_congestion_control=reno" in script()


def test_what_tcp_holds_unsent_is_limited_where_that_is_asked_for():
    assert "notsent_lowat" not in script()
    assert "net.ipv4.tcp_congestion_control=reno net.ipv4.tcp_notsent_lowat=131072\n" in script(131072)


def test_sack_and_the_shortest_timeout_are_linux_s_own_unless_asked_for():
    assert "sack" not in script()
    assert "rto_min" not in script()
    changed = script(131072, None, False, 20)
    assert "net.ipv4.tcp_notsent_lowat=131072 net.ipv4.tcp_sack=0\n" in changed
    assert "scope link src 10.0.0.2 rto_min 20ms\n" in changed


@pytest.mark.root
def test_a_host_that_cannot_be_configured_is_named_with_what_it_said(monkeypatch):
    here = os.getpid()
    configure({"a": (here, "true"), "b": (here, "true")})
    with pytest.raises(RunFailed, match=r"^host b could not be configured: no address$"):
        configure({"a": (here, "true"), "b": (here, "echo no address; exit 1"), "c": (here, "sleep 60")})
    monkeypatch.setattr(hosts, "CONFIGURE_S", 0.2)
    with pytest.raises(RunFailed, match=r"^host a was not configured within 0.2 s$"):
        configure({"a": (here, "sleep 60")})


def look(pid, *command):
    return json.loads(run([*command], namespace=pid))


@pytest.mark.root
def test_a_host_is_the_same_with_a_shell_of_its_own_and_without():
    """In virtual time a thread holds the namespace, and no shell is started in it."""
    setup = HostSetup(
        "a-eth0",
        "10.0.0.2",
        "02:00:00:00:00:02",
        [("10.0.0.3", "02:00:00:00:00:03")],
        "reno",
        131072,
        2,
        False,
        20,
    )
    seen = []
    sleeper = subprocess.Popen(["mnexec", "-n", "sleep", "60"])
    pid = namespaces.hold()
    try:
        assert wait_until(lambda: os.readlink(f"/proc/{sleeper.pid}/ns/net") != os.readlink("/proc/self/ns/net"), 5)
        for each in (sleeper.pid, pid):
            run(["ip", "link", "add", "a-eth0", "type", "veth", "peer", "name", "b-eth0"], namespace=each)
            set_up({"a": (each, setup)})
            offloads = run(["ethtool", "-k", "a-eth0"], namespace=each)
            names = ("tcp_congestion_control", "tcp_notsent_lowat", "tcp_sack")
            settings = run(["sysctl", *(f"net.ipv4.{name}" for name in names)], namespace=each)
            route = run(["ip", "route"], namespace=each)
            links = look(each, "ip", "-j", "-d", "link", "show", "a-eth0")
            told = [[one[key] for key in ("address", "gso_max_segs", "flags")] for one in links]
            addresses = look(each, "ip", "-j", "addr", "show", "a-eth0")[0]["addr_info"]
            seen.append((offloads, settings, told, addresses, look(each, "ip", "-j", "neigh"), route))
    finally:
        namespaces.release(pid)
        sleeper.kill()
        sleeper.wait()
    assert seen[0] == seen[1]
    assert "tcp-segmentation-offload: off" in seen[1][0]
    assert "tcp_congestion_control = reno" in seen[1][1]
    assert "tcp_sack = 0" in seen[1][1]
    (route,) = seen[1][5].splitlines()
    assert route.startswith("10.0.0.0/8 dev a-eth0 proto kernel scope link src 10.0.0.2 ")
    assert " rto_min lock 20ms" in route
    assert seen[1][4] == [{"dst": "10.0.0.3", "dev": "a-eth0", "lladdr": "02:00:00:00:00:03", "state": ["PERMANENT"]}]


@pytest.mark.root
def test_a_held_host_that_cannot_be_configured_is_named():
    pid = namespaces.hold()
    try:
        with pytest.raises(RunFailed, match=r"^host a could not be configured: ethtool -K none"):
            set_up({"a": (pid, HostSetup("none", "10.0.0.2", "02:00:00:00:00:02", [], "reno"))})
    finally:
        namespaces.release(pid)


@pytest.mark.root
@pytest.mark.parametrize(("changes", "sack", "rto_ms"), [((), True, 200), ((None, None, False, 20), False, 20)])
def test_a_connection_has_the_timeout_and_the_acknowledgements_that_were_asked_for(changes, sack, rto_ms):
    """As the kernel tells of it: `ss` names sack where both ends agreed to it, and the timeout in ms, which is the
    round trip, of next to nothing, and at least the shortest."""
    ends = {"a": ("10.0.0.2", "02:00:00:00:00:02"), "b": ("10.0.0.3", "02:00:00:00:00:03")}
    pids = {name: namespaces.hold() for name in ends}
    try:
        peer = ["peer", "name", "b-eth0", "netns", str(pids["b"])]
        run(["ip", "link", "add", "a-eth0", "type", "veth", *peer], namespace=pids["a"])
        known = list(ends.values())
        set_up({name: (pids[name], HostSetup(f"{name}-eth0", *ends[name], known, "reno", *changes)) for name in ends})
        with inside_socket(pids["b"]) as server, inside_socket(pids["a"]) as client:
            server.bind(("10.0.0.3", 5001))
            server.listen()
            client.connect(("10.0.0.3", 5001))
            client.sendall(b"x" * 10_000)
            with server.accept()[0] as accepted:
                assert accepted.recv(10_000)
                told = run(["ss", "-tinoH", "dport", "=", ":5001"], namespace=pids["a"])
    finally:
        for pid in pids.values():
            namespaces.release(pid)
    assert (" sack " in told) is sack
    assert rto_ms <= float(told.split(" rto:")[1].split()[0]) < rto_ms + 100


def inside_socket(pid):
    """A TCP socket of a namespace."""
    return namespaces.inside(pid, lambda: socket.socket())
