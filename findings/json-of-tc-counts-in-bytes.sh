#!/bin/bash
# iproute2 6.1.0 (Debian 12), 6.15.0 (Debian 13).
# Done: an interface gets a token bucket of 10 Mb/s, its peak 20 Mb/s, and then HTB with such a class; tc shows each
# as text and, by -j, as JSON.
# Expected: JSON says what the text says, rates in bit/s, as they are given; or with their unit.
# Seen: "rate" is 1250000, bytes in a second, beside "10Mbit"; "lat" is 50000, of microseconds, beside "50ms". The peak
# is not in the JSON at all. On Debian 12 -j prints a class of HTB as text, and succeeds.
# Why it matters: who checks or records the rates of an emulation by JSON, as programs should, has links of an eighth
# of their rate, and nothing there names a unit. Multiply by 8, and look into the text for peaks.
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
    debian12) version=6.1.0-3 ;;
    debian13) version=6.15.0-1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "iproute2=$version" python3
echo "iproute2 $version"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
export tmp
unshare --net --pid --fork --kill-child bash -eu -s <<'NETWORK'
ip link add name near type veth peer name far
tc qdisc replace dev near root tbf rate 10mbit burst 10kb latency 50ms peakrate 20mbit mtu 2000
tc qdisc show dev near >"$tmp/bucket.text"
tc -j qdisc show dev near >"$tmp/bucket.json"
tc qdisc replace dev near root handle 1: htb default 1
tc class add dev near parent 1: classid 1:1 htb rate 10mbit ceil 20mbit
tc class show dev near >"$tmp/class.text"
tc -j class show dev near >"$tmp/class.json"
NETWORK
for what in bucket class; do
    echo "text: $(cat "$tmp/$what.text")"
    echo "JSON: $(cat "$tmp/$what.json")"
done
"$py" - "$tmp" "$release" <<'SCRIPT' || exit 1
import json, sys

text, answer = (open(f"{sys.argv[1]}/bucket.{form}").read() for form in ("text", "json"))
bucket = json.loads(answer)[0]["options"]
as_seen = "rate 10Mbit" in text and "lat 50ms" in text and "peakrate 20Mbit" in text
as_seen &= bucket["rate"] == 1_250_000 and bucket["lat"] == 50_000 and "peakrate" not in bucket
text, answer = (open(f"{sys.argv[1]}/class.{form}").read() for form in ("text", "json"))
as_seen &= "rate 10Mbit ceil 20Mbit" in text
if sys.argv[2] == "debian12":
    as_seen &= answer == text
else:
    as_seen &= (json.loads(answer)[0]["rate"], json.loads(answer)[0]["ceil"]) == (1_250_000, 2_500_000)
sys.exit(not as_seen)
SCRIPT
