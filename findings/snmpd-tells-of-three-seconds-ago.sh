#!/bin/bash
# Net-SNMP 5.9.3 (Debian 12), 5.9.4 (Debian 13): its agent snmpd.
# Done: a link carries 1,000 frames of 1,000 bytes a second. Once a second, ten times, the agent is asked what its
# interface has sent (ifHCOutOctets), and the interface's own counter is read.
# Expected: each answer is a second's bytes above the last one, as the interface's own counter is.
# Seen: two answers of three are the last one again, and the third has three seconds' bytes. The agent reads counters
# every three seconds at most; its manual pages do not say so, nor do its answers. The three seconds are an object that
# can be set (nsCacheTimeout of ifTable); with 0 each answer is of its moment.
# Why it matters: 8 Mb/s on a link of 10 Mb/s is 0, 0 and 24 Mb/s to a controller that asks each second: it takes the
# link for idle, then for more than full, and moves its flows. The mean is right, so that nothing else tells. Ask every
# four seconds or less often, or set that object.
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
    debian12) version=5.9.3+dfsg-2+deb12u1 ;;
    debian13) version=5.9.4+dfsg-2+deb13u1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "snmpd=$version" "snmp=$version" iproute2 python3
echo "snmpd $version"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
cat >"$tmp/send.py" <<'SCRIPT'
import socket, time

link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind(("near", 0))
frame = b"\xff" * 6 + b"\2\0\0\0\0\1\x88\xb5" + bytes(986)
begun, sent = time.monotonic(), 0
while (passed := time.monotonic() - begun) < 60:
    while sent < passed * 1000:
        link.send(frame)
        sent += 1
    time.sleep(0.002)
SCRIPT
printf '%s\n' 'agentaddress udp:127.0.0.1:1161' 'rwcommunity local 127.0.0.1' >"$tmp/agent.conf"
export tmp py SNMP_PERSISTENT_DIR=$tmp SNMPCONFPATH=$tmp MIBS=
unshare --net --pid --fork --kill-child --mount-proc bash -eu -s <<'NETWORK'
ip link set dev lo up
ip link add name near type veth peer name far
ip link set dev near up
ip link set dev far up
snmpd -f -C -c "$tmp/agent.conf" -Lf "$tmp/log" 2>"$tmp/said" &
"$py" "$tmp/send.py" &
read -r number < <(ip -o link show near | cut -d: -f1)
ask() { snmp$1 -v 2c -c local -Oqv -t 2 -r 5 127.0.0.1:1161 "${@:2}" 2>>"$tmp/said"; }
timeout=1.3.6.1.4.1.8072.1.5.3.1.2.1.3.6.1.2.1.2.2 # nsCacheTimeout of ifTable
ask get $timeout >"$tmp/timeout"
for how in first set; do
    [ $how = first ] || ask set $timeout i 0 >>"$tmp/said"
    for _ in {0..9}; do
        sleep "$("$py" -c 'import time; print(1 - time.time() % 1)')"
        echo "$(ask get 1.3.6.1.2.1.31.1.1.1.10.$number) $(ip -s link show near | awk '/TX:/ { getline; print $1 }')"
    done >"$tmp/$how"
done
NETWORK
echo "the agent keeps its counters for $(cat "$tmp/timeout") s"
kilobytes() { awk -v of="$2" 'NR > 1 { printf "%d ", ($of - last) / 1000 } { last = $of }' "$tmp/$1"; }
status=0
for how in first set; do
    agent=$(kilobytes $how 1) itself=$(kilobytes $how 2)
    [ $how = first ] && echo "as it is, kB in a second:" || echo "with 0 s:"
    echo "    by the agent  $agent"
    echo "    by itself     $itself"
    still=$(tr ' ' '\n' <<<"$agent" | grep -cx 0 || true)
    if [ $how = first ]; then [ "$still" -ge 4 ] || status=1; else [ "$still" = 0 ] || status=1; fi
    grep -qw 0 <<<"$itself" && cannot "the link was idle"
done
exit $status
