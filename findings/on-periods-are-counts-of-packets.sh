#!/bin/bash
# ns.py 0.4.3 (ns-py, a packet simulator in Python), its generator of Pareto on/off traffic.
# Done: on and off periods of equal means, of 1, 10 and 100 s (shape 3, so that means are met), packets of 1,000 bytes
# at 200 kb/s while on, for some thousands of periods.
# Expected: half of the rate, 100 kb/s, whatever the means are: "both on and off periods" are from a Pareto distribution
# whose scale is given for each, and on has the same default as off.
# Seen: 23, 9 and 8 kb/s. What is drawn for an on period is taken as a number of packets, not as seconds: a mean of 10
# is some 11 packets, 0.4 s at this rate, between silences of 10 s.
# Why it matters: the load is a fourth to a twelfth of what it is set to, and falls the longer the periods are, while
# heavy tails, for which this traffic is taken, are of bursts of few packets. Give on_min times rate over packet size.
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
pip ns-py==0.4.3 numpy==2.2.6
echo "ns.py 0.4.3"
"$py" - <<'SCRIPT' || exit 1
import random, sys

from ns.utils.generators.pareto_onoff_generator import pareto_onoff_generator

SHAPE, RATE, SIZE = 3, 200e3, 1000


def sent(on, off):
    """Rate in bit/s over thousands of periods, by scales whose means are these."""
    random.seed(1)
    gaps = pareto_onoff_generator(on * 2 / 3, SHAPE, off * 2 / 3, SHAPE, RATE, SIZE)
    time = packets = 0
    while time < 4000 * off:
        time += next(gaps)
        packets += 1
    return packets * SIZE * 8 / time


rates = [sent(mean, mean) / 1e3 for mean in (1, 10, 100)]
in_packets = [sent(mean * RATE / SIZE / 8, mean) / 1e3 for mean in (1, 10, 100)]
for mean, rate, other in zip((1, 10, 100), rates, in_packets):
    print(f"on and off for {mean} s each: {rate:.1f} kb/s; on given in packets: {other:.1f} kb/s")
as_seen = all(abs(rate - seen) < 1 for rate, seen in zip(rates, (23, 9, 8)))
sys.exit(not as_seen or any(abs(rate - 100) > 12 for rate in in_packets))
SCRIPT
