#!/bin/bash
# FNSS 0.9.1 (fnss, topologies for experiments) with Mininet 2.3.0.dev6, as PyPI has them.
# Done: its fat-tree of k = 4 gets links of 10 Mb/s, 1 ms and buffers of 50 packets, and is made a topology of Mininet's
# by to_mininet, which takes all three "if the links are labeled with" them, buffers if they are in packets.
# Expected: each of the 48 links has bw=10, delay=1 ms and max_queue_size=50.
# Seen: rates and delays are there; no link has a max_queue_size, and nothing is said: buffers are kept by one name in a
# topology and looked for by another.
# Why it matters: the queues are then Mininet's and the kernel's own, 1,000 packets, 1.2 s at 10 Mb/s: what was planned
# as shallow buffers loses nothing, and waits hundreds of times longer than its paths are. Add max_queue_size oneself.
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
"$py" -c "import setuptools, pip" 2>"$tmp/pip" || debs python3-pip python3-setuptools
[ -x $py ] || py=$tmp/usr/bin/python3
export PYTHONPATH=$tmp/py:$tmp/usr/lib/python3/dist-packages
# of Mininet its classes alone: no network is made
"$py" -m pip install -q --no-cache-dir --no-compile --target "$tmp/py" --no-deps --no-build-isolation \
    fnss==0.9.1 mininet==2.3.0.dev6 networkx==3.4.2 numpy==2.2.6 >"$tmp/pip" 2>&1 ||
    cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "FNSS 0.9.1, Mininet 2.3.0.dev6"
"$py" -W ignore - <<'SCRIPT' || exit 1
import sys

import setuptools  # distutils, which FNSS uses and Python 3.13 lacks
import fnss

tree = fnss.fat_tree_topology(4)
fnss.set_capacities_constant(tree, 10, "Mbps")
fnss.set_delays_constant(tree, 1, "ms")
fnss.set_buffer_sizes_constant(tree, 50, "packets")
hosts = [node for node in tree if tree.nodes[node]["type"] == "host"]
topo = fnss.to_mininet(tree, hosts=hosts, switches=[node for node in tree if node not in hosts])
links = [options for *_, options in topo.links(withInfo=True)]
asked = set(fnss.get_buffer_sizes(tree).values()), tree.graph["buffer_unit"]
print("buffers in the topology:", *asked)
for name in "bw", "delay", "max_queue_size":
    print(f"{name} in Mininet's {len(links)} links:", {options.get(name) for options in links})
as_seen = all(options["bw"] == 10 and options["delay"] == "1000.0us" for options in links) and len(links) == 48
sys.exit(not as_seen or asked != ({50}, "packets") or any("max_queue_size" in options for options in links))
SCRIPT
