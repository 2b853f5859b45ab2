#!/bin/bash
# iproute2 6.1.0 (Debian 12); the paths are chosen by Linux, here 6.18.
# Done: a host has two equal next hops, by a hash of addresses and ports (fib_multipath_hash_policy=1). Of its one
# address, 64 TCP connections leave from 64 ports; for each, ip route get is asked for the device, with sport and dport.
# Expected: it names the device by which the connection's packets left; addresses and ports are what is hashed, and the
# answer names the host's address as its src.
# Seen: it is right for about half of them, as a coin is. With ipproto tcp alone it is no better, nor with from and the
# host's address alone; with both it is right for all. What is left out is hashed as no address, and as UDP.
# Why it matters: a table of flows and paths for finding the links where elephants meet, or for checking a scheduler's
# placing, is made up by half, and each answer looks as good as any other: it has a device, a gateway and the right src.
# The manual page has no word of it. Say from, ipproto, sport and dport.
set -Eeuo pipefail
PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
tmp=$(mktemp -d) pids=()
trap '{ kill -9 ${pids[@]+"${pids[@]}"}; wait; } 2>/dev/null || true; rm -rf "$tmp"' EXIT
cannot() { echo "cannot run: $*" >&2; exit 2; }
trap 'cannot "line $LINENO: $BASH_COMMAND"' ERR
[ "$EUID" = 0 ] || cannot "needs root"
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
case $release in
    debian12) version=6.1.0-3 ;;
    debian13) version=6.15.0-1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "iproute2=$version" python3
echo "iproute2 $version"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
cat >"$tmp/connect.py" <<'SCRIPT'
import re
import socket
import subprocess
import sys

HERE, THERE, FLOWS = "10.0.9.1", "10.8.0.1", 64
WAYS = {
    "sport and dport": "",
    "and ipproto": "ipproto tcp",
    "and from": f"from {HERE}",
    "and both": f"from {HERE} ipproto tcp",
}


def sent():
    with open("/proc/net/dev") as file:
        lines = [line.replace(":", " ").split() for line in file if ":" in line]
    return {name: int(packets) for name, *_, packets in (line[:11] for line in lines) if name.startswith("up")}


right, used = dict.fromkeys(WAYS, 0), set()
for port in range(40_000, 40_000 + FLOWS):
    with socket.socket() as flow:
        flow.bind((HERE, port))
        flow.setblocking(False)
        before = sent()
        flow.connect_ex((THERE, 5001))
        by = {name for name, packets in sent().items() if packets > before[name]}
        if len(by) != 1:
            sys.exit("cannot run: not one device has sent")
        used |= by
        for way, more in WAYS.items():
            asked = f"ip route get {THERE} {more} sport {port} dport 5001".split()
            answer = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
            right[way] += {re.search(r"dev (\S+)", answer)[1]} == by
            last = answer.splitlines()[0].strip() if not more else last
if len(used) != 2:
    sys.exit("cannot run: all flows left by one device")
print("an answer:", last)
for way, flows in right.items():
    print(f"{way}: {flows} of {FLOWS} flows leave by the device that was named")
*wrong, both = right.values()
sys.exit(0 if both == FLOWS and all(10 < flows < 54 for flows in wrong) else 3)
SCRIPT
export tmp py
status=0
unshare --net bash -eu -s <<'NETWORK' >"$tmp/out" 2>&1 || status=$?
ip link set dev lo up
ip address add 10.0.9.1/32 dev lo
for i in 1 2; do
    ip link add name up$i type veth peer name down$i
    ip link set dev up$i up
    ip link set dev down$i up
    ip address add 10.0.$i.1/24 dev up$i
    ip neighbour add 10.0.$i.2 lladdr 02:00:00:00:00:0$i dev up$i nud permanent
done
echo 1 >/proc/sys/net/ipv4/fib_multipath_hash_policy
ip route add 10.8.0.0/16 src 10.0.9.1 nexthop via 10.0.1.2 dev up1 nexthop via 10.0.2.2 dev up2
exec "$py" "$tmp/connect.py"
NETWORK
cat "$tmp/out"
case $status in
    0) ;;
    3) exit 1 ;;
    *) cannot "$(tail -n 1 "$tmp/out")" ;;
esac
