#!/bin/bash
# Open vSwitch 3.1.0 (Debian 12), 3.5.0 (Debian 13), virtual ports.
# Done: six entries with send_flow_rem each see one packet, and a second later fifty; then a controller deletes the
# entry at once. Five more see the same and end by a hard timeout.
# Expected: the flow-removed message has the last counters, 51 packets; that is what it is sent for.
# Seen: on a delete it says 1, unless counters were just read: they are brought up to date every half second, a delete
# does not wait for that, and what came since is in no counter of an entry ever after. After a timeout it says 51.
# Why it matters: a controller that deletes a flow's entry at its end to learn its size loses up to half a second of
# it, 62 MB at 1 Gb/s, and flows shorter than that are mice of one packet. Idle and hard timeouts tell sizes.
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
for n in 1 2; do vsctl add-port br0 p$n -- set interface p$n type=dummy ofport_request=$n; done
ovs-ofctl del-flows br0
packets() { # so many of 1,000 bytes with this source port, in one call; a port has room for 100
    local words=()
    for ((; ${#words[@]} < 3 * $1; )); do
        words+=("in_port(1),eth(src=50:54:00:00:00:01,dst=50:54:00:00:00:02),eth_type(0x0800),\
ipv4(src=10.0.0.1,dst=10.0.1.1,proto=6,tos=0,ttl=64,frag=no),tcp(src=$2,dst=80)" --len 1000)
    done
    appctl netdev-dummy/receive p1 "${words[@]}"
}
sent() { ovs-ofctl -O OpenFlow13 dump-ports br0 2 | sed -n 's/.*tx pkts=\([0-9]*\),.*/\1/p'; }
told() { # by the messages about these source ports
    local port
    for port; do sed -n "s/.*FLOW_REMOVED.*tp_src=$port .* pkts\([0-9]*\) .*/\1/p" "$tmp/messages"; done
}
ovs-ofctl -O OpenFlow13 monitor br0 128 >"$tmp/messages" 2>&1 & pids+=($!)
sleep 1
for port in {1001..1006}; do
    ovs-ofctl -O OpenFlow13 add-flow br0 "send_flow_rem,tcp,tp_src=$port,actions=2"
    packets 1 "$port"
    sleep 1.5
    packets 50 "$port"
    ovs-ofctl -O OpenFlow13 del-flows br0
    sleep 0.5
done
for port in {2001..2005}; do
    ovs-ofctl -O OpenFlow13 add-flow br0 "send_flow_rem,hard_timeout=6,tcp,tp_src=$port,actions=2"
    packets 1 "$port"
done
sleep 1.5
for port in {2001..2005}; do packets 50 "$port"; done
for _ in {1..150}; do [ "$(told {2001..2005} | wc -l)" = 5 ] && break; sleep 0.1; done
[ "$(sent)" = $((11 * 51)) ] || cannot "$((11 * 51)) packets were sent, $(sent) passed"
mapfile -t deleted < <(told {1001..1006})
mapfile -t ended < <(told {2001..2005})
echo "packets by flow-removed messages, of 51 each"
echo "after a delete:      ${deleted[*]}"
echo "after a hard timeout: ${ended[*]}"
[ "${#deleted[@]} ${#ended[@]}" = "6 5" ] || cannot "not all messages came"
[ "${ended[*]}" = "51 51 51 51 51" ] && [[ " ${deleted[*]} " = *" 1 "* ]] || exit 1
