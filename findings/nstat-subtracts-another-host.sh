#!/bin/bash
# iproute2 6.1.0 (Debian 12), 6.15.0 (Debian 13).
# Done: host 1 and host 2, namespaces as Mininet's hosts are, ping themselves 5 and 8 times; nstat is asked in each.
# Expected: nstat, which shows what came since its last call, shows 5 echoes in host 1 and 8 in host 2.
# Seen: 5 and 3. The last readings are in one file for each user, /tmp/.nstat.u0, for all namespaces; host 2's
# counters are shown less host 1's.
# Why it matters: retransmissions per host that are read by nstat in several hosts are differences between hosts.
# nstat -as, or a file for each host in NSTAT_HISTORY, gives them right.
set -Eeuo pipefail
PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
tmp=$(mktemp -d -p /var/tmp) pids=()
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
    debian12) version=6.1.0-3 ;;
    debian13) version=6.15.0-1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "iproute2=$version" iputils-ping
echo "iproute2 $version"
unset NSTAT_HISTORY
host() { # a new host that pings itself so many times; what nstat shows there, called with the options that follow
    unshare --net bash -c 'ip link set lo up; ping -q -c "$0" -i 0.2 127.0.0.1 >/dev/null; nstat "$@"' "$@" |
        awk '$1 == "IcmpOutEchos" { n = $2 } END { print n + 0 }'
}
export -f host
mkdir "$tmp/own" # a /tmp of its own, so that this machine's file is left alone
shown=$(unshare --mount --propagation private bash -c "mount --bind '$tmp/own' /tmp && host 5 && host 8" 2>"$tmp/said")
echo "echoes by nstat, of hosts that sent 5 and 8: ${shown//$'\n'/ }"
right=$(unshare --mount --propagation private bash -c "mount --bind '$tmp/own' /tmp && host 5 -as && host 8 -as" 2>"$tmp/said")
echo "by nstat -as:                                ${right//$'\n'/ }"
[ "${shown//$'\n'/ }, ${right//$'\n'/ }" = "5 3, 5 8" ] || exit 1
