#!/bin/bash
# dpkt 1.9.8, beside Scapy 2.8.0.
# Done: a pcapng capture of two interfaces is read: one has times in microseconds, the other in nanoseconds, as when
# captures of tcpdump and of a card with its own clock are merged. Packets come one second apart, from each in turn.
# Expected: times one second apart: each interface has its resolution in its own description, which is what that is for.
# Seen: so it is by Scapy. dpkt takes the first interface's resolution for all: the other's packets are 1,000 times as
# late, in the year 55840; with the interfaces the other way round they are 1,000 times too early, in January 1970.
# Nothing is said.
# Why it matters: one-way delays between two points of capture, and times of flows that were seen at both, are of
# another age. Where one point's are dropped as out of range, half of the traffic goes. Merge into one resolution first.
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
case $release in debian12 | debian13) ;; *) cannot "needs Debian 12 or 13" ;; esac
py=/usr/bin/python3
"$py" -m pip --version >"$tmp/pip" 2>&1 || debs python3-pip
[ -x $py ] || py=$tmp/usr/bin/python3
pip() { # exact packages, without others, into $tmp/py
    PYTHONPATH=$tmp/usr/lib/python3/dist-packages "$py" -m pip install -q --no-cache-dir --no-compile \
        --only-binary :all: --target "$tmp/py" --no-deps "$@" >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
    export PYTHONPATH=$tmp/py
}
pip dpkt==1.9.8 scapy==2.8.0
echo "dpkt 1.9.8, Scapy 2.8.0"
HOME=$tmp "$py" - "$tmp" <<'SCRIPT' || exit 1
import struct, sys

import dpkt
from scapy.utils import RawPcapNgReader

START, FRAME = 1_700_000_000, bytes(12) + b"\x88\xb5" + bytes(46)


def block(kind, body):
    size = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + size + body + size


def interface(digits):  # its times count 10 ** -digits seconds
    return block(1, struct.pack("<HHIHHBxxxHH", 1, 0, 0, 9, 1, digits, 0, 0))


def packet(interface, ticks):
    head = struct.pack("<IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(FRAME), len(FRAME))
    return block(6, head + FRAME)


def seconds(resolutions):
    """By dpkt and by Scapy, after START, of four packets, the interfaces in turn."""
    path = f"{sys.argv[1]}/capture"
    with open(path, "wb") as file:
        file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        for digits in resolutions:
            file.write(interface(digits))
        for n in range(4):
            file.write(packet(n % 2, (START + n) * 10 ** resolutions[n % 2]))
    with open(path, "rb") as file:
        dpkts = [round(time - START) for time, _ in dpkt.pcapng.Reader(file)]
    with RawPcapNgReader(path) as reader:
        scapys = [((meta.tshigh << 32) + meta.tslow) // meta.tsresol - START for _, meta in reader]
    return dpkts, scapys


wrong = [seconds((6, 9)), seconds((9, 6))]
for (dpkts, scapys), which in zip(wrong, ("microseconds first", "nanoseconds first")):
    print(f"{which}: seconds after the first packet, by dpkt {dpkts}, by Scapy {scapys}")
late, early = (START + 1) * 1000 - START, (START + 1) // 1000 - START
right = [0, 1, 2, 3]
sys.exit(wrong != [([0, late, 2, late + 2000], right), ([0, early, 2, early], right)]
         or seconds((6, 6)) != (right, right) or seconds((9, 9)) != (right, right))
SCRIPT
