#!/bin/bash
# tcpreplay 4.4.3 (Debian 12).
# Done: a capture has 100 packets of 1,000 bytes a second for 4 s, then 10 a second for 8 s; it is replayed as it was
# captured with --stats=1, whose manual says: print statistics every so many seconds.
# Expected: a line a second with the rate of that second, as iperf, bwm-ng and vmstat have it: 0.8 Mb/s, then 0.08.
# Seen: each line's rate is the mean since the beginning, whatever came in between. When 0.08 Mb/s have been on the link
# for seven seconds, the last line says three times that or more. The manual has no word on what is rated.
# Why it matters: that is what one writes down beside the switches' counters as the load which was offered. Bursts and
# pauses of a trace are flattened, and after a burst a switch seems to lose most of what is sent. Take differences of
# the bytes and seconds in the lines: those are right.
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
    debian12) version=4.4.3-1 ;;
    *) cannot "needs Debian 12" ;;
esac
debs "tcpreplay=$version" iproute2 python3
echo "tcpreplay $version"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
"$py" - "$tmp/steps.pcap" <<'SCRIPT'
import struct, sys

frame = b"\xff" * 6 + b"\2\0\0\0\0\1\x88\xb5" + bytes(986)
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for ms in [*range(0, 4000, 10), *range(4000, 12_000, 100)]:
        file.write(struct.pack("<IIII", 1_700_000_000 + ms // 1000, ms % 1000 * 1000, len(frame), len(frame)) + frame)
SCRIPT
export tmp
unshare --net --pid --fork --kill-child --mount-proc bash -eu -s <<'NETWORK'
ip link add name near type veth peer name far
ip link set dev near up
ip link set dev far up
timeout 60 tcpreplay --intf1=near --stats=1 "$tmp/steps.pcap" >"$tmp/said" 2>&1
NETWORK
"$py" - "$tmp/said" <<'SCRIPT' || { [ $? = 3 ] && exit 1; cannot "tcpreplay: $(tail -n 1 "$tmp/said")"; }
import re
import sys

with open(sys.argv[1]) as file:
    said = file.read().split("Test complete")[0]
line = r"Actual: \d+ packets \((\d+) bytes\) sent in ([\d.]+) seconds\s+Rated: [\d.]+ Bps, ([\d.]+) Mbps"
lines = re.findall(line, said)
if len(lines) < 8:
    sys.exit(2)
total, at, rows = 0, 0.0, []
for sent, seconds, rate in lines:
    sent, seconds, rate = int(sent), float(seconds), float(rate)
    rows.append((rate, (sent - total) * 8e-6 / (seconds - at), sent * 8e-6 / seconds))
    total, at = sent, seconds
    told = "after {:4.1f} s it says {:.2f} Mb/s; since the line before {:.2f}, since the beginning {:.2f}"
    print(told.format(at, *rows[-1]))
means = all(abs(rate - mean) < 0.03 for rate, _, mean in rows)
late = [(rate, truth) for rate, truth, _ in rows[-3:]]
sys.exit(0 if means and all(rate > 2 * truth for rate, truth in late) else 3)
SCRIPT
