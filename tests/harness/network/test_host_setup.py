"""Hosts as they are set up, and leave for them to choose an algorithm of TCP, which is taken back."""

import json
import socket
from contextlib import nullcontext

import pytest

from harness.network import host_setup, machine, netlink
from harness.network.host_setup import (
    ALLOWED,
    COUNTS_AGAIN,
    Tcp,
    list_ipv6_settings,
    permit,
    require_rack_off,
    restore,
    set_up_host,
)
from harness.network.processes import run_program
from record.errors import UnfitMachine
from virtual.kernel.build import FROM

KNOWN = {"10.0.0.2": "02:00:00:00:00:02", "10.0.0.3": "02:00:00:00:00:03"}


def test_ipv6_is_switched_off_where_there_is_any(tmp_path):
    """A kernel booted with ipv6.disable=1 has no such settings, and a host that asked for them would fail."""
    assert list_ipv6_settings(tmp_path) == ["net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1"]
    assert list_ipv6_settings(tmp_path / "nowhere") == []


@pytest.mark.root
def test_a_host_is_what_it_is_set_up_to_be(pid):
    run_program(["ip", "link", "add", "a-eth0", "type", "veth", "peer", "name", "b-eth0"], namespace=pid)
    set_up_host(
        "a", pid, "a-eth0", "10.0.0.2", KNOWN, Tcp("reno", 131072, False, False, False, 20, 3, False, True, True)
    )
    features = run_program(["ethtool", "-k", "a-eth0"], namespace=pid)
    for each in ("tx-tcp-segmentation: off", "tx-tcp6-segmentation: off", "generic-segmentation-offload: off"):
        assert each in features
    assert "tx-checksumming: on" in features
    (address,) = (
        one for one in json.loads(run_program(["ip", "-j", "addr"], namespace=pid)) if one["ifname"] == "a-eth0"
    )
    assert (address["address"], "UP" in address["flags"]) == (KNOWN["10.0.0.2"], True)
    names = ("congestion_control", "notsent_lowat", "sack", "recovery", "early_retrans", "timestamps")
    settings = run_program(["cat", *(f"/proc/sys/net/ipv4/tcp_{name}" for name in names)], namespace=pid)
    assert settings.split() == ["reno", "131072", "0", "0", "0", "0"]
    route = run_program(["ip", "route"], namespace=pid)
    assert route.startswith("10.0.0.0/8 dev a-eth0 proto kernel scope link src 10.0.0.2 ")
    assert " rto_min lock 20ms" in route
    assert " initcwnd 3" in route
    assert " quickack 1" in route
    (link,) = json.loads(run_program(["ip", "-d", "-j", "link", "show", "a-eth0"], namespace=pid))
    assert link["gso_max_segs"] == 1
    (known,) = json.loads(run_program(["ip", "-j", "neigh"], namespace=pid))
    assert known == {"dst": "10.0.0.3", "dev": "a-eth0", "lladdr": "02:00:00:00:00:03", "state": ["PERMANENT"]}


@pytest.mark.root
@pytest.mark.parametrize(
    ("changes", "sack", "rto_ms", "window"),
    [
        ((), True, 200, 10),
        ((None, False, True, True, 20), False, 20, 10),
        ((None, True, True, True, None, 3), True, 200, 3),
    ],
)
def test_a_connection_has_the_timeout_and_the_acknowledgements_that_were_asked_for(changes, sack, rto_ms, window):
    """As the kernel tells of it: `ss` names sack where both ends agreed to it, and the timeout in ms, which is the
    round trip, of next to nothing, and at least the shortest."""
    pids = {name: netlink.hold_namespace() for name in "ab"}
    try:
        peer = ["peer", "name", "b-eth0", "netns", str(pids["b"])]
        run_program(["ip", "link", "add", "a-eth0", "type", "veth", *peer], namespace=pids["a"])
        for name, ip in zip("ab", KNOWN, strict=True):
            set_up_host(name, pids[name], f"{name}-eth0", ip, KNOWN, Tcp("reno", *changes))
        with (
            netlink.call_inside(pids["b"], socket.socket) as server,
            netlink.call_inside(pids["a"], socket.socket) as client,
        ):
            server.bind(("10.0.0.3", 5001))
            server.listen()
            client.connect(("10.0.0.3", 5001))
            idle = run_program(["ss", "-tinoH", "dport", "=", ":5001"], namespace=pids["a"])
            client.sendall(b"x" * 10_000)
            with server.accept()[0] as accepted:
                assert accepted.recv(10_000)
                told = run_program(["ss", "-tinoH", "dport", "=", ":5001"], namespace=pids["a"])
    finally:
        for pid in pids.values():
            netlink.release_namespace(pid)
    assert (" sack " in told) is sack
    assert f" cwnd:{window} " in idle
    assert rto_ms <= float(told.split(" rto:")[1].split()[0]) < rto_ms + 100


@pytest.mark.parametrize(
    ("release", "able", "in_guests"),
    [("6.1.0-50-amd64", True, True), ("6.17.1", False, False), ("7.2.13", False, True), ("10.0", False, True)],
)
def test_rack_is_switched_off_where_linux_has_another_recovery(release, able, in_guests):
    for of_guests, possible in ((False, able), (True, in_guests)):
        with nullcontext() if possible else pytest.raises(UnfitMachine, match=r"nothing but RACK since 6\.17"):
            require_rack_off(release, of_guests=of_guests)


def test_the_kernels_of_virtual_time_count_from_where_our_change_is_made():
    assert FROM["16-tcp-losses-by-dupthresh.patch"] == COUNTS_AGAIN


@pytest.fixture
def sysctl(tmp_path, monkeypatch):
    """Settings of a kernel that allows BBR alone, and has cubic as well."""
    folder = tmp_path / "sysctl"
    folder.mkdir()
    (folder / "tcp_available_congestion_control").write_text("bbr cubic\n")
    (folder / ALLOWED).write_text("bbr\n")
    monkeypatch.setattr(machine, "SYSCTL", folder)
    monkeypatch.setattr(host_setup.subprocess, "run", lambda *_, **__: None)
    return folder / ALLOWED


@pytest.mark.parametrize(
    ("name", "meanwhile", "afterwards"),
    [
        ("cubic", ["bbr", "cubic"], ["bbr"]),
        ("bbr", ["bbr"], ["bbr"]),
        ("cubic", ["bbr", "cubic", "reno"], ["bbr", "reno"]),
    ],
)
def test_an_algorithm_is_allowed_while_the_block_runs(sysctl, tmp_path, name, meanwhile, afterwards):
    with permit(name, tmp_path):
        assert sysctl.read_text().split() == [one for one in meanwhile if one != "reno"]
        assert (tmp_path / ALLOWED).exists() == (name == "cubic"), "a note, should this process be killed"
        sysctl.write_text(" ".join(meanwhile))  # others may add to it
    assert sysctl.read_text().split() == afterwards
    assert not (tmp_path / ALLOWED).exists()


def test_a_note_of_a_killed_run_is_carried_out_once_and_a_link_is_none(sysctl, tmp_path):
    sysctl.write_text("bbr cubic\n")
    note = tmp_path / ALLOWED
    (tmp_path / "other").write_text("bbr")
    note.symlink_to(tmp_path / "other")
    assert not restore(tmp_path)
    note.unlink()
    note.write_text("cubic")
    assert restore(tmp_path)
    assert sysctl.read_text().split() == ["bbr"]
    assert not restore(tmp_path)
