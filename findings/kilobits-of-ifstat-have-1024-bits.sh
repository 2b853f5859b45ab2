#!/bin/bash
# ifstat 1.1 (Debian 12), 1.1.1 (Debian 13), bwm-ng 0.6.3 (both).
# Done: 8,000 kb/s pass an interface, steadily; ifstat -b and bwm-ng -u bits sample it once a second for 8 s at the same
# time, both as kilobits.
# Expected: 8,000 from both: a kilobit is 1,000 bits, as link rates are, and as tc and iperf have it.
# Seen: bwm-ng says 8,000 kb/s, ifstat 7,812 "Kbps": its kilobits have 1,024 bits, as its KB have bytes.
# Why it matters: a link of 1 Gb/s that is full shows 976,562 Kbps, 2.3 % of loss that was never there, or what one
# would take for headers; beside iperf's rates goodput is above what the interface carried.
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
    debian12) version=1.1-8.2 ;;
    debian13) version=1.1.1-2+b1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "ifstat=$version" bwm-ng=0.6.3-2+b1 iproute2 python3
echo "ifstat $version, bwm-ng 0.6.3-2+b1"
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
"$tmp/usr/bin/ifstat" -n -b -i left 1 8 >"$tmp/ifstat" & first=$!
bwm-ng -i proc -o csv -u bits -t 1000 -c 8 -I left >"$tmp/bwm-ng" & second=$!
wait $first $second
kill $sender
NETWORK
ifstat=$(awk 'NR > 2 { n++; sum += $2 } END { print n == 8 ? sum / n : 0 }' "$tmp/ifstat")
bwm=$(awk -F ';' '$2 == "left" { n++; sum += $17 } END { print n == 8 ? sum / n / 1000 : 0 }' "$tmp/bwm-ng")
echo "bwm-ng: $bwm kb/s; ifstat: $ifstat Kbps"
awk -v by="$bwm" 'BEGIN { exit !(by > 7950 && by < 8050) }' || cannot "the traffic was not steady"
awk -v by="$ifstat" 'BEGIN { exit !(by > 7750 && by < 7870) }' || exit 1
