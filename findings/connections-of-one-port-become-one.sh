#!/bin/bash
# tcptrace 6.6.7 (Debian 12 and 13).
# Done: a capture has two TCP connections with the same addresses and ports; the second begins ten seconds after the
# first. Each has its handshake, sends 500,000 bytes in half a second, is acknowledged, and is closed by both sides. The
# second's first sequence number is that of the first, one in the middle of it, or one far beyond its end.
# Expected: always two connections of 500,000 bytes at 1 MB/s, and no retransmission: both FINs were seen, and were
# acknowledged, long before the next SYN came.
# Seen: only so in the last case. In the others it is one connection of 10.5 s, at 48 and 71 kB/s. What the second sent
# counts as a retransmission where its numbers are those of the first: all of its 500 segments, or half of them. For
# four minutes tcptrace takes a SYN with a number of the last connection for a part of it, even if that was closed.
# Why it matters: runs of one experiment have the same addresses and often the same ports. A simulator may begin each
# connection with number 0; Linux's first numbers rise by one in 64 ns, which flows of more than 125 Mb/s overtake. Then
# flows are missing, goodput is a tenth of what it was, and a network without loss resent half of all. It helps to say
# --endpoint_reuse_interval=1, which the manual page does not name, or to have a capture for each run.
set -Eeuo pipefail
PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
tmp=$(mktemp -d) pids=()
trap '{ kill -9 ${pids[@]+"${pids[@]}"}; wait; } 2>/dev/null || true; rm -rf "$tmp"' EXIT
cannot() { echo "cannot run: $*" >&2; exit 2; }
trap 'cannot "line $LINENO: $BASH_COMMAND"' ERR
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
    debian12) version=6.6.7-6+b1 ;;
    debian13) version=6.6.7-6+b2 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "tcptrace=$version" python3
echo "tcptrace $version"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
"$py" - "$tmp" <<'SCRIPT'
import struct, sys

ENDS = (bytes([10, 0, 0, 1]), 1000), (bytes([10, 1, 0, 1]), 2000)
SYN, FIN, PUSH, ACK = 2, 1, 8, 16


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack(">H", ~total & 0xFFFF)


def frame(back, number, acknowledged, flags, length=0):
    (source, port), (target, to) = ENDS[::-1] if back else ENDS
    head = struct.pack(">BBHHHBBH", 0x45, 0, 40 + length, 0, 0x4000, 64, 6, 0) + source + target
    tcp = struct.pack(">HHIIBBHHH", port, to, number, acknowledged, 5 << 4, flags, 60000, 0, 0)
    pseudo = source + target + struct.pack(">BBH", 0, 6, 20 + length)
    tcp = tcp[:16] + checksum(pseudo + tcp + bytes(length)) + tcp[18:]
    ethernet = b"\2" + bytes(4) + b"\2" + b"\2" + bytes(4) + b"\1" + b"\x08\0"
    return ethernet + head[:10] + checksum(head) + head[12:] + tcp + bytes(length)


def connection(begin, first):  # times in microseconds
    yield begin, frame(0, first, 0, SYN)
    yield begin + 100, frame(1, 7000, first + 1, SYN | ACK)
    yield begin + 200, frame(0, first + 1, 7001, ACK)
    for n in range(500):
        yield begin + 1000 * n + 300, frame(0, first + 1 + 1000 * n, 7001, PUSH | ACK, 1000)
        yield begin + 1000 * n + 500, frame(1, 7001, first + 1001 + 1000 * n, ACK)
    end = first + 500_001
    yield begin + 500_000, frame(0, end, 7001, FIN | ACK)
    yield begin + 500_100, frame(1, 7001, end + 1, FIN | ACK)
    yield begin + 500_200, frame(0, end + 1, 7002, ACK)


for name, second in ("same", 1000), ("middle", 251_000), ("beyond", 50_000_000):
    with open(f"{sys.argv[1]}/{name}.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for begin, first in (0, 1000), (10_000_000, second):
            for time, data in connection(begin, first):
                at = 1_700_000_000 + time // 1_000_000, time % 1_000_000
                file.write(struct.pack("<IIII", *at, len(data), len(data)) + data)
SCRIPT
say() { # of a capture: connections, and of each what was sent, resent, and its throughput
    tcptrace -l -n "${@:2}" "$tmp/$1.pcap" 2>&1 | awk '
        /connections? traced/ { said = $1 " connection" ($1 > 1 ? "s" : "") }
        /unique bytes sent:/ { said = said ", " $4 }
        /rexmt data pkts:/ { said = said " resent " $4 }
        /throughput:/ { said = said " at " $2 }
        END { print said }'
}
seen=
for name in same middle beyond; do
    it=$(say $name) repaired=$(say $name --endpoint_reuse_interval=1)
    echo "$name: $it"
    echo "    with --endpoint_reuse_interval=1: $repaired"
    seen+="$it / $repaired"$'\n'
done
two="2 connections, 500000 resent 0 at 999600, 500000 resent 0 at 999600"
expected="1 connection, 500000 resent 502 at 47618 / $two
1 connection, 750000 resent 252 at 71427 / $two
$two / $two
"
[ "$seen" = "$expected" ] || exit 1
