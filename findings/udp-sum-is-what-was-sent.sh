#!/bin/bash
# iperf3 3.12 (Debian 12), 3.18 (Debian 13).
# Done: UDP at -b 10M for 4 s over a link of 5 Mb/s, reported as JSON (-J), whose "end" has "sum",
# "sum_sent" and "sum_received".
# Expected: "sum", which has the losses and the jitter, is about what came: some 4.8 Mb/s beside a loss of 52 %.
# Seen: its bytes and its bit/s are those that were sent, 10.0 Mb/s; losses, jitter and seconds beside them are the
# receiver's. Its bytes over its seconds are not even its rate. "sum_received" has what came.
# Why it matters: who reads "sum", as its name and the losses in it suggest, has the offered load for goodput, however
# much of it is lost, as PyPI's wrapper iperf3 0.1.11 does (bps): an overloaded link carries what it is asked to.
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
    debian12) version=3.12-1+deb12u2 ;;
    debian13) version=3.18-2+deb13u2 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "iperf3=$version" iproute2 python3
echo "iperf3 $version"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
export tmp
unshare --net --pid --fork --kill-child bash -eu -s <<'NETWORK'
ip link set lo mtu 1500 up
tc qdisc add dev lo root tbf rate 5mbit burst 5kb latency 20ms
iperf3 -s >"$tmp/said" & sleep 1
iperf3 -u -c 127.0.0.1 -l 1000 -b 10M -t 4 -J >"$tmp/report"
NETWORK
"$py" - "$tmp/report" <<'SCRIPT' || exit 1
import json, sys

end = json.load(open(sys.argv[1]))["end"]
for name in ("sum", "sum_sent", "sum_received"):
    what = end[name]
    print(f"{name}: {what['bits_per_second'] / 1e6:.2f} Mb/s, {what['bytes']} bytes in {what['seconds']:.3f} s")
    print(f"    {what['lost_packets']} of {what['packets']} packets lost")
both, sent, came = end["sum"], end["sum_sent"], end["sum_received"]
as_seen = both["bytes"] == sent["bytes"] and 9.5e6 < both["bits_per_second"] == sent["bits_per_second"] < 10.5e6
as_seen &= both["lost_packets"] == came["lost_packets"] > 0.4 * both["packets"] and both["seconds"] == came["seconds"]
sys.exit(not (as_seen and sent["lost_packets"] == 0 and 4e6 < came["bits_per_second"] < 5.1e6))
SCRIPT
