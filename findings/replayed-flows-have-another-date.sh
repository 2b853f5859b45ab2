#!/bin/bash
# softflowd 1.1.0 and nfdump 1.7.1 (Debian 12), 1.1.1 and 1.7.5 (Debian 13).
# Done: a capture of 14 November 2023 is read by softflowd -r, exported to a collector, and listed.
# Expected: the flows have the times of the capture, as nfdump's own reader of captures (nfpcapd) gives them.
# Seen: they have another date, and NetFlow 5 and 9 do not agree on which: starts are sent as milliseconds of 32 bits
# before now, which hold 49.7 days.
# Why it matters: a trace that is replayed from a file into a collector cannot be lined up with anything else that was
# measured, and files of several years fall onto each other.
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
    debian12) collector=1.7.1-2+deb12u1 probe=1.1.0-1+b1 ;;
    debian13) collector=1.7.5-2+deb13u1 probe=1.1.1-1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "nfdump=$collector" "softflowd=$probe" python3
echo "softflowd $probe, nfdump $collector"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
"$py" - "$tmp/capture" <<'CAPTURE'
import struct, sys

FLOWS, ROUNDS, START = 2, 5, 1_700_000_000
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for n in range(FLOWS * ROUNDS):
        source = bytes([10, 0, n % FLOWS >> 8, n % FLOWS & 255])
        head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 86, 0, 0, 64, 17, 0, source, bytes([10, 1, 0, 1]))
        total = sum(struct.unpack(">10H", head))
        head = head[:10] + struct.pack(">H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + head[12:]
        frame = bytes(6) + b"\2\0\0\0\0\1\x08\0" + head + struct.pack(">HHHH", 1000, 80, 66, 0) + bytes(58)
        file.write(struct.pack("<IIII", START + n // 10000, n % 10000 * 100, 100, 100) + frame)
CAPTURE
dates=()
for version in 5 9; do
    mkdir "$tmp/v$version"
    nfcapd -b 127.0.0.1 -p 19996 -w "$tmp/v$version" -t 3600 >"$tmp/said" 2>&1 & collector=$! pids+=($!)
    for _ in {1..100}; do grep -q "^ *[0-9]*: [0-9A-F]*:4E1C " /proc/net/udp && break; sleep 0.1; done
    softflowd -r "$tmp/capture" -n 127.0.0.1:19996 -v $version -p "$tmp/pid" -c none >"$tmp/said" 2>&1
    sleep 2
    kill -INT $collector
    wait $collector || true
    line=$(TZ=UTC nfdump -q -R "$tmp/v$version" -o 'fmt:%ts %sa %pkt' | head -n 1)
    echo "by NetFlow $version: $line packets"
    dates+=("${line:0:10}")
done
mkdir "$tmp/read"
nfpcapd -r "$tmp/capture" -w "$tmp/read" >"$tmp/said" 2>&1
line=$(TZ=UTC nfdump -q -R "$tmp/read" -o 'fmt:%ts %sa %pkt' | head -n 1)
echo "by nfpcapd:   $line packets"
[ "${line:0:10}" = 2023-11-14 ] && [ "${dates[0]}" != 2023-11-14 ] && [ "${dates[1]}" != 2023-11-14 ] || exit 1
