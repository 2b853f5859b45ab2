import os

import pytest

from harness.errors import RunFailed
from harness.network import hosts
from harness.network.hosts import configure, host_script, ipv6_off


def script(*more):
    return host_script("0_0_2-eth0", "10.0.0.2", "00:00:00:00:00:02", [], "reno", *more)


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


@pytest.mark.root
def test_a_host_that_cannot_be_configured_is_named_with_what_it_said(monkeypatch):
    here = os.getpid()
    configure({"a": (here, "true"), "b": (here, "true")})
    with pytest.raises(RunFailed, match=r"^host b could not be configured: no address$"):
        configure({"a": (here, "true"), "b": (here, "echo no address; exit 1"), "c": (here, "sleep 60")})
    monkeypatch.setattr(hosts, "CONFIGURE_S", 0.2)
    with pytest.raises(RunFailed, match=r"^host a was not configured within 0.2 s$"):
        configure({"a": (here, "sleep 60")})
