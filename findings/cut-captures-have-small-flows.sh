#!/bin/bash
# netflower 1.1.0 (this year's), with dpkt 1.9.8.
# Done: a TCP flow of 100 segments of 1,460 bytes is captured whole, and cut to 96 bytes of each frame (tcpdump -s 96,
# as is usual at data-centre rates); both are made to flows.
# Expected: the same numbers: a cut packet keeps its length in its IP header, and in the capture's own record.
# Seen: the bytes of the second are those that were kept: 8,200 where 150,000 were sent; so are its packets' lengths and
# its bytes per second. Packets and times are right, and nothing is said.
# Why it matters: every full packet counts as 82 bytes, so flows are as large as they have packets, rates are a
# twentieth, and what is learned from both kinds of captures tells them apart by the cut. Add up IP's own lengths.
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
    debian12) library=libpcap0.8 ;;
    debian13) library=libpcap0.8t64 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
py=/usr/bin/python3
"$py" -m pip --version >"$tmp/pip" 2>&1 && debs $library || debs $library python3-pip
[ -x $py ] || py=$tmp/usr/bin/python3
PYTHONPATH=$tmp/usr/lib/python3/dist-packages "$py" -m pip install -q --no-cache-dir --no-compile --target "$tmp/py" \
    --no-deps netflower==1.1.0 dpkt==1.9.8 >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
# it loads libpcap, which it has for captures from the wire, by the name that developers' packages give it
mkdir "$tmp/names"
ln -s "$tmp/usr/lib/x86_64-linux-gnu/libpcap.so.0.8" "$tmp/names/libpcap.so"
export PYTHONPATH=$tmp/py LD_LIBRARY_PATH=$tmp/names:$LD_LIBRARY_PATH
echo "netflower 1.1.0"
"$py" - "$tmp" <<'SCRIPT' || exit 1
import csv, struct, sys

from netflower import convert_pcap_to_csv

START = 1_700_000_000


def frame(n):
    """The n-th segment of 1,460 bytes of one flow."""
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 1500, 0, 0, 64, 6, 0, b"\n\0\0\1", b"\n\1\0\1")
    total = sum(struct.unpack(">10H", head))
    head = head[:10] + struct.pack(">H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + head[12:]
    tcp = struct.pack(">HHIIBBHHH", 40000, 5001, 1 + 1460 * n, 1, 0x50, 0x10, 65535, 0, 0)
    return bytes(6) + b"\2\0\0\0\0\1\x08\0" + head + tcp + bytes(1460)


def flow(kept):
    """What it says of the flow in a capture that keeps so many bytes of each frame."""
    with open(f"{sys.argv[1]}/capture", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, kept, 1))
        for n in range(100):
            whole = frame(n)
            file.write(struct.pack("<IIII", START, n * 1000, len(whole[:kept]), len(whole)) + whole[:kept])
    convert_pcap_to_csv(f"{sys.argv[1]}/capture", f"{sys.argv[1]}/flows")
    (only,) = csv.DictReader(open(f"{sys.argv[1]}/flows"))
    return [round(float(only[name])) for name in ("tot_fwd_pkts", "totlen_fwd_pkts", "fwd_pkt_len_max", "flow_byts_s")]


whole, cut = flow(65535), flow(96)
for name, (packets, length, largest, rate) in (("whole", whole), ("cut  ", cut)):
    print(f"{name}: {packets} packets, {length} bytes, the largest {largest}, {rate} bytes/s")
sys.exit((whole, cut) != ([100, 150_000, 1500, 1_515_152], [100, 8_200, 82, 82_828]))
SCRIPT
