"""The control groups of hosts, in a folder that stands for the kernel's."""

import pytest

from harness.network import cpulimit
from harness.network.cpulimit import HostGroups


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(cpulimit, "ROOT", tmp_path)
    monkeypatch.setattr(cpulimit, "time_travels", lambda: False)
    monkeypatch.setattr(cpulimit, "processors", lambda: 2)
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory\n")
    return tmp_path


def test_every_host_has_its_share_of_the_processors_and_a_burst_of_as_much(root):
    with HostGroups("1-2", 0.0625) as groups:
        assert groups.applied
        assert (root / "hedera-1-2" / "cgroup.subtree_control").read_text() == "+cpu"
        assert groups.procs_file("0_0_2") == root / "hedera-1-2" / "0_0_2" / "cgroup.procs"
        assert (root / "hedera-1-2" / "0_0_2" / "cpu.max").read_text() == "12500 100000"
        assert (root / "hedera-1-2" / "0_0_2" / "cpu.max.burst").read_text() == "12500"
        (root / "hedera-1-2" / "0_0_2" / "cpu.stat").write_text("nr_periods 9\nthrottled_usec 1234567\n")
        groups.procs_file("0_0_3")
        (root / "hedera-1-2" / "0_0_3" / "cpu.stat").write_text("throttled_usec 0\n")
        assert groups.throttled_s() == {"0_0_2": 1.235}


@pytest.mark.parametrize("why_not", ["not handed down", "virtual time", "refused", "no such file"])
def test_where_there_is_no_limit_it_says_why_and_hosts_do_without(root, monkeypatch, why_not):
    if why_not == "not handed down":
        (root / "cgroup.subtree_control").write_text("memory\n")
    elif why_not == "virtual time":
        monkeypatch.setattr(cpulimit, "time_travels", lambda: True)
    elif why_not == "refused":
        (root / "hedera-1-2").write_text("in the way")
    else:
        (root / "cgroup.subtree_control").unlink()
    with HostGroups("1-2", 0.5) as groups:
        assert not groups.applied
        assert groups.procs_file("0_0_2") is None
        assert groups.throttled_s() == {}
    assert groups.reason


def test_a_group_goes_with_those_in_it(root):
    (root / "hedera-1-2" / "0_0_2").mkdir(parents=True)
    cpulimit.remove_group(root / "hedera-1-2")
    assert not (root / "hedera-1-2").exists()
