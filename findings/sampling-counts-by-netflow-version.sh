#!/bin/bash
# softflowd 1.1.0 and nfdump 1.7.1 (Debian 12), 1.1.1 and 1.7.5 (Debian 13).
# Done: a capture of one flow of 10,000 packets is sampled, one of ten (softflowd -s 10), exported by NetFlow 5,
# NetFlow 9 and IPFIX, and collected.
# Expected: 10,000 packets by each, as the collector multiplies by the rate that each format can announce.
# Seen: so it is on Debian 13. On Debian 12 it is 10,000 by NetFlow 5, and 1,000 by NetFlow 9 and IPFIX: only the first
# one's rate arrives; nothing is said.
# Why it matters: demands and sizes of flows change tenfold, by the sampling rate, with the version of the export (-v)
# or an update; who multiplies by hand is ten times too high by the others. Bytes over packets stay right: nothing
# looks odd.
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
    debian12) collector=1.7.1-2+deb12u1 probe=1.1.0-1+b1 later=1000:986000 ;;
    debian13) collector=1.7.5-2+deb13u1 probe=1.1.1-1 later=10000:9860000 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "nfdump=$collector" "softflowd=$probe" iproute2 python3
echo "softflowd $probe, nfdump $collector"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
"$py" - "$tmp/capture" <<'SCRIPT' || cannot "no capture"
import struct
import sys

with open(sys.argv[1], "wb") as out:
    out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 54, 1))  # 54 bytes of each frame of 1,000
    for n in range(10000):
        ethernet = struct.pack(">12sH", bytes(12), 0x0800)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 986, 0, 0x4000, 64, 6, 0, bytes([10, 0, 0, 2]), bytes([10, 2, 0, 2]))
        tcp = struct.pack(">HHIIBBHHH", 1001, 5001, 1 + 946 * n, 1, 0x50, 0x10, 1000, 0, 0)
        out.write(struct.pack("<IIII", 1700000000, 100 * n, 54, 1000) + ethernet + ip + tcp)
SCRIPT
seen=()
for sampling in 1 10; do
    for version in 5 9 10; do
        mkdir "$tmp/flows"
        # in a network of their own, with which the collector's port ends
        unshare --net --pid --fork --kill-child bash -c "
            ip link set lo up
            nfcapd -b 127.0.0.1 -p 19995 -w '$tmp/flows' -t 3600 >'$tmp/said' 2>&1 & collector=\$!
            for _ in {1..100}; do grep -q '^ *[0-9]*: [0-9A-F]*:4E1B ' /proc/net/udp && break; sleep 0.1; done
            softflowd -r '$tmp/capture' -n 127.0.0.1:19995 -v $version -s $sampling -p '$tmp/pid' -c none >>'$tmp/said' 2>&1
            sleep 1
            kill -INT \$collector
            wait \$collector" || cannot "$(tail -n 1 "$tmp/said")"
        seen+=("$(nfdump -q -N -R "$tmp/flows" -o 'fmt:%pkt %byt' | awk '{ packets += $1; bytes += $2 } END { print packets + 0 ":" bytes + 0 }')")
        echo "one packet of $sampling, version $version: packets:bytes ${seen[-1]}"
        rm -r "$tmp/flows"
    done
done
[ "${seen[*]:0:3}" = "10000:9860000 10000:9860000 10000:9860000" ] || cannot "not all was collected"
[ "${seen[*]:3}" = "10000:9860000 $later $later" ] || exit 1
