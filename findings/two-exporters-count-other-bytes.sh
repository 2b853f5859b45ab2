#!/bin/bash
# Open vSwitch 3.1.0, softflowd 1.1.0 and nfdump 1.7.1 (Debian 12); 3.5.0, 1.1.1 and 1.7.5 (Debian 13).
# Done: ten frames of 1,000 bytes pass a switch that exports NetFlow; softflowd exports the same frames from a capture.
# Expected: the same bytes from both, 9,860: NetFlow counts from the IP header on (Cisco's definition of dOctets).
# Seen: Open vSwitch counts 10,000, with Ethernet's header; and it reports frames that an entry drops like any flow.
# Why it matters: demands from switches and from hosts are not of one kind; for small packets (acknowledgements, 54
# bytes) they differ by a third, and what is dropped counts as traffic.
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
    debian12) switch=3.1.0-2+deb12u1 collector=1.7.1-2+deb12u1 probe=1.1.0-1+b1 ;;
    debian13) switch=3.5.0-1+b1 collector=1.7.5-2+deb13u1 probe=1.1.1-1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "openvswitch-switch=$switch" "openvswitch-common=$switch" "nfdump=$collector" "softflowd=$probe" python3
echo "Open vSwitch $switch, nfdump $collector"
export OVS_RUNDIR=$tmp OVS_LOGDIR=$tmp OVS_DBDIR=$tmp OVS_SYSCONFDIR=$tmp
ovsdb-tool create "$tmp/conf.db" "$tmp/usr/share/openvswitch/vswitch.ovsschema"
ovsdb-server "$tmp/conf.db" "--remote=punix:$tmp/db.sock" -vconsole:off & pids+=($!)
for _ in {1..100}; do [ -S "$tmp/db.sock" ] && break; sleep 0.1; done
ovs-vswitchd "unix:$tmp/db.sock" --enable-dummy=override --disable-system "--unixctl=$tmp/ctl" -vconsole:off & pids+=($!)
vsctl() { ovs-vsctl "--db=unix:$tmp/db.sock" -t 20 "$@"; }
appctl() { ovs-appctl -t "$tmp/ctl" "$@"; }
vsctl add-br br0 -- set bridge br0 datapath-type=dummy
echo "softflowd $probe"
vsctl add-port br0 p1 -- set interface p1 type=dummy ofport_request=1
vsctl add-port br0 p2 -- set interface p2 type=dummy ofport_request=2 "options:tx_pcap=$tmp/capture"
ovs-ofctl del-flows br0
ovs-ofctl add-flow br0 tcp,tp_src=1000,actions=2
ovs-ofctl add-flow br0 tcp,tp_src=2000,actions=drop
collect() {
    mkdir "$tmp/$1"
    nfcapd -b 127.0.0.1 -p 19995 -w "$tmp/$1" -t 3600 >"$tmp/said" 2>&1 & collector=$! pids+=($!)
    for _ in {1..100}; do grep -q "^ *[0-9]*: [0-9A-F]*:4E1B " /proc/net/udp && break; sleep 0.1; done
}
collected() { # bytes of source ports 1000 and 2000
    sleep 2
    kill -INT $collector
    for _ in {1..100}; do compgen -G "$tmp/$1/nfcapd.2*" >"$tmp/said" && break; sleep 0.1; done # its file is whole
    nfdump -q -R "$tmp/$1" -o 'fmt:%sp %byt' | awk '{ n[$1] += $2 } END { print n[1000] + 0, n[2000] + 0 }'
}
collect switch
vsctl -- --id=@exported create netflow 'targets="127.0.0.1:19995"' active_timeout=1 -- set bridge br0 netflow=@exported >"$tmp/said"
sleep 1
for port in 1000 2000; do
    for _ in {1..10}; do
        appctl netdev-dummy/receive p1 "in_port(1),eth(src=50:54:00:00:00:01,dst=50:54:00:00:00:02),eth_type(0x0800),ipv4(src=10.0.0.1,dst=10.0.1.1,proto=6,tos=0,ttl=64,frag=no),tcp(src=$port,dst=80)" --len 1000
    done
done
sleep 6
vsctl clear bridge br0 netflow -- remove interface p2 options tx_pcap
switch=$(collected switch)
collect probe
softflowd -r "$tmp/capture" -n 127.0.0.1:19995 -v 5 -p "$tmp/pid" -c none >"$tmp/said" 2>&1
probe=$(collected probe)
echo "bytes of the flow that was forwarded and of the one that was dropped: the switch says $switch, softflowd $probe"
[ "$switch" != "0 0" ] || cannot "nothing was collected"
[ "$switch, $probe" = "10000 10000, 9860 0" ] || exit 1
