#!/bin/bash
# rsplitcap 0.1.0 (this year's; takes captures apart into flows, in Rust, from Python).
# Done: a capture of an elephant of 3,000 packets and a mouse of 100, a millisecond apart, is written as pcap and as
# pcapng, both in microseconds. Flows are read from both, and from the files into which both are split.
# Expected: 2.999 s and 0.099 s, by the flows' own times, by their packets' and in the files.
# Seen: so it is of pcapng. Of pcap the elephant lasts 2.000999 s, and the mouse 0.000099 s: a packet's second is right,
# what is below is divided by a thousand, as if it were nanoseconds. The files have it so, too.
# Why it matters: pcap is what tcpdump writes. All packets of a second come in its first millisecond, so that mice have
# a thousand times their rate, each link is a row of bursts, and files that are kept instead of the capture have lost
# its times for good. Nothing looks broken: order, sizes and seconds are right.
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
PYTHONPATH=$tmp/usr/lib/python3/dist-packages "$py" -m pip install -q --no-cache-dir --no-compile --target "$tmp/py" \
    --only-binary :all: --no-deps rsplitcap==0.1.0 >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "rsplitcap 0.1.0"
cd "$tmp"
PYTHONPATH=$tmp/py "$py" -B - <<'SCRIPT' || exit 1
import struct
import sys
from pathlib import Path

import rsplitcap

START, SIZE = 1_700_000_000, 1000
FLOWS = (1001, 3000), (1002, 100)  # source port, packets


def frame(port):
    ip = struct.pack(">BBHHHBBH4B4B", 0x45, 0, SIZE - 14, 0, 0, 64, 17, 0, 10, 0, 0, 2, 10, 2, 0, 2)
    udp = struct.pack(">HHHH", port, 5001, SIZE - 34, 0)
    return (struct.pack(">12sH", bytes(12), 0x0800) + ip + udp).ljust(SIZE, b"\0")


def block(kind, body):
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def write(name, begin, record):
    Path(name).write_bytes(begin + b"".join(record(us, data) for us, data in packets))


def of_pcap(us, data):
    return struct.pack("<IIII", us // 10**6, us % 10**6, SIZE, SIZE) + data


def of_pcapng(us, data):
    return block(6, struct.pack("<IIIII", 0, us >> 32, us & 0xFFFFFFFF, SIZE, SIZE) + data)


def in_files(folder):
    """How long each flow lasts, in us, by the files into which a capture was split."""
    for path in sorted(Path(folder).iterdir()):
        records = struct.iter_unpack(f"<II8x{SIZE}x", path.read_bytes()[24:])
        times = [seconds * 10**6 + us for seconds, us in records]
        yield times[-1] - times[0]


packets = [(START * 10**6 + n * 1000, frame(port)) for n in range(3000) for port, count in FLOWS if n < count]
write("capture.pcap", struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1), of_pcap)
begin = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(1, struct.pack("<HHI", 1, 0, 65535))
write("capture.pcapng", begin, of_pcapng)
seen = []
for name in "capture.pcap", "capture.pcapng":
    Path(f"{name} split").mkdir()
    rsplitcap.split(name, f"{name} split")
    files = list(in_files(f"{name} split"))
    for flow, in_file in zip(sorted(rsplitcap.read_flows(name).flows(), key=lambda flow: flow.src_port), files):
        first, *_, last = flow.packets()
        lasts = [round((flow.end_ts - flow.start_ts) * 1e6), round((last.ts - first.ts) * 1e6), in_file]
        print(
            f"{name:14} {flow.packet_count:4} packets of {flow.total_bytes // flow.packet_count:,} bytes: a flow lasts"
            f" {lasts[0]:7,} us, its packets {lasts[1]:7,} us, in the file {lasts[2]:7,} us"
        )
        seen.append((flow.packet_count, flow.total_bytes, lasts))
expected = [(3000, 2_000_999), (100, 99), (3000, 2_999_000), (100, 99_000)]
sys.exit(seen != [(count, count * SIZE, [lasts] * 3) for count, lasts in expected])
SCRIPT
