#!/bin/bash
# iperf 2.1.8 (Debian 12), 2.2.1 (Debian 13).
# Done: four parallel flows of 4 MiB each (-P 4 -n 4M) over the loopback, reported as text, and as CSV (-y C).
# Expected: the CSV's last line is the sum of the four, 16 MiB, as the text's is ([SUM]).
# Seen: so it is in 2.2.1 (identifier -1). In 2.1.8 there is no sum, on either side: the last line is one of the four;
# and without -i each line is dated 1 January 1970.
# Why it matters: who takes the last line, which is right by 2.2.1, reports a quarter of the rate by 2.1.8, and of one
# flow alone; who adds up the lines reports twice the rate by 2.2.1. Look at identifiers, and count flows.
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
    debian12) version=2.1.8+dfsg-1 last=one dated=1970 ;;
    debian13) version=2.2.1+dfsg-1 last=sum dated=now ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "iperf=$version" iproute2
echo "iperf $version"
inside() { # a server's and a client's report, in a network of their own
    unshare --net --pid --fork --kill-child bash -c "ip link set lo up; iperf -s $1 >'$tmp/server' & sleep 2
        iperf -c 127.0.0.1 -P 4 -n 4M $1 >'$tmp/client'; sleep 2"
}
inside ""
for side in client server; do
    grep -q '^\[SUM\].* 16\.0 MBytes ' "$tmp/$side" || cannot "the text of the $side has no sum of 16 MiB"
    echo "text of the $side, last line: $(tail -n 1 "$tmp/$side")"
done
inside "-y C"
seen=()
for side in client server; do
    echo "CSV of the $side, all lines:"
    cat "$tmp/$side"
    said=$(cut -d, -f8 "$tmp/$side" | paste -sd+)
    case $said in
        4194304+4194304+4194304+4194304) seen+=(one) ;;
        4194304+4194304+4194304+4194304+16777216) seen+=(sum) ;;
        *) cannot "not four flows" ;;
    esac
    case $(head -c 4 "$tmp/$side") in 1970) seen+=(1970) ;; *) seen+=(now) ;; esac
done
[ "${seen[*]}" = "$last $dated $last $dated" ] || exit 1
