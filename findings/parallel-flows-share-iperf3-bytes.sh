#!/bin/bash
# iperf3 3.12 and iperf 2.1.8 (Debian 12), 3.18 and 2.2.1 (Debian 13).
# Done: -n 4M -P 4 by each, over the loopback.
# Expected: the same from both: -n and -P are the same options, explained by the same words.
# Seen: iperf3 sends 4 MiB in all four flows together, iperf 2 sends 4 MiB in each of them, 16 in all.
# Why it matters: an incast or a shuffle whose clients are changed from one to the other has a fourth of its bytes or
# four times as many; and in iperf3 the flows' own sizes are not fixed: who is faster sends more.
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
read -r of3 of2 <<<"$(bytes -n 4M -P 4)"
echo "-n 4M -P 4: iperf3 sent $of3 bytes, iperf 2 $of2"
# iperf3's flows may each send a block more before they see that it is enough
[ "$of3" -lt $((4194304 + 4 * 131072)) ] && [ "$of2" = 16777216 ] || exit 1
