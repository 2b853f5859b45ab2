#!/bin/bash
# pyprobables 0.7.0 (this year's; sketches in Python).
# Done: flows of 1, 3, 10 and 100 GB are counted by bytes, 1 MB at a time, in a count-min sketch of 5 x 1,000, a
# count-mean-min sketch, and as heavy hitters, of which two are asked for.
# Expected: a count-min sketch never says less than the truth; the two largest are those of 100 and 10 GB.
# Seen: each count stops at 2^31 - 1, without a word: all flows above 2.1 GB are 2,147,483,647 bytes. The sketch's total
# is right all the same. The heavy hitters are the two that got there first, so that the one of 100 GB, which came last,
# is none; count-mean-min, which takes off each row's noise, says less of a flow the larger it is.
# Why it matters: at 10 Gb/s an elephant is there after 1.7 s; from then on all elephants are equal, and the largest
# ones are not found, which is what such sketches in switches and collectors are for. Count packets, or kilobytes.
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
    --no-deps pyprobables==0.7.0 >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "pyprobables 0.7.0"
export PYTHONPATH=$tmp/py
"$py" - <<'SCRIPT' || exit 1
import sys

from probables import CountMeanMinSketch, CountMinSketch, HeavyHitters

MB, GB, STOP = 10**6, 10**9, 2**31 - 1
FLOWS = {"1 GB": 1, "3 GB": 3, "10 GB": 10, "100 GB": 100}

seen = {}
for name, size in FLOWS.items():
    seen[name] = []
    for kind in (CountMinSketch, CountMeanMinSketch):
        sketch = kind(width=1000, depth=5)
        for _ in range(size * GB // MB):
            sketch.add(name, MB)
        seen[name].append(sketch.check(name))
        assert sketch.elements_added == size * GB
    print(f"{name}: count-min says {seen[name][0]}, count-mean-min {seen[name][1]}")
hitters = HeavyHitters(num_hitters=2, width=1000, depth=5)
for name, size in FLOWS.items():
    for _ in range(size * GB // MB):
        hitters.add(name, MB)
print("heavy hitters:", hitters.heavy_hitters)
as_seen = seen["1 GB"] == [GB, GB] and all(seen[name][0] == STOP for name in ("3 GB", "10 GB", "100 GB"))
as_seen &= seen["3 GB"][1] > seen["10 GB"][1] > seen["100 GB"][1]
sys.exit(not (as_seen and hitters.heavy_hitters == {"3 GB": STOP, "10 GB": STOP}))
SCRIPT
