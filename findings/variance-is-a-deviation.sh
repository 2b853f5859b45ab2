#!/bin/bash
# flowgrind 0.8.2 (Debian 12 and 13).
# Done: requests of sizes from a normal distribution go over the loopback for 3 s (-G s=q:N:mean:variance, as its manual
# and its help have it), with a cap (-U), beyond which a size is drawn anew; bytes over requests of its report.
# Expected: 10,000 bytes on average of N:10000:1000000, whose sizes deviate by 1,000; and of N:10000:1000, which deviate
# by 32, too, with a cap of 11,000 that is never met.
# Seen: some 15,000 of the first with a cap of 30,000, as if all sizes up to the cap were equally likely, and 9,700 of
# the second: what is called the variance is taken as the deviation, a million and a thousand bytes.
# Why it matters: sizes that were to be much alike are spread over all that the cap allows, so that the load is half as
# high again and completion times are of other flows than were planned. The lognormal's second number, which is called a
# deviation, is one.
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
    debian12) version=0.8.2-2+b2 ;;
    debian13) version=0.8.2-2+b4 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "flowgrind=$version" iproute2
echo "flowgrind $version"
average() { # bytes of a request: those sent over requests; options of flowgrind
    unshare --net --pid --fork --kill-child bash -c "ip link set lo up; flowgrindd -d >/dev/null 2>&1 & sleep 1; flowgrind -T s=3 $*" |
        awk 'match($0, /through = [0-9.]+/) && / S: / { rate = substr($0, RSTART + 10, RLENGTH - 10)
            match($0, /duration = [0-9.]+/); seconds = substr($0, RSTART + 11, RLENGTH - 11)
            match($0, /request blocks = [0-9]+/); printf "%d", rate * 1000000 / 8 * seconds / substr($0, RSTART + 17, RLENGTH - 17) }'
}
constant=$(average -G s=q:C:10000)
wide=$(average -U s=30000 -G s=q:N:10000:1000000)
narrow=$(average -U s=11000 -G s=q:N:10000:1000)
lognormal=$(average -U s=30000 -G s=q:L:10000:1000)
echo "C:10000: $constant bytes; N:10000:1000000: $wide; N:10000:1000: $narrow; L:10000:1000: $lognormal"
[ "$constant" -gt 9900 ] && [ "$constant" -lt 10100 ] && [ "$lognormal" -gt 9800 ] && [ "$lognormal" -lt 10200 ] || exit 1
[ "$wide" -gt 12500 ] && [ "$wide" -lt 17500 ] && [ "$narrow" -gt 9500 ] && [ "$narrow" -lt 9900 ] || exit 1
