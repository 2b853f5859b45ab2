#!/bin/bash
# iperf 2.1.8 and iperf3 3.12 (Debian 12), 2.2.1 and 3.18 (Debian 13).
# Done: UDP by each at -b 10M and at -b 10m, for 4 s over the loopback.
# Expected: 10,000,000 bit/s of payload by all four: rates have powers of ten, as in iperf's own report and in tc.
# Seen: so it is by iperf3, and by iperf 2 with the small letter. By iperf 2 -b 10M is 10,485,760 bit/s, which it reports
# as 10.5 Mbits/sec: in what is given 1M is 2^20 of bits, in what is printed a million.
# Why it matters: each load is 5 % above the one that was written: a network that was to be just below full is beyond it,
# and sweeps of loads by the one program lie above those by the other, at the same options. Write small letters.
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
    unshare --net --pid --fork --kill-child bash -c "ip link set lo up; iperf3 -s >/dev/null & iperf -s -u >/dev/null & sleep 1; $*"
}
rate() { # of the payload that a client of iperf 2 sends, and one of iperf3, in units of 10 kb/s
    local of2 of3
    of2=$(inside "iperf -u -c 127.0.0.1 -l 1000 -t 4 $* -y C" | awk -F, '$6 > 0 && !n { split($7, t, "-"); n = $8 * 8 / (t[2] - t[1]) } END { print n }')
    of3=$(inside "iperf3 -u -c 127.0.0.1 -l 1000 -t 4 $* -J" | awk -F: '/"sum"/ { on = 1 } on && /"bits_per_second"/ { n = $2 } END { print n + 0 }')
    awk -v of2="$of2" -v of3="$of3" 'BEGIN { printf "%.0f %.0f", of2 / 10000, of3 / 10000 }'
}
large=$(rate -b 10M) small=$(rate -b 10m)
echo "-b 10M: iperf 2 and iperf3 sent $large times 10 kb/s"
echo "-b 10m: $small"
read -r -a seen <<<"$large $small"
[ "${seen[0]}" -gt 1030 ] && [ "${seen[0]}" -lt 1070 ] || exit 1
for n in 1 2 3; do [ "${seen[n]}" -gt 980 ] && [ "${seen[n]}" -lt 1020 ] || exit 1; done
