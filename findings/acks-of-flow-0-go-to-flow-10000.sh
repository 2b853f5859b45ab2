#!/bin/bash
# ns.py 0.4.3 (ns-py, a packet simulator in Python), its own fat-tree of k = 4.
# Done: generate_fib(tcp=True) writes every node's table of flows and ports, for flow 0 and flow 9,999, or 10,000.
# Expected: data and acknowledgements of both flows are led along their paths, whatever their numbers are.
# Seen: flow 0's acknowledgements are led off to flow 10,000's receiver: an acknowledgement of flow n is flow n + 10,000
# in the same table, and nothing is said.
# Why it matters: from 10,001 flows on senders wait for acknowledgements that went elsewhere; results look like any.
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

from ns.flow.flow import Flow
from ns.topos.fattree import build
from ns.topos.utils import generate_fib

network = build(4)
hosts = [node for node, facts in network.nodes(data=True) if facts["type"] == "host"]
edge, core = list(network.neighbors(hosts[0]))[0], 0


def path(source, sink):
    """From a host to another one in another pod, over core switch 0."""
    (a,), (z,) = network.neighbors(source), network.neighbors(sink)
    up, down = (set(network.neighbors(switch)) & set(network.neighbors(core)) for switch in (a, z))
    return [source, a, up.pop(), core, down.pop(), z, sink]


flows = {0: path(hosts[0], hosts[4]), 9_999: path(hosts[8], hosts[12]), 10_000: path(hosts[8], hosts[12])}


def astray(*numbers):
    """Those of these flows whose acknowledgements some node of their path leads elsewhere."""
    some = {n: Flow(n, flows[n][0], flows[n][-1], path=flows[n]) for n in numbers}
    nodes = generate_fib(network, some, tcp=True).nodes
    return [n for n, flow in some.items()
            if any(nodes[b]["flow_to_nexthop"][n + 10_000] != a for a, b in zip(flow.path, flow.path[1:]))]


last, beyond = astray(0, 9_999), astray(0, 10_000)
print(f"flow 0 takes {flows[0]}, the other {flows[10_000]}")
print(f"acknowledgements are led elsewhere of flows {last} where the other is flow 9,999")
print(f"                                   of flows {beyond} where it is flow 10,000")
sys.exit(last != [] or beyond != [0])
SCRIPT
