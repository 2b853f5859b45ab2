#!/bin/bash
# OpenOptics 0.0.3 (openoptics-dcn, this year's framework for optical data-centre networks).
# Done: opera(108, 6), the size of Opera's paper, is asked for twice, with two seeds of Python's generator; hops in
# each time slice's network.
# Expected: two schedules; each slice joins six matchings that were put in random order, which makes an expander: 3
# hops on average and 6 at most, as when the very same matchings are shuffled here.
# Seen: both schedules are the same, and none of five slices is an expander: 6.4 hops on average or more, up to 15. The
# shuffled order is made and thrown away, so neighbours of the round robin, which lead to neighbours, are up together.
# Why it matters: Opera sends short flows over what is up now, and each hop costs capacity: more than twice as many
# hops are less than half of the throughput, in one schedule that no seed or trial changes.
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
PYTHONPATH=$tmp/usr/lib/python3/dist-packages "$py" -m pip install -q --no-cache-dir --no-compile --target "$tmp/py" \
    --no-deps openoptics-dcn==0.0.3 networkx==3.4.2 numpy==2.2.6 >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "OpenOptics 0.0.3"
export PYTHONPATH=$tmp/py
"$py" - <<'SCRIPT' || exit 1
import random
import sys
from collections import defaultdict

import networkx as nx
from openoptics.OpticalTopo import opera, round_robin

RACKS, LINKS = 108, 6


def hops(slices):
    """The least and the largest average of hops between two racks over the slices, and the most hops of all."""
    averages, most = [], 0
    for circuits in slices:
        up = nx.Graph(circuits)
        lengths = [n for _, to in nx.all_pairs_shortest_path_length(up) for n in to.values()]
        assert len(lengths) == RACKS**2, "some rack cannot be reached"
        averages.append(sum(lengths) / (RACKS * (RACKS - 1)))
        most = max(most, max(lengths))
    return min(averages), max(averages), most


schedules = []
for seed in (1, 2):
    random.seed(seed)
    schedules.append(opera(RACKS, LINKS))
by_slice = defaultdict(list)
for when, a, b, *_ in schedules[0]:
    by_slice[when].append((a, b))
theirs = hops(by_slice[when] for when in sorted(by_slice)[:: 4 * LINKS])

matchings = defaultdict(list)
for when, a, b, *_ in round_robin(RACKS):
    matchings[when].append((a, b))
order = list(matchings.values())
random.Random(1).shuffle(order)
ours = hops(sum(order[n : n + LINKS], []) for n in range(0, RACKS - LINKS, 4 * LINKS))

print("two seeds give", "one schedule" if schedules[0] == schedules[1] else "two schedules")
for name, (least, largest, most) in (("opera()", theirs), ("shuffled", ours)):
    print(f"{name:9} {least:.2f} to {largest:.2f} hops on average in a slice, {most} at most")
sys.exit(not (schedules[0] == schedules[1] and theirs[0] > 6 > 3.5 > ours[1]))
SCRIPT
