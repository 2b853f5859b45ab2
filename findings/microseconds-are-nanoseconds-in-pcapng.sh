#!/bin/bash
# fpcap 0.2.0 (this year's; a reader of captures in C++, with bindings to Python).
# Done: a flow of 3,000 packets, a millisecond apart, is written four times: as pcap and as pcapng, with times in
# microseconds and in nanoseconds. Each is read; the pcapng of nanoseconds is also copied as pcap, as the package's page
# does it, and read once more. Times are timestamp_seconds and, as a millionth of it, timestamp_microseconds.
# Expected: a duration of 2.999 s and gaps of a millisecond by each, as the package reads both formats of both units.
# Seen: so it is by all but the pcapng of nanoseconds, and its copy. Its timestamp_microseconds are nanoseconds, as the
# file has them, up to 999,000,000: the flow lasts 1,001 s, most gaps are of a second, two are of 998 s back in time.
# Why it matters: pcapng with nanoseconds is what dumpcap, and so Wireshark and tshark, write on Linux. Rates of flows
# are too small by hundreds, gaps by which bursts are told apart too large by a thousand. Such a file's own pcap
# of nanoseconds is read right: convert by editcap -F nsecpcap first.
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
    --only-binary :all: --no-deps fpcap==0.2.0 >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "fpcap 0.2.0"
cd "$tmp"
PYTHONPATH=$tmp/py "$py" -B - <<'SCRIPT' || exit 1
import struct
import sys

import fpcap

PACKETS = 3000
START = 1_700_000_000
FRAME = bytes(12) + b"\x88\xb5" + bytes(46)


def pcap(name, magic, unit):
    with open(name, "wb") as file:
        file.write(struct.pack("<IHHiIII", magic, 2, 4, 0, 0, 65535, 1))
        for ms in range(PACKETS):
            file.write(struct.pack("<IIII", START + ms // 1000, ms % 1000 * unit // 1000, 60, 60) + FRAME)


def pcapng(name, digits):
    def block(kind, body):
        size = struct.pack("<I", len(body) + 12)
        file.write(struct.pack("<I", kind) + size + body + size)

    with open(name, "wb") as file:
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
        block(1, struct.pack("<HHI HHB3x HH", 1, 0, 65535, 9, 1, digits, 0, 0))  # if_tsresol, and the end of options
        for ms in range(PACKETS):
            time = (START * 1000 + ms) * 10 ** (digits - 3)
            block(6, struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, 60, 60) + FRAME)


def read(name):
    reader = fpcap.PacketReader(name)
    times = [packet.timestamp_seconds * 1_000_000 + packet.timestamp_microseconds for packet in reader]
    gaps = [after - before for before, after in zip(times, times[1:])]
    lasts = max(times) - min(times)
    print(f"{name:13} {len(times)} packets in {lasts / 1e6:8.3f} s, gaps {min(gaps):,} to {max(gaps):,} us")
    return len(times), lasts, min(gaps), max(gaps)


pcap("us.pcap", 0xA1B2C3D4, 10**6)
pcap("ns.pcap", 0xA1B23C4D, 10**9)
pcapng("us.pcapng", 6)
pcapng("ns.pcapng", 9)
writer = fpcap.Writer.get_writer("copy.pcap")
reader = fpcap.PacketReader("ns.pcapng")
for packet in reader:
    writer.write(packet)
del writer
right = PACKETS, 2_999_000, 1000, 1000
told = [read(name) for name in ("us.pcap", "ns.pcap", "us.pcapng", "ns.pcapng", "copy.pcap")]
wrong = PACKETS, 1_001_000_000, -998_000_000, 1_000_000
sys.exit(told != [right, right, right, wrong, wrong])
SCRIPT
