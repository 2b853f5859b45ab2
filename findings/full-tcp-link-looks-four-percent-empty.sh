#!/bin/bash
# iproute2 6.1.0 (Debian 12), 6.15.0 (Debian 13); the counters are those of Linux, here 6.x.
# Done: one TCP flow fills a virtual link of HTB's 10 Mb/s with 3 MB; then another, with one segment to a packet
# (gso_max_segs 1). What was sent is read of the HTB class by tc, and of the interface at both its ends by ip.
# Expected: the class and its interface have the same bytes and packets, as nothing else passes and nothing is lost.
# Seen: the class has some 2,080 packets, the interface a hundred or so, and 4 % fewer bytes. A sender hands many
# segments over as one packet. tc counts that as what it stands for, with a header for each segment, and HTB and TBF
# charge for it so; an interface counts one packet with one header. With one segment to a packet both agree.
# Why it matters: a full link of 10 Mb/s shows 9.59 Mb/s to whoever reads interfaces, as bwm-ng, sar and controllers do.
# A rule that calls a link full from 97 % on never sees one that TCP fills, and packets in a second are off by twenty.
# Set gso_max_segs 1, or count by tc.
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
cat >"$tmp/flow.py" <<'SCRIPT'
import socket, sys

if sys.argv[1] == "take":
    with socket.create_server(("10.0.0.2", 5001)) as server:
        print("ready", file=open(sys.argv[2], "w"))
        flow, _ = server.accept()
        while flow.recv(65536):
            pass
else:
    with socket.create_connection(("10.0.0.2", 5001), timeout=20) as flow:
        flow.sendall(bytes(3_000_000))
        flow.shutdown(socket.SHUT_WR)
        flow.recv(1)  # until all has come
SCRIPT
export tmp py
unshare --net --pid --fork --kill-child --mount-proc bash -eu -s >"$tmp/seen" <<'NETWORK'
unshare --net sleep 80 & other=$!
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
far() { nsenter --net=/proc/$other/ns/net "$@"; }
ip link add name near address 02:00:00:00:00:01 type veth peer name far address 02:00:00:00:00:02 netns $other
sysctl -qw net.ipv6.conf.near.disable_ipv6=1
far sysctl -qw net.ipv6.conf.far.disable_ipv6=1
ip address add 10.0.0.1/24 dev near
far ip address add 10.0.0.2/24 dev far
ip link set dev near up
far ip link set dev far up
ip neighbour replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev near
far ip neighbour replace 10.0.0.1 lladdr 02:00:00:00:00:01 dev far
interface() { # bytes and packets of one end, sent or received
    ip -s link show "$1" | awk -v "way=$2:" '$1 == way { getline; print $1, $2 }'
}
count() { # of the class, of the interface, of its other end, so far
    tc -s class show dev near | awk '/Sent/ { print $2, $4 }'
    interface near TX
    far bash -c "$(declare -f interface); interface far RX"
}
for how in as-it-is one-by-one; do
    [ $how = as-it-is ] || ip link set dev near gso_max_segs 1
    tc qdisc replace dev near root handle 1: htb default 1
    tc class replace dev near parent 1: classid 1:1 htb rate 10mbit ceil 10mbit
    rm -f "$tmp/ready"
    before=$(echo $(count))
    far "$py" "$tmp/flow.py" take "$tmp/ready" & taking=$!
    for _ in {1..100}; do [ -s "$tmp/ready" ] && break; sleep 0.1; done
    "$py" "$tmp/flow.py" give
    wait $taking
    sleep 0.5
    echo $how $before $(count)
    tc qdisc del dev near root
done
kill $other
NETWORK
status=0
while read -r how before; do
    read -r -a n <<<"$before"
    for i in {0..5}; do n[i]=$((n[i + 6] - n[i])); done
    echo "$how: bytes and packets of the class ${n[*]:0:2}, of the interface ${n[*]:2:2}, of its other end ${n[*]:4:2}"
    share=$((n[2] * 1000 / n[0]))
    if [ $how = as-it-is ]; then
        [ $share -ge 950 ] && [ $share -le 975 ] && [ $((n[3] * 4)) -lt "${n[1]}" ] || status=1
        [ "${n[4]} ${n[5]}" = "${n[2]} ${n[3]}" ] || status=1
    else
        [ "${n[2]} ${n[3]}" = "${n[0]} ${n[1]}" ] || status=1
    fi
done <"$tmp/seen"
exit $status
