#!/bin/bash
# rustworkx 0.18.1 (July 2026).
# Done: in a fat-tree of four-port switches, k_shortest_path_lengths tells the lengths, in links, of the six shortest
# paths between two hosts of one edge switch, of one pod, and of two pods; all_simple_paths lists the paths without a
# node twice, up to twelve links.
# Expected: the same by both. That is one path for the first pair, as its hosts have a link each; two of 4 links and
# then some of 10, through another pod, for the second; four of 6 and then some of 8 for the third.
# Seen: the first pair has a second path, of 4 links, and more: they go from the edge switch to any neighbour and back
# over the same link. The second pair's third has 6 links in place of 10. The third pair's are as expected.
# Why it matters: routing over k shortest paths, as Jellyfish has it, cannot use what is counted here, and nothing tells
# that a pair of hosts has no second path at all: there is always another length. The documentation says paths, without
# a word on this. Sort those of all_simple_paths.
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
debs python3-pip
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
PYTHONPATH=$tmp/usr/lib/python3/dist-packages "$py" -m pip install -q --no-cache-dir --no-compile --target "$tmp/py" \
    --no-deps rustworkx==0.18.1 >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "rustworkx 0.18.1"
export PYTHONPATH=$tmp/py
"$py" - <<'SCRIPT' || exit 1
import sys

import rustworkx

HALF = 2
tree, nodes = rustworkx.PyGraph(), {}


def node(*name):
    if name not in nodes:
        nodes[name] = tree.add_node(name)
    return nodes[name]


for pod in range(2 * HALF):
    for i in range(HALF):
        for j in range(HALF):
            tree.add_edge(node("host", pod, i, j), node("edge", pod, i), None)
            tree.add_edge(node("edge", pod, i), node("aggregation", pod, j), None)
            tree.add_edge(node("aggregation", pod, i), node("core", i, j), None)

SEEN = {
    "one edge switch": ((0, 0, 1), [2], [2, 4, 4, 4, 4, 6]),
    "one pod": ((0, 1, 0), [4, 4, 10, 10, 10, 10], [4, 4, 6, 6, 6, 6]),
    "two pods": ((1, 0, 0), [6, 6, 6, 6, 8, 8], [6, 6, 6, 6, 8, 8]),
}
first, as_seen = node("host", 0, 0, 0), True
for pair, (second, *seen) in SEEN.items():
    second = node("host", *second)
    simple = sorted(len(path) - 1 for path in rustworkx.all_simple_paths(tree, first, second, cutoff=12))[:6]
    lengths = [
        int(rustworkx.k_shortest_path_lengths(tree, first, k, lambda link: 1.0, goal=second)[second])
        for k in range(1, 7)
    ]
    print(f"hosts of {pair}: without a node twice {simple}, by k_shortest_path_lengths {lengths}")
    as_seen &= [simple, lengths] == seen
sys.exit(not as_seen)
SCRIPT
