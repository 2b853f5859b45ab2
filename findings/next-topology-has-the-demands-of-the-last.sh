#!/bin/bash
# TopoHub 1.5.1 (topohub, topologies of networking research) with Mininet 2.3.0.
# Done: three of its Mininet topologies are made one after the other, as a sweep over networks does: SNDlib's abilene
# (132 demands) and germany50 (662), and a Gabriel graph that has none. Then the first two the other way round.
# Expected: topo.demands, a traffic matrix, is each topology's own; what get(norm=True) gives is 1 at most.
# Seen: all classes and instances have one dictionary. germany50 has 87 of abilene's demands beside its own, and 913
# times its own traffic; the graph without demands has all of them. The divisor of norm=True is the largest demand when
# it was first asked: the other way round abilene's largest is 5,592.
# Why it matters: a sweep over topologies has the right traffic for its first network alone, and its results depend on
# the order. Nodes have the names 0, 1, 2 in all of them, so nothing is ever missing. Take a process for each network.
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
case $release in
    debian12) version=2.3.0-1 ;;
    debian13) version=2.3.0-1.1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs python3-pip
# Mininet's classes alone: no network is made, so what it runs is not needed
(cd "$tmp" && apt-get -qq -o "Dir::State::Lists=$tmp/lists" -o "Dir::Cache=$tmp/cache" -o APT::Sandbox::User=root \
    download "mininet=$version" >apt 2>&1 && dpkg -x mininet_*.deb .) || cannot "not there: mininet=$version"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
export PYTHONPATH=$tmp/usr/lib/python3/dist-packages PYTHONWARNINGS=ignore
"$py" -m pip install -q --no-cache-dir --no-compile --target "$tmp/py" --no-deps topohub==1.5.1 >"$tmp/pip" 2>&1 ||
    cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "TopoHub 1.5.1, Mininet $version"
export PYTHONPATH=$tmp/py:$PYTHONPATH
made() { # demands of these topologies, made one after the other
    "$py" - "$@" <<'SCRIPT'
import sys

import topohub
from topohub.mininet import TOPO_CLS

for name in sys.argv[1:]:
    own = topohub.get(name)["graph"]["demands"]
    own = [volume for row in own.values() for volume in row.values()]
    topo = TOPO_CLS[name]()
    largest = max((topo.demands.get(pair, norm=True) for pair in topo.demands), default=0)
    print(f"{name}: {len(own)} demands of {sum(own):.0f}; it says {len(topo.demands)} of {sum(topo.demands.values()):.0f},"
          f" the largest by norm=True is {largest:.4g}")
SCRIPT
}
said=$(made sndlib/abilene sndlib/germany50 gabriel/25/0 && echo "the other way round" && made sndlib/germany50 sndlib/abilene)
echo "$said"
[ "$said" = "sndlib/abilene: 132 demands of 3000002; it says 132 of 3000002, the largest by norm=True is 1
sndlib/germany50: 662 demands of 2365; it says 749 of 2160275, the largest by norm=True is 1
gabriel/25/0: 0 demands of 0; it says 749 of 2160275, the largest by norm=True is 1
the other way round
sndlib/germany50: 662 demands of 2365; it says 662 of 2365, the largest by norm=True is 1
sndlib/abilene: 132 demands of 3000002; it says 749 of 3002260, the largest by norm=True is 5592" ] || exit 1
