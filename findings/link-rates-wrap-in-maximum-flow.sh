#!/bin/bash
# SciPy 1.17.1 (scipy.sparse.csgraph.maximum_flow).
# Done: the maximum flow between two racks that four equal paths join, with links of 1, 10, 25, 40, 100 and 400 Gb/s, in
# bit/s as integers of 64 bits; and in Mb/s.
# Expected: four times the link's rate, whatever the unit; or an error for what is too large.
# Seen: right in Mb/s and at 1 Gb/s. Beyond 2^31 bit/s each capacity is cut to its low 32 bits, by both methods, without
# a warning: four paths of 10 Gb/s carry 5.6 Gb/s, of 25 Gb/s nothing at all (cut, it is negative), of 100 Gb/s less
# than of 40.
# Why it matters: bisections and upper bounds of throughput come out at a seventh or at 0, which looks like a cut
# network. Floats are refused, so rates are made integers just here. Give Mb/s.
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
pip() { # exact packages, without others, into $tmp/py
    PYTHONPATH=$tmp/usr/lib/python3/dist-packages "$py" -m pip install -q --no-cache-dir --no-compile \
        --only-binary :all: --target "$tmp/py" --no-deps "$@" >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
    export PYTHONPATH=$tmp/py
}
pip scipy==1.17.1 numpy==2.4.6
echo "SciPy 1.17.1"
"$py" -W error - <<'SCRIPT' || exit 1
import sys

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

RACK, PATHS, OTHER_RACK = 0, [1, 2, 3, 4], 5


def between_racks(rate, method="dinic"):
    links = np.zeros((6, 6), dtype=np.int64)
    links[RACK, PATHS] = links[PATHS, OTHER_RACK] = rate
    return int(maximum_flow(csr_array(links), RACK, OTHER_RACK, method=method).flow_value)


seen = {}
for gbps in 1, 10, 25, 40, 100, 400:
    seen[gbps] = between_racks(gbps * 10**9)
    assert seen[gbps] == between_racks(gbps * 10**9, "edmonds_karp")
    print(f"4 x {gbps:3} Gb/s: {seen[gbps] / 1e9:5.2f} Gb/s from bit/s, {between_racks(gbps * 1000) / 1e3:.2f} from Mb/s")
sys.exit(
    any(between_racks(gbps * 1000) != 4000 * gbps for gbps in seen)
    or seen != {1: 4 * 10**9, 10: 5640261632, 25: 0, 40: 5381177344, 100: 4863008768, 400: 2272165888}
)
SCRIPT
