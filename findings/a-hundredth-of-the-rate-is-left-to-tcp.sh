#!/bin/bash
# munet 0.17.3 (this year's; networks of namespaces from YAML or JSON), with Linux's token bucket, here 6.18.
# Done: two hosts are joined by two links with a rate of 10M at both ends; one of them has a limit of 100,000 too. Over
# each a TCP flow sends for 4 s, and over the one without a limit then 200 datagrams, one after the other, 5 ms apart.
# Expected: some 9.5 Mb/s over both, and all datagrams; what has a rate and no limit has a queue that a rate can be had
# with, as Mininet's links have.
# Seen: so it is over the link with a limit. Over the other, TCP has less than 0.2 Mb/s, while the datagrams all arrive,
# at eight times that. A limit that is not given is 1,518 bytes, room for one full packet beside a bucket of two; of
# what TCP sends at once the rest is dropped.
# Why it matters: tc shows the rate as it was given, single packets are not lost, and transfers take fifty times as
# long, as if the routes or the hosts were at fault. Give each rate a limit in bytes, of as many packets as a switch
# has room for.
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
debs iproute2 procps python3-pip
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
PYTHONPATH=$tmp/usr/lib/python3/dist-packages "$py" -m pip install -q --no-cache-dir --no-compile --target "$tmp/py" \
    --only-binary :all: --no-deps munet==0.17.3 deepdiff==7.0.1 ordered-set==4.1.0 jsonschema==4.26.0 attrs==26.1.0 \
    jsonschema-specifications==2025.9.1 referencing==0.37.0 rpds-py==2026.9.1 typing-extensions==4.16.0 pexpect==4.9.0 \
    ptyprocess==0.7.0 pyyaml==6.0.4 >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "munet 0.17.3"
cat >"$tmp/measure.py" <<'SCRIPT'
import socket
import sys
import time

SECONDS, DATAGRAMS = 4, 200


def send(*addresses):
    for address in addresses:
        sender = socket.create_connection((address, 5001), timeout=20)
        try:
            while True:
                sender.sendall(bytes(100_000))
        except OSError:  # the receiver has seen enough
            sender.close()
    sender = socket.socket(type=socket.SOCK_DGRAM)
    for _ in range(DATAGRAMS):
        sender.sendto(bytes(1000), (addresses[0], 5001))
        time.sleep(0.005)


def receive(*addresses):
    told = []
    listeners = [socket.create_server((address, 5001)) for address in addresses]
    datagrams = socket.socket(type=socket.SOCK_DGRAM)
    datagrams.bind((addresses[0], 5001))
    for listener in listeners:
        receiver, _ = listener.accept()
        end, came = time.monotonic() + SECONDS, 0
        while (left := end - time.monotonic()) > 0:
            receiver.settimeout(left)
            try:
                came += len(receiver.recv(100_000))
            except TimeoutError:
                pass
        receiver.close()
        told.append(f"{came * 8e-6 / SECONDS:.2f}")
    datagrams.settimeout(3)
    came = 0
    try:
        while came < DATAGRAMS:
            datagrams.recv(2000)
            came += 1
    except TimeoutError:
        pass
    print(*told, came, flush=True)


{"send": send, "receive": receive}[sys.argv[1]](*sys.argv[2:])
SCRIPT
"$py" - "$tmp" "$py" >"$tmp/network.json" <<'SCRIPT'
import json
import sys

tmp, python = sys.argv[1:]


def ends(other, host):
    for net, limit in enumerate([{}, {"limit": 100_000}]):
        names = {"to": other, "name": f"eth{net}", "remote-name": f"eth{net}"}
        yield {**names, "ip": f"10.0.{net}.{host}/24", "rate": {"rate": "10M"} | limit}


measure = f"exec {python} {tmp}/measure.py"
sender = {"name": "h1", "connections": [*ends("h2", 1)], "cmd": f"sleep 1\n{measure} send 10.0.0.2 10.0.1.2"}
receiver = {"name": "h2", "connections": [*ends("h1", 2)], "cmd": f"{measure} receive 10.0.0.2 10.0.1.2 >{tmp}/told"}
print(json.dumps({"topology": {"nodes": [sender, receiver]}}))
SCRIPT
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/py PYTHONDONTWRITEBYTECODE=1
unshare --net --pid --fork --kill-child --mount-proc timeout 75 "$py" -m munet -c "$tmp/network.json" -d "$tmp/run" \
    --no-cli --no-wait </dev/null >"$tmp/munet" 2>&1 || cannot "munet: $(tail -n 1 "$tmp/munet")"
[ -s "$tmp/told" ] || cannot "munet: $(tail -n 1 "$tmp/munet")"
read -r alone room datagrams <"$tmp/told"
echo "10M: $alone Mb/s of TCP, $datagrams of 200 datagrams; 10M and a limit of 100,000 bytes: $room Mb/s of TCP"
awk -v room="$room" 'BEGIN { exit room < 7 }' || cannot "the link with room carries $room Mb/s"
awk -v alone="$alone" -v datagrams="$datagrams" 'BEGIN { exit !(alone < 1 && datagrams == 200) }' || exit 1
