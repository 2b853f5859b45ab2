#!/bin/bash
# FNSS 0.9.1 (fnss, topologies and traffic matrices for experiments).
# Done: static_traffic_matrix makes demands between the eight hosts of a leaf-spine network, links 10 Gb/s, with a mean
# of 0.001, 1 and 1,000 Gb/s (standard deviation half of it), each from the same seed of NumPy's; and by max_u=None.
# Expected: demands with about that mean; the first loads links little, the last is far too much, which the default
# limit of utilization (max_u=0.9) would cut.
# Seen: the three matrices are the same: a mean of 0.46 Gb/s and one link at 0.9 exactly. By default all demands are
# scaled, up as well as down, to fill the busiest link. With max_u=None the means are 0.97 times those asked.
# Why it matters: a sweep over loads by the mean, one of the two arguments that have to be given, measures one load over
# and over; and that is a high one on single shortest paths, which the matrix is scaled by, whatever is routed later.
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
"$py" -m pip install -q --no-cache-dir --no-compile --target "$tmp/py" --no-deps --no-build-isolation \
    fnss==0.9.1 networkx==3.4.2 numpy==2.2.6 >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "FNSS 0.9.1"
"$py" -W ignore - <<'SCRIPT' || exit 1
import sys

import setuptools  # distutils, which FNSS uses and Python 3.13 lacks
import fnss
import numpy as np

network = fnss.two_tier_topology(n_core=2, n_edge=4, n_hosts=2)
fnss.set_capacities_constant(network, 10, "Gbps")
fnss.set_weights_constant(network, 1)
hosts = [node for node in network if network.nodes[node]["type"] == "host"]


def made(mean, **limit):
    """The mean of the demands, in Gb/s, and the utilization of the busiest link."""
    np.random.seed(1)
    matrix = fnss.static_traffic_matrix(network, mean, mean / 2, origin_nodes=hosts, destination_nodes=hosts, **limit)
    return float(np.mean(list(matrix.flows().values()))), max(fnss.link_loads(network, matrix).values())


as_seen = True
for mean in 0.001, 1, 1000:
    (by_default, busiest), (unscaled, _) = made(mean), made(mean, max_u=None)
    print(f"asked for {mean} Gb/s: {by_default:.4f}, busiest link {busiest:.3f}; with max_u=None {unscaled:.5g} Gb/s")
    as_seen &= abs(by_default - 0.4597) < 0.001 and abs(busiest - 0.9) < 1e-6 and abs(unscaled / mean - 1) < 0.1
sys.exit(not as_seen)
SCRIPT
