#!/bin/bash
# sockperf 3.7 (Debian 12 and 13).
# Done: ping-pong over the loopback for 2 s: one message, its answer, the next message.
# Expected: the latency that it prints times the number of messages is the time that they took, as in a ping-pong.
# Seen: it is half of that time. "Latency" is the round trip divided by two; --full-rtt prints the round trip.
# Why it matters: beside ping or netperf's TCP_RR a network looks twice as quick. And halves are no one-way delays
# where there and back differ, as in a network with one congested direction.
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
debs sockperf=3.7-1 iproute2
echo "sockperf 3.7-1"
measured() { # messages per unit of time that they should have taken: 1 if the printed time is that of there and back
    unshare --net --pid --fork --kill-child bash -c "ip link set lo up; sockperf server -i 127.0.0.1 >/dev/null 2>&1 & sleep 1
        sockperf ping-pong -i 127.0.0.1 -t 2 $1 2>&1" >"$tmp/said"
    sed -n 's/.*\(\[Valid Duration.*\)/\1/p; s/sockperf: \(Summary.*\)/\1/p' "$tmp/said"
    awk '/Valid Duration/ { sub(/.*RunTime=/, ""); s = $1 + 0; sub(/.*ReceivedMessages=/, ""); n = $1 }
        /Summary/ { for (i = 1; i < NF; i++) if ($i == "is") us = $(i + 1) }
        END { printf "%.3f\n", us * n / s / 1e6 }' "$tmp/said" >"$tmp/ratio"
}
measured ""
half=$(cat "$tmp/ratio")
measured --full-rtt
full=$(cat "$tmp/ratio")
echo "printed time x messages / time: $half, with --full-rtt $full"
awk -v half="$half" -v full="$full" 'BEGIN { exit !(half > 0.35 && half < 0.52 && full > 0.8 && full < 1.02) }' || exit 1
