#!/bin/bash
# netflow 0.12.2 (NetFlow and IPFIX from Python) with softflowd 1.1.0 (Debian 12).
# Done: a capture of one flow of 10,000 packets is sampled, one of 10 and one of 100 (softflowd -s), exported by NetFlow
# 5, and read; the packet's header has a sampling_interval.
# Expected: 10 and 100, by which 1,000 and 100 packets make 10,000, as nfdump makes them of the same export.
# Seen: 16,394 and 16,484, so 16,394,000 and 1,648,400 packets. The field's two highest bits say how packets were
# chosen, here 1, every so many; the interval is the other 14, and the package reads all 16 as one number.
# Why it matters: each demand is 1,639 or 165 times too large, and of two switches the one that samples more often seems
# to have ten times the traffic. Take the interval & 0x3FFF.
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
    debian12) version=1.1.0-1+b1 ;;
    *) cannot "needs Debian 12" ;;
esac
debs "softflowd=$version" iproute2 python3-pip
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
PYTHONPATH=$tmp/usr/lib/python3/dist-packages "$py" -m pip install -q --no-cache-dir --no-compile --target "$tmp/py" \
    --only-binary :all: --no-deps netflow==0.12.2 >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "netflow 0.12.2, softflowd $version"
cat >"$tmp/exported.py" <<'SCRIPT'
import socket
import struct
import subprocess
import sys

import netflow

tmp, told = sys.argv[1], []
with open(f"{tmp}/capture", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 42, 1))  # 42 bytes of each frame of 1,000
    for n in range(10_000):
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 986, 0, 0, 64, 17, 0, bytes([10, 0, 0, 2]), bytes([10, 2, 0, 2]))
        frame = struct.pack(">12sH", bytes(12), 0x0800) + ip + struct.pack(">HHHH", 1001, 5001, 966, 0)
        file.write(struct.pack("<IIII", 1700000000 + n // 1000, n % 1000 * 1000, 42, 1000) + frame)
for rate in 10, 100:
    with socket.socket(type=socket.SOCK_DGRAM) as collector:
        collector.settimeout(10)
        collector.bind(("127.0.0.1", 0))
        to = f"127.0.0.1:{collector.getsockname()[1]}"
        command = ["softflowd", "-r", f"{tmp}/capture", "-n", to, "-v", "5", "-s", str(rate)]
        subprocess.run([*command, "-p", f"{tmp}/pid", "-c", "none"], check=True, capture_output=True, timeout=20)
        export = netflow.parse_packet(collector.recv(9000))
    (flow,) = export.flows
    packets, interval = flow.data["IN_PACKETS"], export.header.sampling_interval
    print(f"one of {rate}: sampling_interval {interval}, so {packets} packets are {packets * interval:,}")
    told.append((packets, interval))
if [packets for packets, _ in told] != [1000, 100]:
    sys.exit(f"softflowd sampled otherwise: {told}")
sys.exit(0 if [interval for _, interval in told] == [16394, 16484] else 3)
SCRIPT
status=0
PYTHONPATH=$tmp/py unshare --net --pid --fork --kill-child bash -c 'ip link set dev lo up; "$@"' - \
    "$py" -B "$tmp/exported.py" "$tmp" 2>"$tmp/said" || status=$?
[ $status != 3 ] || exit 1
[ $status = 0 ] || cannot "$(tail -n 1 "$tmp/said")"
