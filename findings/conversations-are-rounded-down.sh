#!/bin/bash
# tshark 4.0.17 (Debian 12), 4.4.19 (Debian 13).
# Done: a capture of flows of 10.95 MB, 19.71 MB and 15 kB, which last 7.29 ms, 13.13 ms, 40.5 us and 144 us, is listed
# by tshark -q -z conv,tcp; and its hosts by -z endpoints,ip.
# Expected: bytes and durations as they are: the same table has starts to the nanosecond, -z endpoints has exact bytes.
# Seen: bytes are cut, not rounded, to whole kB or MB from two digits on (10 MB, 19 MB), and durations have tenths of a
# millisecond: 0.0000 and 0.0001.
# Why it matters: sizes of flows are up to 9 % too small (a flow of 10.95 MB); completion times of mice, which in a
# data centre are tens of microseconds, are 0, or a third too short, and their rates infinite. Take -T fields instead.
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
    debian12) version=4.0.17-0+deb12u3 ;;
    debian13) version=4.4.19-0+deb13u1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "tshark=$version" "wireshark-common=$version" python3
echo "tshark $version"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
"$py" - "$tmp/capture" <<'SCRIPT' || cannot "no capture"
import struct
import sys

now = 0
with open(sys.argv[1], "wb") as out:
    out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 54, 1))  # times in nanoseconds; 54 bytes of each frame
    flows = (1001, 730, 15000, 10000), (1002, 1314, 15000, 10000), (1003, 10, 1500, 4500), (1004, 10, 1500, 16000)
    for port, frames, size, gap in flows:
        for n in range(frames):
            ethernet = struct.pack(">12sH", bytes(12), 0x0800)
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, size - 14, 0, 0x4000, 64, 6, 0, bytes([10, 0, 0, 2]), bytes([10, 2, 0, 2]))
            tcp = struct.pack(">HHIIBBHHH", port, 5001, 1 + (size - 54) * n, 1, 0x50, 0x10, 1000, 0, 0)
            out.write(struct.pack("<IIII", 1700000000, now, 54, size) + ethernet + ip + tcp)
            now += gap
SCRIPT
shark() { HOME=$tmp tshark -r "$tmp/capture" "$@" 2>"$tmp/said"; }
shark -q -z conv,tcp >"$tmp/conversations"
shark -q -z endpoints,ip >"$tmp/endpoints"
shark -T fields -e tcp.srcport -e frame.len -e frame.time_relative >"$tmp/frames"
told=$(awk '/<->/ { sub(".*:", "", $1); print $1, $(NF - 3), $(NF - 2), $NF }' "$tmp/conversations" | sort)
true=$(awk '{ n[$1] += $2; if (!($1 in from)) from[$1] = $3; to[$1] = $3 }
    END { for (port in n) printf "%s %d bytes %.7f\n", port, n[port], to[port] - from[port] }' "$tmp/frames" | sort)
echo "port, bytes and seconds by -z conv,tcp:"
echo "$told"
echo "port, bytes and seconds by its frames:"
echo "$true"
[ "$true" = "1001 10950000 bytes 0.0072900
1002 19710000 bytes 0.0131300
1003 15000 bytes 0.0000405
1004 15000 bytes 0.0001440" ] || cannot "the capture is read otherwise"
echo "bytes by -z endpoints,ip: $(awk '$1 == "10.0.0.2" { print $3 }' "$tmp/endpoints") for $(awk '{ n += $2 } END { print n }' "$tmp/frames")"
grep -q '^10\.0\.0\.2 .* 30690000 ' "$tmp/endpoints" || exit 1
[ "$told" = "1001 10 MB 0.0073
1002 19 MB 0.0131
1003 15 kB 0.0000
1004 15 kB 0.0001" ] || exit 1
