"""Any command in virtual time: its output, status, files and end."""

import io
import shutil
import signal
import subprocess
import sys

import pytest

from record.errors import WorkerFailed
from tests.commands import HEDERA, PATIENCE_S, ran
from virtual import cache
from virtual.command import run

pytestmark = pytest.mark.virtual


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(script, **options):
    said, complained = io.BytesIO(), io.BytesIO()
    done = run(["sh", "-c", script], stdout=said, stderr=complained, **options)
    return done, said.getvalue(), complained.getvalue()


def test_output_status_and_what_is_brought_back(place):
    (place / "mine").write_text("before")
    script = "cat; echo no >&2; sleep 100; cat mine; echo after >mine; echo new >other; echo left >$OUT/one; exit 7"
    done, said, complained = shell(script, stdin=b"given ", out=place / "out", keep=["mine"])
    assert (done.status, said, complained) == (7, b"given before", b"no\n")
    assert done.time_travel
    assert 100 <= done.simulated_s < 102
    assert (place / "out" / "one").read_text() == "left\n"
    assert (place / "mine").read_text() == "after\n"
    assert not (place / "other").exists()


@pytest.mark.parametrize(
    ("kept", "error"), [("/etc/passwd", ValueError), ("../other", ValueError), ("nothing", WorkerFailed)]
)
def test_what_is_not_there_or_outside_the_folder_cannot_be_kept(place, kept, error):
    with pytest.raises(error):
        run(["true"], keep=[kept])


def test_open_vswitch_is_there_when_it_is_asked_for(place):
    done, said, _ = shell("ovs-vsctl add-br s1 && ovs-vsctl list-br && ovs-ofctl dump-flows s1 | grep -c priority")
    assert (done.status, said) == (0, b"s1\n1\n")


def test_a_package_is_there_for_the_guest_alone(place):
    if ran("apt-cache", "show", "hello").returncode or shutil.which("hello"):
        pytest.skip("the package hello is installed, or not in this machine's lists")
    done, said, _ = shell("hello", packages=["hello"])
    assert (done.status, said) == (0, b"Hello, world!\n")
    assert shutil.which("hello") is None


@pytest.mark.parametrize("name", ["-oDir=/", "no such", "../hello"])
def test_what_is_no_package_s_name_is_refused(name):
    with pytest.raises(ValueError, match="package"):
        run(["true"], packages=[name])


def test_ctrl_c_leaves_nothing(place):
    left = ["grep", "-rqs", "--include=told", str(place), cache.make_folder("jobs")]
    script = "echo on; while :; do sleep 1; done"
    closed = ("sh", "-c", 'exec "$@" <&-', "sh")  # without standard input
    with subprocess.Popen([*closed, HEDERA, "guest", "--", "sh", "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"on\n"
        assert subprocess.run(left).returncode == 0
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 130
    assert subprocess.run(left).returncode != 0


def test_what_waits_for_ever_ends_by_the_guest_s_clock_and_is_named(place):
    script = "import os, subprocess\nprint('begun')\nopen(os.environ['OUT'] + '/one', 'w').write('left\\n')\n"
    script += "subprocess.run(['sleep', 'infinity'])"
    said = io.BytesIO()
    with pytest.raises(WorkerFailed, match=r"after 20 s of its own clock.* sleep infinity$"):
        run([sys.executable, "-c", script], stdout=said, out=place / "out", until_s=20)
    assert said.getvalue() == b"begun\n"
    assert (place / "out" / "one").read_text() == "left\n"


def test_output_is_there_when_a_guest_is_ended_by_ours(place):
    said, patience_s = (io.BytesIO(), 10 + 10 * run(["true"], stdout=io.BytesIO()).real_s)
    with pytest.raises(WorkerFailed, match="did not finish within"):
        run(["sh", "-c", "echo begun; while :; do sleep 0.001; done"], stdout=said, until_s=1e9, real_s=patience_s)
    assert said.getvalue() == b"begun\n"


# --- what the kernel of programs has more than that of runs ---

HOSTS = """
ip netns add a; ip netns add b; ip link add v netns a type veth peer name w netns b
ip -n a addr add 10.0.0.1/24 dev v; ip -n b addr add 10.0.0.2/24 dev w
for n in a b; do ip -n $n link set lo up; done; ip -n a link set v up; ip -n b link set w up
"""
SEND = (
    HOSTS + "ip netns exec b iperf -s >/dev/null & sleep 1; ip netns exec a iperf -c 10.0.0.2 -t 2 -y C | cut -d, -f9\n"
)


def test_limits_on_processors_are_taken_and_read_and_slow_nobody(place):
    script = """
    cgcreate -g cpu,cpuacct,cpuset:/h1 && cgset -r cpu.cfs_period_us=100000 /h1 && cgset -r cpu.cfs_quota_us=6250 /h1
    cgset -r cpuset.cpus=0 /h1 && cgset -r cpuset.mems=0 /h1 && cgclassify -g cpu,cpuset:/h1 $$
    cgget -n -v -r cpu.cfs_quota_us -r cpuset.cpus /h1
    i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done
    cat /sys/fs/cgroup/cpu/h1/tasks | grep -c $$; cgdelete -r cpu:/h1
    """
    done, said, complained = shell(script)
    assert (done.status, said.split(), complained) == (0, [b"6250", b"0", b"1"], b"")
    assert done.simulated_s < 1
    assert "limits on processors are taken and slow nobody" in done.notes[0]
    done, _, _ = shell("cgcreate -g cpu:/h1 && cgset -r cpu.cfs_quota_us=-1 /h1")
    assert done.notes == (), "none is asked for"


def test_bridges_vlans_nat_and_ipv6(place):
    if ran("apt-cache", "show", "iptables", "nftables").returncode:
        pytest.skip("iptables and nftables are not in this machine's lists")
    script = HOSTS.replace(
        "netns b\n", "netns b; ip netns add c; ip link add x netns b type veth peer name y netns c\n", 1
    )
    script += """
    ip -n b link add br0 type bridge && ip -n b link set x master br0 up && ip -n b addr add 10.1.0.1/24 dev br0
    ip -n b link set br0 up; ip -n c link set lo up; ip -n c link set y up; ip -n c addr add 10.1.0.2/24 dev y
    ip -n a route add default via 10.0.0.2; ip netns exec b sysctl -qw net.ipv4.ip_forward=1
    ip netns exec a ping -c1 -W1 10.1.0.2 >/dev/null; echo without $?
    ip netns exec b iptables -t nat -A POSTROUTING -o br0 -j MASQUERADE
    ip netns exec a ping -c1 -W1 10.1.0.2 >/dev/null
    echo nat $?
    ip netns exec b nft list ruleset | grep -c masquerade
    ip -n a link add link v name v.7 type vlan id 7 && ip -n b link add link w name w.7 type vlan id 7
    ip -n a addr add fd00::1/64 dev v.7 nodad; ip -n b addr add fd00::2/64 dev w.7 nodad
    ip -n a link set v.7 up; ip -n b link set w.7 up; ip netns exec a ping -c1 -W1 fd00::2 >/dev/null; echo vlan $?
    """
    done, said, complained = shell(script, packages=["iptables", "nftables"])
    assert said.decode().split() == ["without", "1", "nat", "0", "1", "vlan", "0"], complained
    assert done.notes == ()


def test_a_link_without_a_rate_gets_one_and_that_is_told_where_it_was_full(place):
    done, said, _ = shell(SEND, link_mbps=100)
    assert 85e6 < int(said) < 110e6
    assert done.notes == ("links without a rate had 100 Mb/s, and were full (--link-rate)",)
    done, said, _ = shell(HOSTS + "ip netns exec a ping -c2 10.0.0.2 >/dev/null; tc -n a qdisc show dev v")
    assert said.startswith(b"qdisc noqueue"), "nothing is seen of it"
    assert done.notes == ()
    with pytest.raises(ValueError, match="whole number of Mb/s"):
        run(["true"], link_mbps=-1)


def test_packets_that_stand_for_many_are_told_and_can_be_left_out(place):
    """A queue of 20 packets: of 64 kB, it is a megabyte."""
    shaped = SEND.replace(
        "ip netns exec b iperf",
        "tc -n a qdisc add dev v root handle 1: htb default 1\ntc -n a class add dev v classid 1:1 htb rate 10mbit\n"
        "ip netns exec b iperf",
    )
    done, _, _ = shell(shaped)
    (note,) = done.notes
    assert "bytes on average, and its MTU is 1,500: --no-offload" in note
    assert int(note.partition(" had ")[2].split()[0].replace(",", "")) > 3000
    done, said, _ = shell(shaped, offload=False)
    assert done.notes == ()
    assert 9e6 < int(said) < 14e6


def test_a_program_that_is_not_there_is_named_with_its_package(place):
    if shutil.which("tshark") or shutil.which("vconfig"):
        pytest.skip("they are installed")
    done, _, _ = shell(
        "tshark -v; python3 -c 'import subprocess; subprocess.run([\"vconfig\"])'; nothing-of-ours; true"
    )
    silent = run(["bash", "-c", "tshark 2>/dev/null"])
    assert silent.notes == ("tshark is not on this machine: --with tshark",), "though nobody said so"
    assert done.notes == ("tshark is not on this machine: --with tshark", "vconfig is not on this machine: --with vlan")


# --- Mininet's programs ---

MINIMAL = """
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import {switch}
net = Mininet(switch={switch}, link=TCLink{more})
c, s, hosts = net.addController("c0"), net.addSwitch("s1"), [net.addHost(f"h{{i}}") for i in (1, 2, 3)]
for host in hosts:
    net.addLink(host, s, bw=10)
net.start()
print(net.pingAll())
print(s.cmd("tc class show dev s1-eth1").split("rate ")[1].split()[0])
print(s.dpctl("dump-flows").count("actions=output"))
net.stop()
"""


def test_a_switch_finds_its_controller_at_once(place):
    """A script that does not wait for it: on a machine the controller listens long before the switch looks for it."""
    for seed in range(3):
        done, said, complained = shell(
            f"/usr/bin/python3 -c '{MINIMAL.format(switch='OVSSwitch', more='')}'", seed=seed
        )
        assert said.split()[:2] == [b"0.0", b"10Mbit"], complained
        assert done.simulated_s < 2


def test_stanford_s_user_switch_is_open_vswitch(place):
    program = MINIMAL.format(switch="UserSwitch", more=", waitConnected=True")
    done, said, complained = shell(
        f"/usr/bin/python3 -c '{program}'; sleep 1; ls /run/ours/user-switches/*; ovs-vsctl list-br"
    )
    dropped, rate, flows, *left = said.split()
    assert (done.status, dropped, rate) == (0, b"0.0", b"10Mbit"), complained
    assert int(flows) >= 12
    assert left == [b"lock"], "it has gone with its network"


def test_a_user_switch_in_a_namespace_goes_on_to_the_next_controller(place):
    """As ofprotocol does; and dpctl tells who is connected, and takes commands."""
    script = """
    ip netns add n; ip -n n link set lo up
    for h in a b; do ip netns add $h; ip link add p$h netns n type veth peer name e netns $h; done
    ip -n a addr add 10.0.0.1/24 dev e; ip -n b addr add 10.0.0.2/24 dev e; ip -n a link set e up; ip -n b link set e up
    ip -n n link set pa up; ip -n n link set pb up
    ip netns exec n controller ptcp:6001 & first=$!
    ip netns exec n controller ptcp:6002 &
    ip netns exec n ofdatapath -i pa,pb punix:/tmp/s1 -d 00000000000a --no-slicing &
    ip netns exec n ofprotocol unix:/tmp/s1 tcp:127.0.0.1:6001,tcp:127.0.0.1:6002 --fail=closed --max-backoff=1 \
        --listen=punix:/tmp/s1.listen &
    sleep 8; ip netns exec n dpctl status unix:/tmp/s1.listen | grep remote; kill $first
    sleep 20; ip netns exec n dpctl status unix:/tmp/s1.listen | grep remote
    ip netns exec a ping -c1 10.0.0.2 >/dev/null; echo $?
    ip netns exec n dpctl show unix:/tmp/s1.listen | grep -o 'dpid:.*'
    ip netns exec n dpctl add-flow unix:/tmp/s1.listen in_port=1,actions=output:2
    ip netns exec n dpctl dump-flows unix:/tmp/s1.listen | grep -c 'in_port=.*actions=output'
    """
    _, said, complained = shell(script)
    first, second = "tcp:127.0.0.1:6001", "tcp:127.0.0.1:6002"
    *lines, flows = said.decode().splitlines()
    assert lines == [
        f"{first}: connected",
        "remote.is-connected=true",
        f"{first}: disconnected",
        f"{second}: connected",
        "remote.is-connected=true",
        "0",
        "dpid:000000000000000a",
    ], complained
    assert int(flows) >= 1
