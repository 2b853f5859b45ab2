import json
import socket

import pytest

from harness.errors import RunFailed
from harness.network import namespaces
from harness.network.hosts import HostSetup, ipv6_off, set_up
from harness.network.processes import run


def host(*more, interface="a-eth0"):
    neighbours = [("10.0.0.2", "02:00:00:00:00:02"), ("10.0.0.3", "02:00:00:00:00:03")]
    return HostSetup(interface, *neighbours[0], neighbours, "reno", *more)


def test_ipv6_is_switched_off_where_there_is_any(tmp_path):
    """A kernel booted with ipv6.disable=1 has no such settings, and a host that asked for them would fail."""
    assert ipv6_off(tmp_path) == ["net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1"]
    assert ipv6_off(tmp_path / "nowhere") == []


def test_only_what_is_asked_for_differs_from_linux_s_own(monkeypatch):
    monkeypatch.setattr("harness.network.hosts.ipv6_off", list)
    assert host().settings == ["net.ipv4.tcp_congestion_control=reno"]
    assert "rto_min" not in host().batch
    changed = host(131072, False, 20)
    assert changed.settings[1:] == ["net.ipv4.tcp_notsent_lowat=131072", "net.ipv4.tcp_sack=0"]
    assert "scope link src 10.0.0.2 rto_min 20ms\n" in changed.batch


@pytest.fixture
def pid():
    pid = namespaces.hold()
    yield pid
    namespaces.release(pid)


@pytest.mark.root
def test_a_host_is_what_it_is_set_up_to_be(pid):
    run(["ip", "link", "add", "a-eth0", "type", "veth", "peer", "name", "b-eth0"], namespace=pid)
    set_up("a", pid, host(131072, False, 20))
    assert "tcp-segmentation-offload: off" in run(["ethtool", "-k", "a-eth0"], namespace=pid)
    names = ("tcp_congestion_control", "tcp_notsent_lowat", "tcp_sack")
    settings = run(["cat", *(f"/proc/sys/net/ipv4/{name}" for name in names)], namespace=pid)
    assert settings.split() == ["reno", "131072", "0"]
    route = run(["ip", "route"], namespace=pid)
    assert route.startswith("10.0.0.0/8 dev a-eth0 proto kernel scope link src 10.0.0.2 ")
    assert " rto_min lock 20ms" in route
    (known,) = json.loads(run(["ip", "-j", "neigh"], namespace=pid))
    assert known == {"dst": "10.0.0.3", "dev": "a-eth0", "lladdr": "02:00:00:00:00:03", "state": ["PERMANENT"]}


@pytest.mark.root
def test_a_host_that_cannot_be_configured_is_named(pid):
    with pytest.raises(RunFailed, match=r"^host a could not be configured: ethtool -K none"):
        set_up("a", pid, host(interface="none"))


@pytest.mark.root
@pytest.mark.parametrize(("changes", "sack", "rto_ms"), [((), True, 200), ((None, False, 20), False, 20)])
def test_a_connection_has_the_timeout_and_the_acknowledgements_that_were_asked_for(changes, sack, rto_ms):
    """As the kernel tells of it: `ss` names sack where both ends agreed to it, and the timeout in ms, which is the
    round trip, of next to nothing, and at least the shortest."""
    ends = {"a": ("10.0.0.2", "02:00:00:00:00:02"), "b": ("10.0.0.3", "02:00:00:00:00:03")}
    pids = {name: namespaces.hold() for name in ends}
    try:
        peer = ["peer", "name", "b-eth0", "netns", str(pids["b"])]
        run(["ip", "link", "add", "a-eth0", "type", "veth", *peer], namespace=pids["a"])
        known = list(ends.values())
        for name in ends:
            set_up(name, pids[name], HostSetup(f"{name}-eth0", *ends[name], known, "reno", *changes))
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
