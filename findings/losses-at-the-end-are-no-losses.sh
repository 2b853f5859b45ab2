#!/bin/bash
# D-ITG 2.8.1 (Debian 12 and 13).
# Done: a flow of UDP packets of 4 s, twice; the link is down for a second in its middle, or from its middle to its end.
# Both sides keep logs, which ITGDec reads.
# Expected: "Packets dropped" is what was sent less what came, as sender and receiver talk before and after each flow.
# Seen: so it is for the gap in the middle. What is lost at the end is not there: half of the packets gone are
# "0 (0.00 %)". Losses are gaps between sequence numbers that came; what follows the last one that came is not missed.
# Why it matters: failures, which last beyond flows, and full queues at the end of a burst are networks without loss;
# the last packets of every short flow count for nothing. Compare "Total packets" of both logs.
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
case $release in debian12 | debian13) version=2.8.1-r1023-6 ;; *) cannot "needs Debian 12 or 13" ;; esac
debs "d-itg=$version" iproute2 util-linux
echo "D-ITG $version"
export tmp
unshare --net --pid --fork --kill-child --mount-proc bash -eu -s <<'NETWORK'
unshare --net sleep 80 & far=$!
sleep 0.5
ip link add name near type veth peer name far
ip link set dev far netns $far
ip address add 10.0.0.1/24 dev near
ip link set dev near up
there() { nsenter --target $far --net "$@"; }
there ip address add 10.0.0.2/24 dev far
there ip link set dev far up
sleep 1
for gap in middle end; do
    mkdir "$tmp/$gap"
    cd "$tmp/$gap"
    nsenter --target $far --net ITGRecv -l came >said 2>&1 & receiver=$!
    sleep 1
    ITGSend -a 10.0.0.2 -T UDP -C 500 -c 500 -t 4000 -l sent >said.too 2>&1 & sender=$!
    sleep 2
    there ip link set dev far down
    [ $gap = end ] && sleep 4 || sleep 1
    there ip link set dev far up
    wait $sender
    sleep 1
    kill $receiver
    wait $receiver || true
done
NETWORK
of() { # gap, log, label: the first number after the label that ITGDec prints
    (cd "$tmp/$1" && ITGDec "$2" 2>"$tmp/said" | tr '\r' '\n' | sed -n "s/^$3 *= *\([0-9.]*\).*/\1/p" | head -n 1)
}
for gap in middle end; do
    sent=$(of $gap sent "Total packets") came=$(of $gap came "Total packets") dropped=$(of $gap came "Packets dropped")
    echo "link down at the $gap: $sent sent, $came came; ITGDec says $dropped dropped"
    lost[${#gap}]=$((sent - came)) said[${#gap}]=$dropped
done
[ "${lost[6]}" -gt 200 ] && [ "${lost[3]}" -gt 400 ] || cannot "the link was not down as long as it should"
[ $((said[6] * 10)) -gt $((lost[6] * 8)) ] && [ "${said[3]}" = 0 ] || exit 1
