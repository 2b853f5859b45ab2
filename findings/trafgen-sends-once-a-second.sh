#!/bin/bash
# netsniff-ng 0.6.8 (Debian 12), 0.6.9 (Debian 13): its generator trafgen.
# Done: trafgen sends 300 frames of 1,000 bytes by --rate 800kbit, by --rate 100pps and by --gap 10ms; a packet socket
# at the other end of the link notes when each arrives.
# Expected: by each one frame in 10 ms, so ten in every tenth of a second: generators spread a rate over the time.
# Seen: so it is by --gap. By --rate, whatever its unit, the 100 frames of a second come at once, as fast as the machine
# can send, and nothing more comes until the next second begins.
# Why it matters: the mean is right, and whoever counts once a second sees the load that was asked for. But 8 Mb/s of
# such frames, which would not fill a link of 10 Mb/s, are bursts of a thousand: a queue of 100 packets has room for a
# tenth of one, and a longer one is filled for most of each second. For a steady load say --gap.
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
    debian12) version=0.6.8-3 ;;
    debian13) version=0.6.9-1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "netsniff-ng=$version" iproute2 python3
echo "netsniff-ng $version"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
echo '{ fill(0xff, 6), 0x02, 0, 0, 0, 0, 1, 0x88, 0xb5, fill(0, 986) }' >"$tmp/frame.cfg"
cat >"$tmp/count.py" <<'SCRIPT'
import socket, struct, sys

link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
link.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
link.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS: when the kernel had it
link.bind(("far", 0))
link.settimeout(20)
print("ready", file=open(sys.argv[1], "w"))
times = []
while len(times) < 300:
    _, [(_, _, stamp)], _, _ = link.recvmsg(2000, 100)
    seconds, nanoseconds = struct.unpack("qq", stamp[:16])
    times.append(seconds + nanoseconds / 1e9)
tenths = {}
for time in times:
    tenth = int((time - times[0]) * 10)
    tenths[tenth] = tenths.get(tenth, 0) + 1
print(len(tenths), sum(n for tenth, n in tenths.items() if tenth % 10 < 2), *(tenths.get(n, 0) for n in range(20)))
SCRIPT
export tmp py
unshare --net --pid --fork --kill-child --mount-proc bash -eu -s <<'NETWORK'
ip link add name near type veth peer name far
ip link set dev near up
ip link set dev far up
for how in rate:800kbit rate:100pps gap:10ms; do
    rm -f "$tmp/ready"
    "$py" "$tmp/count.py" "$tmp/ready" >"$tmp/seen.${how%%:*}.${how##*:}" & counting=$!
    for _ in {1..100}; do [ -s "$tmp/ready" ] && break; sleep 0.1; done
    trafgen --cpus 1 --out near --conf "$tmp/frame.cfg" --num 300 "--${how%%:*}" "${how##*:}" >"$tmp/said" 2>&1
    wait $counting
done
NETWORK
status=0
for how in rate.800kbit rate.100pps gap.10ms; do
    read -r tenths early first <"$tmp/seen.$how"
    echo "--${how/./ }: 300 frames in $tenths tenths of a second, $early of them in the first two of a second"
    echo "    in each of the first twenty: $first"
    case $how in
        rate.*) [ "$early" -ge 270 ] && [ "$tenths" -le 6 ] || status=1 ;;
        *) [ "$early" -le 100 ] && [ "$tenths" -ge 25 ] || status=1 ;;
    esac
done
exit $status
