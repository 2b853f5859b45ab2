#!/bin/bash
# networkx 3.6.1, beside igraph 1.0.0.
# Done: a fat-tree of four-port switches is written as GraphML: its links have a capacity of 1,000 by the key's default,
# and the links of hosts have their own, 10,000. Both libraries read it and say the maximum flow between two hosts of
# different pods.
# Expected: 2,000 by both: a host's edge switch has two links up. A default is what a link has that does not say.
# Seen: so it is by igraph. By networkx it is 10,000. It keeps the default beside the graph, in graph.graph, and the
# links are without a capacity; its flows take such links for ones without a limit.
# Why it matters: the network that the links between switches make is what one measures, and it is gone: a fat-tree with
# ten times as much below as above seems to have no such ratio, and a failed link costs nothing. One number comes out,
# as large as the hosts' links, with no warning. Give each link of such a file the default of graph.graph before use.
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
    --only-binary :all: --no-deps networkx==3.6.1 igraph==1.0.0 texttable==1.7.0 >"$tmp/pip" 2>&1 ||
    cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "networkx 3.6.1, igraph 1.0.0"
export PYTHONPATH=$tmp/py
"$py" -B - "$tmp/tree.graphml" <<'SCRIPT' || exit 1
import sys
from itertools import product

import igraph
import networkx

PODS, HALF = range(4), range(2)
nodes, links = set(), []


def link(a, b, capacity=None):
    nodes.update((a, b))
    own = "" if capacity is None else f'<data key="c">{capacity}</data>'
    links.append(f'<edge source="{a}" target="{b}">{own}</edge>')


for pod, i, j in product(PODS, HALF, HALF):
    link(f"host{pod}{i}{j}", f"edge{pod}{i}", 10_000)
    link(f"edge{pod}{i}", f"aggregation{pod}{j}")
    link(f"aggregation{pod}{i}", f"core{i}{j}")
with open(sys.argv[1], "w") as file:
    print('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">', file=file)
    print('<key id="c" for="edge" attr.name="capacity" attr.type="int"><default>1000</default></key>', file=file)
    print('<graph edgedefault="undirected">', *(f'<node id="{node}"/>' for node in sorted(nodes)), *links, file=file)
    print("</graph></graphml>", file=file)

ends = "host000", "host100"
tree = networkx.read_graphml(sys.argv[1])
by_networkx = networkx.maximum_flow_value(tree, *ends)
silent = sum("capacity" not in data for _, _, data in tree.edges(data=True))
other = igraph.Graph.Read_GraphML(sys.argv[1])
by_igraph = other.maxflow_value(*(other.vs.find(id=end).index for end in ends), "capacity")
for _, _, data in tree.edges(data=True):
    data.setdefault("capacity", tree.graph["edge_default"]["capacity"])
corrected = networkx.maximum_flow_value(tree, *ends)
print(f"of {tree.size()} links {silent} have no capacity in networkx, in igraph {other.es['capacity'].count(None)}")
print(f"maximum flow by networkx {by_networkx}, by igraph {by_igraph:g}; by networkx given the default {corrected}")
sys.exit([by_networkx, silent, by_igraph, corrected] != [10_000, 32, 2000, 2000])
SCRIPT
