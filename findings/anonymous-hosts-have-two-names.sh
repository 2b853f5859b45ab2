#!/bin/bash
# pycapng 0.19.7 (this year's; libpcapng, a library for captures in C, from Python).
# Done: a capture of 8 conversations between the 16 hosts of a fat-tree of four-port switches, 10 packets each way, is
# anonymized, twice with another seed.
# Expected: 16 other addresses, one a host, and 8 conversations; the package says that the two last octets are replaced
# deterministically.
# Seen: 32 addresses, and 16 conversations of one direction each, by any seed. What is written for an address is the
# same each time, but one thing where it is a source and another where it is a destination.
# Why it matters: in a capture that is given away so, nobody answers anybody. No flow has acknowledgements or a round
# trip, there are twice as many flows with half of the bytes, and the rows and columns of a traffic matrix have no host
# in common, so that what one sends and gets cannot be put together again. All else looks well: packets, sizes, times,
# ports and networks. Count the addresses before and after.
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
    --only-binary :all: --no-deps pycapng==0.19.7 >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "pycapng 0.19.7"
PYTHONPATH=$tmp/py "$py" -B - "$tmp" <<'SCRIPT' || exit 1
import struct
import sys
from itertools import product

import pycapng

FOLDER, PACKETS, SIZE = sys.argv[1], 10, 100
hosts = [bytes((10, pod, edge, host)) for pod, edge, host in product(range(4), range(2), (2, 3))]


def frame(source, destination):
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, SIZE - 14, 0, 0, 64, 17, 0, source, destination)
    udp = struct.pack(">HHHH", 5001, 5001, SIZE - 34, 0)
    return (struct.pack(">12sH", bytes(12), 0x0800) + ip + udp).ljust(SIZE, b"\0")


def read(name):
    """Packets of a capture, its addresses, those that both send and get, pairs of a direction, and conversations."""
    pairs = [(one.data[26:30], one.data[30:34]) for one in pycapng.read_packets(f"{FOLDER}/{name}")]
    sources, destinations = (set(side) for side in zip(*pairs))
    directions = set(pairs)
    conversations = {frozenset(pair) for pair in pairs}
    return len(pairs), len(sources | destinations), len(sources & destinations), len(directions), len(conversations)


capture = pycapng.PcapNG()
capture.OpenFile(f"{FOLDER}/whole", "w")
for number in range(PACKETS):
    for one, other in zip(hosts[:8], hosts[8:]):
        for pair in (one, other), (other, one):
            capture.WritePacketTime(frame(*pair), 1_700_000_000_000_000_000 + number * 1_000_000)
capture.CloseFile()
pycapng.anonymize(f"{FOLDER}/whole", f"{FOLDER}/first")
pycapng.anonymize(f"{FOLDER}/whole", f"{FOLDER}/second", seed=5)
seen = []
for name in "whole", "first", "second":
    seen.append(read(name))
    packets, addresses, both, directions, conversations = seen[-1]
    print(f"{name}: {packets} packets, {addresses} addresses, {both} that send and get, {conversations} conversations")
sys.exit(seen != [(160, 16, 16, 16, 8)] + 2 * [(160, 32, 0, 16, 16)])
SCRIPT
