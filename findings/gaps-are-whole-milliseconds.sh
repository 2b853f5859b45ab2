#!/bin/bash
# nfstream 6.6.0 (this year's).
# Done: a capture of two flows is read with statistics: 1,000 packets at gaps of exactly 100 us, and a mouse of ten at
# gaps of 50 us.
# Expected: durations 99.9 ms and 0.45 ms; the gaps' mean, deviation, least and largest of the first 0.1, 0, 0.1 and 0.1
# ms: they are floats, and the capture has microseconds.
# Seen: 99 and 0 ms; 0.0991, 0.299, 0 and 1 ms. Times are cut to whole milliseconds when a packet is read, so each gap
# is 0 or 1: a flow as steady as a clock varies by three times its mean. The mouse's are all 0.
# Why it matters: burstiness and jitter of a data centre's flows, whose gaps are tens of microseconds, are those of the
# cutting; completion times of mice are 0 and their rates infinite. Only means of long flows are near.
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
pip nfstream==6.6.0 dpkt==1.9.8 cffi==2.1.1 pycparser==3.12 psutil==7.2.2 numpy==2.4.6 pandas==3.1.1 \
    python-dateutil==2.9.0.post0 six==1.17.0
echo "nfstream 6.6.0"
cat >"$tmp/read.py" <<'SCRIPT'
import struct, sys

from nfstream import NFStreamer

START = 1_700_000_000


def write(path):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for flow, (packets, gap) in enumerate([(1000, 100), (10, 50)]):
            head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 986, 0, 0, 64, 17, 0, b"\n\0\0\1", b"\n\1\0\1")
            total = sum(struct.unpack(">10H", head))
            head = head[:10] + struct.pack(">H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + head[12:]
            frame = bytes(6) + b"\2\0\0\0\0\1\x08\0" + head + struct.pack(">HHHH", 1000 + flow, 80, 966, 0) + bytes(958)
            for n in range(packets):
                file.write(struct.pack("<IIII", START + flow, n * gap, len(frame), len(frame)) + frame)


if __name__ == "__main__":
    write(sys.argv[1])
    seen = {}
    for flow in NFStreamer(source=sys.argv[1], statistical_analysis=True, n_dissections=0, n_meters=1):
        seen[flow.src2dst_packets] = (
            flow.bidirectional_duration_ms, round(flow.bidirectional_mean_piat_ms, 4),
            round(flow.bidirectional_stddev_piat_ms, 3), flow.bidirectional_min_piat_ms, flow.bidirectional_max_piat_ms)
    for packets, (duration, *gaps) in sorted(seen.items()):
        print(f"{packets} packets: duration {duration} ms; gaps' mean, deviation, least, largest: {gaps} ms")
    sys.exit(seen != {1000: (99, 0.0991, 0.299, 0, 1), 10: (0, 0, 0, 0, 0)})
SCRIPT
"$py" "$tmp/read.py" "$tmp/capture" || exit 1
