#!/bin/bash
# ns.py 0.4.3 (ns-py, a packet simulator in Python).
# Done: single packets, one second apart, pass idle ports whose limit is 1 packet, or 1,500 bytes; and a port without a
# rate (0: unlimited) whose limit is 10,000 bytes.
# Expected: a queue "including the packet in service" lets one packet through at a time; what has no rate has no queue.
# Seen: the limit of 1 packet drops all; a packet of 1,500 bytes needs a limit of 1,501; and without a rate the bytes
# are never taken off again: after 6 packets the port drops everything for ever.
# Why it matters: buffers are one packet smaller than asked, which decides at small ones; and a "lossless" port is none.
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
case $release in debian12 | debian13) ;; *) cannot "needs Debian 12 or 13" ;; esac
debs python3-pip
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
PYTHONPATH=$tmp/usr/lib/python3/dist-packages "$py" -m pip install -q --no-cache-dir --target "$tmp/py" \
    --no-deps ns-py==0.4.3 simpy==4.1.1 networkx==3.4.2 >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "ns.py 0.4.3"
export PYTHONPATH=$tmp/py
"$py" - <<'SCRIPT' || exit 1
import sys

import simpy
from ns.packet.packet import Packet
from ns.packet.sink import PacketSink
from ns.port.port import Port


def carried(**port):
    """Of 20 packets of 1,500 bytes, a second apart, which take 1.5 ms each where there is a rate."""
    env = simpy.Environment()
    way, sink = Port(env, **port), PacketSink(env)
    way.out = sink

    def send():
        for n in range(20):
            way.put(Packet(env.now, 1500, n, flow_id=0))
            yield env.timeout(1)

    env.process(send())
    env.run(until=60)
    return sink.packets_received[0]


cases = [dict(rate=8e6, qlimit=1), dict(rate=8e6, qlimit=2), dict(rate=8e6, qlimit=1500, limit_bytes=True),
         dict(rate=8e6, qlimit=1501, limit_bytes=True), dict(rate=0, qlimit=10_000, limit_bytes=True)]
counts = [carried(**case) for case in cases]
for case, count in zip(cases, counts):
    print(f"{count:2} of 20 packets, one at a time, passed a port of {case}")
sys.exit(counts != [0, 20, 0, 20, 6])
SCRIPT
