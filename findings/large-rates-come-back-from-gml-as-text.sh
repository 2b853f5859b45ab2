#!/bin/bash
# networkx 3.6.1, beside igraph 1.0.0.
# Done: a network with links of 1, 40 and 100 Gb/s, whose capacities are integers of bit/s, is written as GML, the
# Topology Zoo's format, by networkx, and read by both. Then once more without the link of 1 Gb/s.
# Expected: the three integers, by both.
# Seen: networkx writes what is beyond 2,147,483,647 as text, in quotes, and reads it as text: 1 Gb/s is an integer, and
# the others are strings. igraph makes all three strings. Without the small link, the largest capacity by max() is that
# of 40 Gb/s, as a 4 comes after a 1. As floats, or as GraphML, all come back as numbers.
# Why it matters: a topology that was tried with links of 1 Gb/s has links of another type once they are faster than 2.1
# Gb/s. Flows then fail, at least; what compares or sorts (the widest link, ranks, groups by rate) goes on with the
# order of text. The functions' documentation does not tell. Write capacities as floats, or in Mb/s.
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
"$py" -B - "$tmp/network.gml" <<'SCRIPT' || exit 1
import sys

import igraph
import networkx

GBPS, path = 1_000_000_000, sys.argv[1]


def write(rates, graph_format="gml"):
    """A line of nodes, with these rates between them."""
    network = networkx.Graph()
    for i, rate in enumerate(rates):
        network.add_edge(f"s{i}", f"s{i + 1}", capacity=rate)
    getattr(networkx, f"write_{graph_format}")(network, path)


def read(graph_format="gml"):
    network = getattr(networkx, f"read_{graph_format}")(path)
    return [capacity for _, _, capacity in sorted(network.edges(data="capacity"))]


rates = [1 * GBPS, 40 * GBPS, 100 * GBPS]
write(rates)
by_networkx, by_igraph = read(), igraph.Graph.Read_GML(path).es["capacity"]
print("written", rates)
print("read by networkx", by_networkx)
print("read by igraph", by_igraph)
write(rates[1:])
largest = max(read())
print("the larger of 40 and 100 Gb/s, by networkx:", repr(largest))
write([float(rate) for rate in rates])
floats = read()
write(rates, "graphml")
print("as floats", floats, "as GraphML", read("graphml"))
as_seen = by_networkx == [rates[0], *map(str, rates[1:])] and by_igraph == [str(rate) for rate in rates]
sys.exit(not (as_seen and largest == str(40 * GBPS) and floats == rates == read("graphml")))
SCRIPT
