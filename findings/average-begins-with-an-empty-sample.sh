#!/bin/bash
# bwm-ng 0.6.3 (Debian 12 and 13).
# Done: 1 MB/s pass an interface, steadily; two bwm-ng sample it once a second for 10 s at the same time, one by
# -T rate, one by -T avg (the average over -A seconds, 30 by default).
# Expected: the average of a steady rate is that rate, from the first sample on.
# Seen: after n samples the average is n / (n + 1) of it: half after one second, 0.75 MB/s after three, 0.91 after ten.
# A sample of nothing from before the start is counted as one until the span is over.
# Why it matters: a run of ten seconds is reported 9 % too slow, one of thirty 3 %, and short ones look as if they
# took longer to start. The error depends on the length alone, so no repetition shows it. Average -T rate oneself.
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
debs bwm-ng=0.6.3-2+b1 iproute2 python3
echo "bwm-ng 0.6.3-2+b1"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
cat >"$tmp/send.py" <<'SEND'
import socket, time

link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind(("left", 0))
frame = b"\xff" * 6 + b"\2\0\0\0\0\1\x88\xb5" + bytes(986)
begun, sent = time.monotonic(), 0
while (passed := time.monotonic() - begun) < 20:
    while sent < passed * 1000:
        link.send(frame)
        sent += 1
    time.sleep(0.002)
SEND
export tmp py
unshare --net --pid --fork --kill-child --mount-proc bash -eu -s <<'NETWORK'
ip link add name left type veth peer name right
ip link set dev left up
ip link set dev right up
sleep 1
"$py" "$tmp/send.py" & sender=$!
sleep 1
for kind in rate avg; do
    bwm-ng -i proc -o csv -u bytes -T $kind -t 1000 -c 10 -I left >"$tmp/$kind" & samples[${#kind}]=$!
done
wait ${samples[3]} ${samples[4]}
kill $sender
NETWORK
"$py" - "$tmp" <<'SCRIPT' || exit $?
import sys

rates, averages = ([float(line.split(";")[2]) / 1e6 for line in open(f"{sys.argv[1]}/{kind}") if ";left;" in line]
                   for kind in ("rate", "avg"))
print("MB/s by -T rate:", *(f"{rate:.2f}" for rate in rates))
print("MB/s by -T avg: ", *(f"{average:.2f}" for average in averages))
mean = sum(rates) / len(rates)
if len(rates) != 10 or abs(mean - 1) > 0.05:
    print("cannot run: the traffic was not steady")
    sys.exit(2)
sys.exit(any(abs(averages[n - 1] - mean * n / (n + 1)) > 0.05 for n in (1, 2, 3, 5, 10)))
SCRIPT
