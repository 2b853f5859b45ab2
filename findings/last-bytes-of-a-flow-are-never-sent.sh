#!/bin/bash
# ns.py 0.4.3 (ns-py, a packet simulator in Python).
# Done: TCP flows of 512, 1,000, 10,000 and 300 bytes over a link without loss, 100 s of simulated time each.
# Expected: each flow's bytes arrive, the last segment being a short one.
# Seen: 512, 512, 9,728 and 0 bytes arrive: only whole segments of 512 bytes leave. The flow waits for ever for a
# window that has room for a whole one, though it has less to send.
# Why it matters: a flow below 512 bytes sends nothing, and completion by received bytes never comes for sizes that are
# drawn; round sizes to multiples of 512 first.
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
from ns.flow.cc import TCPReno
from ns.flow.flow import Flow
from ns.packet.tcp_generator import TCPPacketGenerator
from ns.packet.tcp_sink import TCPSink
from ns.port.wire import Wire


def received(size):
    env = simpy.Environment()
    flow = Flow(fid=0, src="a", dst="b", size=size, start_time=0.0, finish_time=100.0)
    sender, sink = TCPPacketGenerator(env, flow=flow, cc=TCPReno()), TCPSink(env)
    there, back = Wire(env, lambda: 0.01), Wire(env, lambda: 0.01)
    sender.out, there.out, sink.out, back.out = there, sink, back, sender
    env.run(until=100)
    return sink.next_seq_expected


sizes = [512, 1000, 10000, 300]
arrived = [received(size) for size in sizes]
for size, came in zip(sizes, arrived):
    print(f"flow of {size:6} bytes: {came:6} arrived in 100 s")
sys.exit(arrived != [512, 512, 9728, 0])
SCRIPT
