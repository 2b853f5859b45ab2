#!/bin/bash
# Open vSwitch 3.1.0 (Debian 12), 3.5.0 (Debian 13), virtual ports.
# Done: 4,000 packets pass a bridge that exports sFlow, sampling one of ten; each sample carries a rate and a pool, which
# is by sFlow's definition the number of packets that could have been sampled so far.
# Expected: the pool of the last sample is the number of packets that had come by then, close to 4,000; pool over samples
# is the rate that chance has really given, as chance gives 360 or 430 samples as well as 400.
# Seen: each sample adds exactly ten to the pool: it is the rate times the number of samples. The packets between two
# samples, now one and now dozens, are counted nowhere; the pool may even exceed all packets that passed.
# Why it matters: pool over samples, by which collectors take chance out of their estimates, is the configured rate, and
# nothing is taken out: with 400 samples loads are off by 5 %, and nobody who checks the pool can see by how much.
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
debs "openvswitch-switch=$version" "openvswitch-common=$version" python3
echo "Open vSwitch $version"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
export OVS_RUNDIR=$tmp OVS_LOGDIR=$tmp OVS_DBDIR=$tmp OVS_SYSCONFDIR=$tmp
ovsdb-tool create "$tmp/conf.db" "$tmp/usr/share/openvswitch/vswitch.ovsschema"
ovsdb-server "$tmp/conf.db" "--remote=punix:$tmp/db.sock" -vconsole:off & pids+=($!)
for _ in {1..100}; do [ -S "$tmp/db.sock" ] && break; sleep 0.1; done
ovs-vswitchd "unix:$tmp/db.sock" --enable-dummy=override --disable-system "--unixctl=$tmp/ctl" -vconsole:off & pids+=($!)
cat >"$tmp/collect.py" <<'SCRIPT'
import socket, struct, sys

collector = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
collector.bind(("127.0.0.1", 0))
with open(f"{sys.argv[1]}/port.new", "w") as file:
    print(collector.getsockname()[1], file=file)
samples = open(f"{sys.argv[1]}/samples", "w", buffering=1)
while True:
    datagram = collector.recv(65535)
    (count,) = struct.unpack_from(">I", datagram, 24)  # behind an agent's address of IPv4
    at = 28
    for _ in range(count):
        kind, length = struct.unpack_from(">II", datagram, at)
        if kind == 1:  # a sampled packet
            _, _, rate, pool = struct.unpack_from(">IIII", datagram, at + 8)
            print(rate, pool, file=samples)
        at += 8 + length
SCRIPT
"$py" "$tmp/collect.py" "$tmp" & pids+=($!)
for _ in {1..100}; do [ -s "$tmp/port.new" ] && break; sleep 0.1; done
vsctl() { ovs-vsctl "--db=unix:$tmp/db.sock" -t 20 "$@"; }
vsctl add-br br0 -- set bridge br0 datapath-type=dummy
for n in 1 2; do vsctl add-port br0 p$n -- set interface p$n type=dummy ofport_request=$n; done
ovs-ofctl del-flows br0
ovs-ofctl add-flow br0 in_port=1,actions=2
vsctl -- --id=@exported create sflow "targets=\"127.0.0.1:$(cat "$tmp/port.new")\"" 'agent="127.0.0.1"' header=128 \
    sampling=10 polling=100 -- set bridge br0 sflow=@exported >"$tmp/said"
sleep 1
words=()
for _ in {1..50}; do
    words+=("in_port(1),eth(src=50:54:00:00:00:01,dst=50:54:00:00:00:02),eth_type(0x0800),\
ipv4(src=10.0.0.1,dst=10.0.1.1,proto=6,tos=0,ttl=64,frag=no),tcp(src=1000,dst=80)" --len 1000)
done
for _ in {1..80}; do # a port has room for 100 packets
    ovs-appctl -t "$tmp/ctl" netdev-dummy/receive p1 "${words[@]}"
    sleep 0.05
done
for _ in {1..20}; do # the last samples are sent within a second or two
    sleep 0.5
    now=$(wc -l <"$tmp/samples")
    [ "$now" = "${before:-}" ] && [ "$now" -gt 0 ] && still=$((${still:-0} + 1)) || still=0
    [ "$still" -ge 5 ] && break
    before=$now
done
passed=$(ovs-ofctl dump-ports br0 2 | awk -F'[=,]' '/tx pkts/ { print $2 }')
echo "$passed packets passed; $now samples, pool of the last: $(tail -n 1 "$tmp/samples" | cut -d' ' -f2)"
[ "$passed" = 4000 ] || cannot "4,000 packets were sent"
[ "$now" -gt 200 ] || cannot "too few samples came"
awk '$1 != 10 || (NR > 1 && $2 - last != 10) { exit 1 } { last = $2 } END { if (last > 10 * NR) exit 1 }' "$tmp/samples" || exit 1
