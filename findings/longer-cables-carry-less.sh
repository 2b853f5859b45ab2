#!/bin/bash
# SMOLPy 0.7.0 (this year's; a discrete-event simulator of switched networks in Python).
# Done: a host sends 9 Gb/s to another through a switch, over two links of 10 Gb/s which are 0, 10 or 100 m long, in
# frames of 1,518 or of 64 bytes. Observed: what arrives, use of the last link, latency, and the queue of the switch.
# Expected: 9 Gb/s by each, and 5 ns more for a metre of each link; the package's page says that a hop takes the delays
# of transmission and propagation.
# Seen: 7.1 Gb/s of large frames by 100 m; 5.1 and 0.9 Gb/s of small ones by 10 and 100 m. A link takes the next frame
# once the last one has arrived at its other end, so that it holds one at a time. Latency grows as long as it runs.
# Why it matters: 100 m is a link in a data centre, and a faster link loses more. What is missing is nowhere: no frame
# is lost, the link is used by 71, 51 or 9 %, and the switch's queue is empty, for frames wait in the sender. Placements
# of flows are compared then on links of other rates than were asked for. Take a length of 0, which carries all.
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
    --only-binary :all: --no-deps smolpy==0.7.0 simpy==4.1.1 networkx==3.4.2 >"$tmp/pip" 2>&1 ||
    cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "SMOLPy 0.7.0"
PYTHONPATH=$tmp/py "$py" -B - <<'SCRIPT' || exit 1
import sys

from smolpy import Network

OFFERED, SPEED, FRAMES = 9e9, 10_000, 600  # bit/s, Mb/s, frames sent in a period


def simulate(size, metres):
    """Of two periods: Mb/s that arrive, use of the last link in %, latency in us, and frames that the switch holds."""
    net = Network("cables")
    sender, receiver = net.adapter("sender", ip="10.0.0.2"), net.adapter("receiver", ip="10.2.0.2")
    switch = net.switch("switch", ports=2)
    net.link(sender, switch, speed=SPEED, length=metres)
    net.link(switch, receiver, speed=SPEED, length=metres)
    rate = OFFERED / 8 / size
    sender.sends(to=receiver, rate=rate, size=size)
    observed = ("throughput", receiver), ("utilization", receiver), ("latency", receiver), ("queue_depth", switch)
    for metric, node in observed:
        net.observe(metric, on=node, every=FRAMES / rate * 1000)
    metrics = net.simulate(duration=2.5 * FRAMES / rate * 1000).metrics
    return [[value for _, value in metrics[f"{metric}:{node.name}"]] for metric, node in observed]


seen = []
for size in 1518, 64:
    for metres in 0, 10, 100:
        rates, used, latencies, queued = simulate(size, metres)
        print(
            f"{size:4} bytes, {metres:3} m: {rates[1]:4.0f} of 9000 Mb/s, {used[1]:2.0f} % of the link,"
            f" {latencies[0]:6.2f} us, then {latencies[1]:6.2f} us, queue {max(queued):.0f}"
        )
        seen.append((round(rates[1] / 1000, 1), max(queued)))
sys.exit(seen != [(rate, 0) for rate in (9.0, 9.0, 7.1, 9.0, 5.1, 0.9)])
SCRIPT
