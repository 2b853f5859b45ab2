#!/bin/bash
# Open vSwitch 3.1.0 and nfdump 1.7.1 (Debian 12), 3.5.0 and 1.7.5 (Debian 13), virtual ports.
# Done: a flow of 400 packets in some 8 s passes a bridge that exports IPFIX, every packet (sampling=1), with an active
# timeout of 2 s, to nfcapd and to a reader of the records' own elements.
# Expected: nfdump says 400 packets; or 800, as the bridge reports a packet where it comes in and where it goes out.
# Seen: some 4,500. Each record has what came since the last one (packetDeltaCount: right, 400 in all for each
# direction) and a running total (packetTotalCount), which is twice the truth; nfdump takes the total, and adds up all
# records'.
# Why it matters: the longer a flow, the more it is counted: 60 records of an elephant are 61 times its bytes in each
# direction, while a mouse of one record is twice its own. Demands and traffic matrices follow records, not bytes.
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
    debian12) switch=3.1.0-2+deb12u1 collector=1.7.1-2+deb12u1 ;;
    debian13) switch=3.5.0-1+b1 collector=1.7.5-2+deb13u1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "openvswitch-switch=$switch" "openvswitch-common=$switch" "nfdump=$collector" python3
echo "Open vSwitch $switch, nfdump $collector"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
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
ovs-ofctl add-flow br0 in_port=1,actions=2
mkdir "$tmp/flows"
nfcapd -b 127.0.0.1 -p 19997 -w "$tmp/flows" -t 3600 >"$tmp/said" 2>&1 & collector=$! pids+=($!)
cat >"$tmp/reader.py" <<'SCRIPT'
"""Prints the direction, the delta and the total of packets of each record of TCP port 1000 (RFC 7011)."""
import socket

receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 19998))
templates = {}
while True:
    message = receiver.recv(65535)
    number = lambda at, size=2: int.from_bytes(message[at : at + size], "big")
    at = 16
    while at < len(message):
        which, end, here = number(at), at + number(at + 2), at + 4
        while which == 2 and here + 4 <= end:
            template, fields = number(here), number(here + 2)
            here += 4
            templates[template] = []
            for _ in range(fields):
                templates[template].append((number(here), number(here + 2)))
                here += 8 if number(here) & 0x8000 else 4
        while which in templates and here < end:
            record = {}
            for element, size in templates[which]:
                if size == 65535:
                    size, here = number(here, 1), here + 1
                record[element] = number(here, size)
                here += size
            if record.get(7) == 1000:
                print(record[61], record[2], record[86], flush=True)
        at = end
SCRIPT
"$py" "$tmp/reader.py" >"$tmp/records" & pids+=($!)
for port in 4E1D 4E1E; do
    for _ in {1..100}; do grep -q "^ *[0-9]*: [0-9A-F]*:$port " /proc/net/udp && break; sleep 0.1; done
done
vsctl -- --id=@exported create ipfix 'targets=["127.0.0.1:19997","127.0.0.1:19998"]' sampling=1 cache_active_timeout=2 \
    cache_max_flows=1000 -- set bridge br0 ipfix=@exported >"$tmp/said"
sleep 1
words=()
for _ in {1..40}; do
    words+=("in_port(1),eth(src=50:54:00:00:00:01,dst=50:54:00:00:00:02),eth_type(0x0800),\
ipv4(src=10.0.0.1,dst=10.0.1.1,proto=6,tos=0,ttl=64,frag=no),tcp(src=1000,dst=80)" --len 1000)
done
for _ in {1..10}; do
    appctl netdev-dummy/receive p1 "${words[@]}"
    sleep 0.7
done
sleep 3
vsctl clear bridge br0 ipfix # exports what is left
sleep 1
kill -INT $collector
for _ in {1..100}; do compgen -G "$tmp/flows/nfcapd.2*" >"$tmp/said" && break; sleep 0.1; done # its file is whole
passed=$(ovs-ofctl dump-flows br0 | sed -n 's/.*n_packets=\([0-9]*\),.*/\1/p')
[ "$passed" = 400 ] || cannot "$passed packets passed, of 400"
read -r count deltas last sum < <(awk '$1 == 1 { n++; delta += $2; total += $3; last = $3 } END { print n, delta, last, total }' "$tmp/records")
all=$(awk '{ total += $3 } END { print total }' "$tmp/records")
nfdump=$(nfdump -q -N -R "$tmp/flows" -o 'fmt:%pkt' 'src port 1000' | awk '{ n += $1 } END { print n + 0 }')
echo "$passed packets passed; records of those that went out: $count, their deltas $deltas in all, the last total $last,"
echo "totals added up $sum; of both directions $all; nfdump says $nfdump"
[ "$count" -gt 1 ] || cannot "one record alone"
# a flow's first packet can be lacking
[ "$deltas" -ge 399 ] && [ "$deltas" -le 400 ] && [ "$last" = $((2 * passed)) ] && [ "$nfdump" = "$all" ] || exit 1
