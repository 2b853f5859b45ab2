#!/bin/bash
# Open vSwitch 3.1.0 (Debian 12), 3.5.0 (Debian 13), userspace datapath; a veth.
# Done: an interface gets a token bucket of 10 Mb/s (tc), and is then made a port of a bridge (ovs-vsctl add-port).
# Expected: its queueing discipline stays: nothing in that command is about rates.
# Seen: it is gone, for tbf, htb and pfifo alike; the port has no limit. Given after add-port it stays.
# Why it matters: emulators limit an interface when they make it, and give it to the switch later. The limit is lost
# without a word, and results look wonderful: check with tc qdisc show once the switch runs.
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
    PATH=$tmp/usr/lib/openvswitch-switch:$tmp/usr/sbin:$tmp/usr/bin:$tmp/sbin:$tmp/bin:$PATH
    export LD_LIBRARY_PATH=$tmp/usr/lib/x86_64-linux-gnu:$tmp/lib/x86_64-linux-gnu
}
case $release in
    debian12) version=3.1.0-2+deb12u1 ;;
    debian13) version=3.5.0-1+b1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "openvswitch-switch=$version" "openvswitch-common=$version" iproute2
echo "Open vSwitch $version"
export OVS_RUNDIR=$tmp OVS_LOGDIR=$tmp OVS_DBDIR=$tmp OVS_SYSCONFDIR=$tmp
# everything from here on in a network of its own: a process holds it, others enter it
unshare --net sleep 85 & pids+=($!)
net=$!
until [ "$(readlink /proc/$net/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
inside() { nsenter "--net=/proc/$net/ns/net" "$@"; }
ovsdb-tool create "$tmp/conf.db" "$tmp/usr/share/openvswitch/vswitch.ovsschema"
ovsdb-server "$tmp/conf.db" "--remote=punix:$tmp/db.sock" -vconsole:off & pids+=($!)
for _ in {1..100}; do [ -S "$tmp/db.sock" ] && break; sleep 0.1; done
nsenter "--net=/proc/$net/ns/net" ovs-vswitchd "unix:$tmp/db.sock" --disable-system "--unixctl=$tmp/ctl" -vconsole:off & pids+=($!)
vsctl() { ovs-vsctl "--db=unix:$tmp/db.sock" -t 20 "$@"; }
vsctl add-br br0 -- set bridge br0 datapath_type=netdev
inside ip link add one type veth peer name two
inside ip link set one up
inside ip link set two up
left=()
for limit in "tbf rate 10mbit burst 15000 latency 50ms" "htb default 1" "pfifo limit 50"; do
    inside tc qdisc add dev one root handle 5: $limit
    before=$(inside tc qdisc show dev one)
    vsctl add-port br0 one
    sleep 1
    after=$(inside tc qdisc show dev one)
    echo "before: $before"
    echo "after add-port: $after"
    left+=("$(grep -c 'qdisc [a-z]* 5:' <<<"$before" || true)$(grep -c 'qdisc [a-z]* 5:' <<<"$after" || true)")
    vsctl del-port br0 one
    sleep 0.5
    inside tc qdisc del dev one root 2>"$tmp/said" || true
done
vsctl add-port br0 one
sleep 1
inside tc qdisc add dev one root handle 5: pfifo limit 50
vsctl add-port br0 two
sleep 1
given_later=$(inside tc qdisc show dev one)
echo "given to a port: $given_later"
[ "${left[*]}" = "10 10 10" ] && [[ $given_later == *"pfifo 5:"* ]] || exit 1
