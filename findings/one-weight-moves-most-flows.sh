#!/bin/bash
# Open vSwitch 3.1.0 (Debian 12), 3.5.0 (Debian 13), virtual ports.
# Done: 200 flows pass a select group of four equal buckets; the weight of one bucket is changed from 1 to 2.
# Expected: some flows move to the heavier bucket (a fifth more of all is its due: 30), the others stay.
# Seen: by the default selection method most flows move, more than half of them to buckets whose weights nobody
# changed. With selection_method=hash flows move to the heavier bucket alone.
# Why it matters: each small change of weights by a load balancer reorders packets of nearly all TCP connections.
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
debs "openvswitch-switch=$version" "openvswitch-common=$version"
echo "Open vSwitch $version"
export OVS_RUNDIR=$tmp OVS_LOGDIR=$tmp OVS_DBDIR=$tmp OVS_SYSCONFDIR=$tmp
ovsdb-tool create "$tmp/conf.db" "$tmp/usr/share/openvswitch/vswitch.ovsschema"
ovsdb-server "$tmp/conf.db" "--remote=punix:$tmp/db.sock" -vconsole:off & pids+=($!)
for _ in {1..100}; do [ -S "$tmp/db.sock" ] && break; sleep 0.1; done
ovs-vswitchd "unix:$tmp/db.sock" --enable-dummy=override --disable-system "--unixctl=$tmp/ctl" -vconsole:off & pids+=($!)
vsctl() { ovs-vsctl "--db=unix:$tmp/db.sock" -t 20 "$@"; }
appctl() { ovs-appctl -t "$tmp/ctl" "$@"; }
vsctl add-br br0 -- set bridge br0 datapath-type=dummy
for n in {1..5}; do vsctl add-port br0 p$n -- set interface p$n type=dummy ofport_request=$n; done
packets() { # one of 200 bytes for each of these source ports, all in one call
    local port words=()
    for port; do
        words+=("in_port(1),eth(src=50:54:00:00:00:01,dst=50:54:00:00:00:02),eth_type(0x0800),\
ipv4(src=10.0.0.1,dst=10.0.1.1,proto=6,tos=0,ttl=64,frag=no),tcp(src=$port,dst=80)" --len 200)
    done
    appctl netdev-dummy/receive p1 "${words[@]}"
}
group() { # add-group or mod-group, and the weight of the last of four buckets
    local text="group_id=1,type=select$method"
    for n in 2 3 4; do text+=",bucket=bucket_id=$n,weight=1,watch_port=$n,output:$n"; done
    ovs-ofctl -O OpenFlow15 "$1" br0 "$text,bucket=bucket_id=5,weight=$2,watch_port=5,output:5"
}
paths() { # of 200 flows, in a file: source port, and the port that it left by
    local n port
    for n in 2 3 4 5; do vsctl set interface p$n "options:tx_pcap=$1-$n.pcap"; done
    for port in 1001 1051 1101 1151; do # a port has room for 100 packets
        packets $(seq $port $((port + 49)))
        sleep 0.3
    done
    for n in 2 3 4 5; do vsctl remove interface p$n options tx_pcap; done
    for n in 2 3 4 5; do # the source port: 34 bytes on in each record of 16 + 200
        tail -c +25 "$1-$n.pcap" | od -An -v -w216 -tu1 | awk -v n=$n '{ print $51 * 256 + $52, n }'
    done | sort >"$1"
    [ "$(wc -l <"$1")" = 200 ] || cannot "200 packets were sent, $(wc -l <"$1") came out"
    awk -v what="$2" '{ count[$2]++ } END { print what ": flows by ports 2 to 5:", count[2] + 0, count[3] + 0, count[4] + 0, count[5] + 0 }' "$1"
}
appctl time/stop
elsewhere=()
for method in "" ",selection_method=hash,fields(tcp_src)"; do
    echo "selection method: ${method:-the default}"
    ovs-ofctl del-flows br0
    ovs-ofctl -O OpenFlow15 del-groups br0
    group add-group 1
    ovs-ofctl -O OpenFlow15 add-flow br0 in_port=1,actions=group:1
    paths "$tmp/before${#elsewhere[@]}" "weights 1 1 1 1"
    group mod-group 2
    paths "$tmp/after${#elsewhere[@]}" "weights 1 1 1 2"
    moved=$(join "$tmp/before${#elsewhere[@]}" "$tmp/after${#elsewhere[@]}" | awk '$2 != $3')
    elsewhere+=("$(awk '$3 != 5' <<<"$moved" | wc -l)")
    echo "$(wc -l <<<"$moved") of 200 flows moved, ${elsewhere[-1]} of them to a bucket whose weight was not changed"
done
[ "${elsewhere[0]}" -gt 50 ] && [ "${elsewhere[1]}" = 0 ] || exit 1
