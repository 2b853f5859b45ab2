#!/bin/bash
# Open vSwitch 3.1.0 (Debian 12), 3.5.0 (Debian 13), virtual ports.
# Done: 3,000 flows pass a select group of 3, 6 and 12 equal buckets, as the uplinks of fat-trees of k = 6, 12 and 24.
# Expected: equal weights are equal shares of the flows: a third, a sixth, a twelfth, give or take chance.
# Seen: by 3.1.0 and the default selection method four of 12 buckets get twice as many flows as each of the eight others,
# and four of 6 half as many again as the other two: buckets are dealt to 16 slots of the hash, which 12 and 6 do not
# divide. 3.5.0 has more slots for these; of 3 buckets one gets 38 % by both. With selection_method=hash all are equal.
# Why it matters: equal-cost paths are equal for 2, 4, 8 and 16 uplinks alone. With 12 of 3.1.0 links fill at two thirds
# of the load that they could carry: what is blamed on colliding elephants is the dealing, the same in each run.
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
ports=(-- add-br br0 -- set bridge br0 datapath-type=dummy)
for n in {1..13}; do ports+=(-- add-port br0 p$n -- set interface p$n type=dummy ofport_request=$n); done
ovs-vsctl "--db=unix:$tmp/db.sock" -t 20 "${ports[@]}"
ofctl() { ovs-ofctl -O OpenFlow15 "$@"; }
shares() { # buckets, selection method: flows of each bucket, in $tmp/shares
    local n port words text="group_id=1,type=select$2"
    for ((n = 2; n < 2 + $1; n++)); do text+=",bucket=bucket_id=$n,output:$n"; done
    ofctl del-flows br0
    ofctl del-groups br0
    ofctl add-group br0 "$text"
    ofctl add-flow br0 in_port=1,actions=group:1
    for ((n = 0; n < 40; n++)); do # a port has room for 100 packets
        words=()
        for ((port = 1001 + 75 * n; port < 1076 + 75 * n; port++)); do
            words+=("in_port(1),eth(src=50:54:00:00:00:01,dst=50:54:00:00:00:02),eth_type(0x0800),\
ipv4(src=10.0.0.1,dst=10.0.1.1,proto=6,tos=0,ttl=64,frag=no),tcp(src=$port,dst=80)" --len 200)
        done
        ovs-appctl -t "$tmp/ctl" netdev-dummy/receive p1 "${words[@]}"
        sleep 0.05
    done
    for _ in {1..50}; do # counters are brought up to date twice a second
        sleep 0.3
        ofctl dump-group-stats br0 | grep -o 'bucket[0-9]*:packet_count=[0-9]*' | sed 's/.*=//' | sort -rn >"$tmp/shares"
        [ "$(awk '{ n += $1 } END { print n }' "$tmp/shares")" = 3000 ] && break
    done
    echo "$1 buckets, ${2:-the default}: $(paste -sd' ' "$tmp/shares")"
    [ "$(awk '{ n += $1 } END { print n }' "$tmp/shares")" = 3000 ] || cannot "3,000 packets were not counted"
}
more() { # how many percent of the fifth largest share the fourth is
    awk 'NR == 4 { fourth = $1 } NR == 5 { fifth = $1 } END { printf "%d", 100 * fourth / fifth }' "$tmp/shares"
}
shares 3 ""
[ "$(head -n 1 "$tmp/shares")" -gt 1070 ] || exit 1 # chance has a deviation of 26
case $release in debian12) least=(120 150) most=(1000 1000) ;; debian13) least=(0 0) most=(120 120) ;; esac
shares 6 ""
[ "$(more)" -gt "${least[0]}" ] && [ "$(more)" -lt "${most[0]}" ] || exit 1
shares 12 ""
[ "$(more)" -gt "${least[1]}" ] && [ "$(more)" -lt "${most[1]}" ] || exit 1
shares 12 ",selection_method=hash,fields(ip_src,ip_dst,tcp_src,tcp_dst)"
[ "$(more)" -lt 120 ] || exit 1
