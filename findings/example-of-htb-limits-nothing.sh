#!/bin/bash
# pyroute2 0.9.7 (Linux's links and queues from Python).
# Done: the queue that the package's own example of HTB makes, default=0x200000 and a class 0x10020 of 128 kbit/s, on a
# virtual cable, without the example's filters; then 100 packets of 1,000 bytes are sent, all at once.
# Expected: they are in the default class, which lets some twenty of them through in a second.
# Seen: all 100 are at the other end, 100 by direct_packets_stat, and the class has seen none. Of the default Linux
# takes the lower half, which is 0 here: no class, and what no filter chose is not limited at all. Elsewhere in the
# example 0x200000 is the queue 20:, so that it looks as the other numbers do. With 0x20, and with 0x10020, the class's
# whole name, it is as expected.
# Why it matters: links made after the example have no rate for any flow that was not thought of, while each class
# tells its own, and nothing complains. Give the class's name, and look at direct_packets_stat, which should stay 0.
set -Eeuo pipefail
PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
tmp=$(mktemp -d) pids=()
trap '{ kill -9 ${pids[@]+"${pids[@]}"}; wait; } 2>/dev/null || true; rm -rf "$tmp"' EXIT
cannot() { echo "cannot run: $*" >&2; exit 2; }
trap 'cannot "line $LINENO: $BASH_COMMAND"' ERR
[ "$EUID" = 0 ] || cannot "needs root"
[ -n "$(type -P tc)" ] && [ -n "$(type -P unshare)" ] || cannot "needs iproute2 and util-linux"
release=$(. /etc/os-release && echo "$ID$VERSION_ID")
debs() { # packages with exact versions, and what they need and this machine lacks, unpacked into $tmp
    local apt=(apt-get -qq -o "Dir::State::Lists=$tmp/lists" -o "Dir::Cache=$tmp/cache" -o Debug::NoLocking=1
        -o APT::Sandbox::User=root -o Acquire::Languages=none)
    mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial"
    "${apt[@]}" update >"$tmp/apt" 2>&1 || cannot "apt-get update: $(tail -n 1 "$tmp/apt")"
    "${apt[@]}" install -d -y --reinstall --no-install-recommends "$@" >"$tmp/apt" 2>&1 || cannot "not there: $*"
    for deb in "$tmp"/cache/archives/*.deb; do dpkg -x "$deb" "$tmp"; done
    PATH=$tmp/usr/sbin:$tmp/usr/bin:$tmp/sbin:$tmp/bin:$PATH
    export LD_LIBRARY_PATH=$tmp/usr/lib/x86_64-linux-gnu:$tmp/lib/x86_64-linux-gnu
}
case $release in debian12 | debian13) ;; *) cannot "needs Debian 12 or 13" ;; esac
py=/usr/bin/python3
"$py" -m pip --version >"$tmp/pip" 2>&1 || debs python3-pip
[ -x $py ] || py=$tmp/usr/bin/python3
PYTHONPATH=$tmp/usr/lib/python3/dist-packages "$py" -m pip install -q --no-cache-dir --no-compile --target "$tmp/py" \
    --only-binary :all: --no-deps pyroute2==0.9.7 >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "pyroute2 0.9.7"
cat >"$tmp/limit.py" <<'SCRIPT'
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

from pyroute2 import IPRoute
from pyroute2.netlink.rtnl.tcmsg import sched_htb

PACKETS, SIZE, MAC, EXAMPLE = 100, 1000, "02:00:00:00:00:02", 0x200000
network = IPRoute()


def told(kind):
    return subprocess.run(["tc", "-s", kind, "show", "dev", "port"], check=True, capture_output=True, text=True).stdout


def arrived(default):
    """Packets that the other end has after a second, those that were in no class, and those in 0x10020."""
    network.link("add", ifname="port", kind="veth", peer={"ifname": "other", "address": MAC})
    port, other = network.link_lookup(ifname="port")[0], network.link_lookup(ifname="other")[0]
    for name in "port", "other":
        Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
    network.addr("add", index=port, address="10.0.0.1", prefixlen=24)
    network.link("set", index=port, state="up")
    network.link("set", index=other, state="up")
    network.neigh("add", dst="10.0.0.2", lladdr=MAC, ifindex=port)
    network.tc("add", "htb", port, 0x10000, default=default)
    network.tc("add-class", "htb", port, 0x10001, parent=0x10000, rate="256kbit", burst=1024 * 6)
    network.tc("add-class", "htb", port, 0x10010, parent=0x10001, rate="192kbit", burst=1024 * 6, prio=1)
    network.tc("add-class", "htb", port, 0x10020, parent=0x10001, rate="128kbit", burst=1024 * 6, prio=2)
    with socket.socket(type=socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1_000_000)
        for _ in range(PACKETS):
            sender.sendto(bytes(SIZE - 42), ("10.0.0.2", 5001))
        time.sleep(1)
        got = network.get_links(other)[0].get_attr("IFLA_STATS64")["rx_packets"]
    (direct,) = re.findall(r"direct_packets_stat (\d+)", told("qdisc"))
    classes = dict(re.findall(r"class htb 1:(\w+) .*\n Sent \d+ bytes (\d+) pkt", told("class")))
    network.link("del", index=port)
    return got, int(direct), int(classes["20"])


seen = []
for default in EXAMPLE, 0x20, 0x10020:
    got, direct, chosen = arrived(default)
    print(f"default={default:#x}: {got} at the other end, {direct} in no class, {chosen} in the class 0x10020")
    limited = direct == 0 and 0 < got < PACKETS / 2 and 0 < chosen < PACKETS / 2
    seen.append("limited" if limited else "not" if (got, direct, chosen) == (PACKETS, PACKETS, 0) else "otherwise")
if f"default={EXAMPLE:#x}" not in sched_htb.__doc__:
    print("the example has another default now")
    sys.exit(3)
sys.exit(0 if seen == ["not", "limited", "limited"] else 3)
SCRIPT
status=0
PYTHONPATH=$tmp/py unshare --net "$py" -B "$tmp/limit.py" 2>"$tmp/said" || status=$?
[ $status != 3 ] || exit 1
[ $status = 0 ] || cannot "$(tail -n 1 "$tmp/said")"
