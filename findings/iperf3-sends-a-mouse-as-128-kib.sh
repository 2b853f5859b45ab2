#!/bin/bash
# iperf3 3.12 and iperf 2.1.8 (Debian 12), 3.18 and 2.2.1 (Debian 13).
# Done: a flow of 10,000 bytes (-n 10000) by each, over the loopback.
# Expected: both send 10,000 bytes.
# Seen: iperf 2 does; iperf3 sends 131,072, one whole block of -l, and says so in its report alone.
# Why it matters: mice of 10 kB made by iperf3 -n are thirteen times as long, as are all flows up to 128 KiB, so that
# their completion times do not depend on the sizes that were drawn. -l has to be given with -n.
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
    debian12) iperf3=3.12-1+deb12u2 iperf=2.1.8+dfsg-1 ;;
    debian13) iperf3=3.18-2+deb13u2 iperf=2.2.1+dfsg-1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "iperf3=$iperf3" "iperf=$iperf" iproute2
echo "iperf3 $iperf3, iperf $iperf"
inside() { # in a network of its own, so that no port of this machine is taken
    unshare --net --pid --fork --kill-child bash -c "ip link set lo up; iperf3 -s >/dev/null & iperf -s >/dev/null & sleep 1; $*"
}
bytes() { # that a client of iperf3 says it has sent, and a client of iperf 2
    local of3 of2
    of3=$(inside "iperf3 -c 127.0.0.1 $* -J" | awk -F: "/\"sum_sent\"/ { on = 1 } on && /\"bytes\"/ { print \$2 + 0; exit }")
    of2=$(inside "iperf -c 127.0.0.1 $* -f b -y C" | awk -F, '$6 > 0 { n += $8 } END { print n }')
    echo "$of3 $of2"
}
sent=$(bytes -n 10000)
echo "-n 10000: iperf3 and iperf 2 sent $sent bytes"
small=$(bytes -n 10000 -l 1000)
echo "-n 10000 -l 1000: $small"
[ "$sent, $small" = "131072 10000, 10000 10000" ] || exit 1
