#!/bin/bash
# argus 3.0.8.2 (Debian 12), 5.0.2 (Debian 13).
# Done: a capture of four flows is read; each has packets of 1,000 bytes at equal gaps over one second exactly: 2, 3, 10
# and 100 of them. ra prints duration, packets, bytes, load ("bits per second") and rate ("packets per second").
# Expected: load is bytes times 8 over duration, as the three are printed side by side, and rate is packets over it.
# Seen: both leave one packet out: load is that of n - 1 packets, 8,000 bit/s for the 2,000 bytes in a second of the
# first flow, and rate is 1. racluster's sums are made alike.
# Why it matters: rates of mice are too low by as much as they are short, a flow of two packets by half, in each
# direction, while other collectors divide bytes by duration; and where flows are cut into records of seconds, each
# record loses a packet's worth. Compare sizes and durations, not loads.
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
    debian12) server=2:3.0.8.2-2.2 client=1:3.0.8.2-6.1+b3 ;;
    debian13) server=2:5.0.2-3 client=1:5.0.2+git20250321.41f65e2-2 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "argus-server=$server" "argus-client=$client" python3
echo "argus $server, its clients $client"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
"$py" - "$tmp/capture" <<'CAPTURE'
import struct, sys

START = 1_700_000_000
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for flow, packets in enumerate([2, 3, 10, 100]):
        for n in range(packets):
            head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 986, 0, 0, 64, 17, 0, b"\n\0\0\1", b"\n\1\0\1")
            total = sum(struct.unpack(">10H", head))
            head = head[:10] + struct.pack(">H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + head[12:]
            frame = bytes(6) + b"\2\0\0\0\0\1\x08\0" + head + struct.pack(">HHHH", 1000 + flow, 80, 966, 0) + bytes(958)
            second, rest = divmod(round(1_000_000 * n / (packets - 1)), 1_000_000)
            file.write(struct.pack("<IIII", START + 10 * flow + second, rest, 1000, 1000) + frame)
CAPTURE
argus -X -r "$tmp/capture" -w "$tmp/flows" -S 60
for client in ra racluster; do
    "$client" -X -n -L -1 -c , -r "$tmp/flows" -s dur spkts sbytes load rate | sort -t , -k 2n >"$tmp/$client"
    sed "s/^\([^,]*\),\([^,]*\),\([^,]*\),\([^,]*\),\(.*\)/$client: in \1 s \2 packets, \3 bytes: load \4, rate \5/" "$tmp/$client"
    [ "$(cat "$tmp/$client")" = "1.000000,2,2000,8000.000000,1.000000
1.000000,3,3000,16000.000000,2.000000
1.000000,10,10000,72000.000000,9.000000
1.000000,100,100000,792000.000000,99.000000" ] || exit 1
done
