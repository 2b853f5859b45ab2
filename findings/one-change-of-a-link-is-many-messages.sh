#!/bin/bash
# Open vSwitch 3.1.0 (Debian 12), 3.5.0 (Debian 13), userspace datapath, beside 4 and 84 interfaces that are none of
# its ports.
# Done: the MTU of one of those is changed five times; how many messages of the kernel ovs-vswitchd reads (its own
# counter netlink_received).
# Expected: a message for each change, and as many beside 84 interfaces as beside 4.
# Seen: some 15 for each change beside 4, some 95 beside 84: after each change it reads all links and routes anew.
# Why it matters: a network of n links that is built under a running switch costs n squared; build first, then start.
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
pairs() { # from N to M: two interfaces, with an address
    local n
    for n in $(seq "$1" "$2"); do
        inside ip link add "left$n" type veth peer name "right$n"
        inside ip addr add "10.0.$n.1/24" dev "left$n"
        inside ip link set "left$n" up
        inside ip link set "right$n" up
    done
    sleep 3
}
received() { ovs-appctl -t "$tmp/ctl" coverage/show | awk '$1 == "netlink_received" { print $NF }'; }
changes() { # messages that it reads for five changes
    local mtu before
    before=$(received)
    for mtu in 1401 1402 1403 1404 1405; do
        inside ip link set left1 mtu $mtu
        sleep 0.5
    done
    sleep 2
    echo $(($(received) - before))
}
pairs 1 2
few=$(changes)
pairs 3 42
many=$(changes)
echo "messages for five changes of an MTU: $few beside 4 interfaces, $many beside 84"
[ "$few" -gt 10 ] && [ "$many" -gt $((4 * few)) ] || exit 1
