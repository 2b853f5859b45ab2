#!/bin/bash
# Open vSwitch 3.1.0 and nfdump 1.7.1 (Debian 12), 3.5.0 and 1.7.5 (Debian 13), a virtual port.
# Done: a flow of two packets a second for 8 s is exported by NetFlow, with an active timeout of 2 s, and collected.
# Expected: each record of the flow tells of its own interval, from the end of the last one on, as packets and bytes do.
# Seen: packets and bytes are those since the last record; but the start is the flow's first packet in every record.
# Why it matters: bytes over duration, which is the rate that collectors print, is too low by more with each record: a
# steady flow seems to fade, and the last records of long flows say nearly nothing.
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
mkdir "$tmp/flows"
nfcapd -b 127.0.0.1 -p 19995 -w "$tmp/flows" -t 3600 >"$tmp/said" 2>&1 & collector=$! pids+=($!)
for _ in {1..100}; do grep -q "^ *[0-9]*: [0-9A-F]*:4E1B " /proc/net/udp && break; sleep 0.1; done
vsctl add-port br0 p1 -- set interface p1 type=dummy ofport_request=1
vsctl add-port br0 p2 -- set interface p2 type=dummy ofport_request=2
vsctl -- --id=@exported create netflow 'targets="127.0.0.1:19995"' active_timeout=2 \
    -- set bridge br0 netflow=@exported >"$tmp/said"
ovs-ofctl del-flows br0
ovs-ofctl add-flow br0 in_port=1,actions=2
for _ in {1..16}; do
    appctl netdev-dummy/receive p1 'in_port(1),eth(src=50:54:00:00:00:01,dst=50:54:00:00:00:02),eth_type(0x0800),ipv4(src=10.0.0.1,dst=10.0.1.1,proto=6,tos=0,ttl=64,frag=no),tcp(src=1000,dst=80)' --len 1000
    sleep 0.5
done
sleep 3
vsctl clear bridge br0 netflow # tells what is left
sleep 1
kill -INT $collector
wait $collector || true
nfdump -q -R "$tmp/flows" -o 'fmt:first %ts  last %te  %pkt packets, %byt bytes, %bps bit/s' | tee "$tmp/records"
records=$(wc -l <"$tmp/records") firsts=$(cut -c1-30 "$tmp/records" | sort -u | wc -l)
packets=$(sed "s, packets.*,,; s,.* ,," "$tmp/records" | awk "{ n += \$1 } END { print n }")
echo "$records records of one flow, $packets packets in all, $firsts different start(s)"
[ "$records" -ge 3 ] && [ "$packets" = 16 ] && [ "$firsts" = 1 ] || exit 1
