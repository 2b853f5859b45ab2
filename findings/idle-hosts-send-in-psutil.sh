#!/bin/bash
# psutil 7.2.2 (this year's).
# Done: host 1 and host 2, namespaces as Mininet's hosts are, send 1,000 and 10 packets of 1,000 bytes to themselves,
# and then nothing. A process goes into each in turn, four times, and asks for what its loopback has sent.
# Expected: the same two numbers each time, those of the kernel; or at least numbers that stand still.
# Seen: both numbers grow by host 1's 1,000,000 bytes each time: 4,000,000 and 4,010,000 at last. A number that is less
# than the last one of that name is taken for a counter that wrapped around (nowrap=True, the default), and what was
# counted before is added from then on; interfaces are known by their names, in whatever namespace.
# Why it matters: hosts of an emulated network all have the same names, and a harness visits one after the other. The
# busier one host is, the more all seem to send, and the more often they are asked, the higher their rates. Ask with
# nowrap=False, as counters of 64 bits do not wrap, or from a process of its own for each host.
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
py=/usr/bin/python3
"$py" -m pip --version >"$tmp/pip" 2>&1 || debs python3-pip
[ -x $py ] || py=$tmp/usr/bin/python3
PYTHONPATH=$tmp/usr/lib/python3/dist-packages "$py" -m pip install -q --no-cache-dir --no-compile --target "$tmp/py" \
    --only-binary :all: --no-deps psutil==7.2.2 >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "psutil 7.2.2"
cat >"$tmp/hosts.py" <<'SCRIPT'
import ctypes
import os
import socket
import struct
import sys
from fcntl import ioctl

import psutil

PACKETS, ROUNDS, CLONE_NEWNET, SIOCSIFFLAGS, UP = [1000, 10], 4, 0x40000000, 0x8914, 1
linux = ctypes.CDLL(None, use_errno=True)


def make(packets):
    """A namespace whose loopback has sent so many packets."""
    if linux.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket(type=socket.SOCK_DGRAM) as sender, socket.socket(type=socket.SOCK_DGRAM) as receiver:
        ioctl(sender, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", UP))
        receiver.bind(("127.0.0.1", 5001))
        for _ in range(packets):
            sender.sendto(bytes(972), ("127.0.0.1", 5001))  # 1,000 with its headers
    return os.open("/proc/self/ns/net", os.O_RDONLY)


def sent(**options):
    return psutil.net_io_counters(pernic=True, **options)["lo"].bytes_sent


def kernel():
    with open("/proc/self/net/dev") as file:
        return int(next(line for line in file if line.split()[0] == "lo:").split()[9])


hosts = [make(packets) for packets in PACKETS]
told, truth = [[], []], [[], []]
for _ in range(ROUNDS):
    for host, namespace in enumerate(hosts):
        if linux.setns(namespace, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        told[host].append(sent())
        truth[host] += [kernel(), sent(nowrap=False)]
for host, numbers in enumerate(told):
    print(f"host {host + 1}: {' '.join(f'{n:,}' for n in numbers)}; by the kernel and nowrap=False {truth[host][0]:,}")
if any(set(numbers) != {numbers[0]} for numbers in truth):
    sys.exit("its own counters do not stand still")
busy, idle = (numbers[0] for numbers in truth)
if (busy, idle) != (1_000_000, 10_000):
    sys.exit("something else was sent")
grown = [[busy * n for n in range(1, ROUNDS + 1)], [busy * n + idle for n in range(1, ROUNDS + 1)]]
sys.exit(0 if told == grown else 3)
SCRIPT
status=0
PYTHONPATH=$tmp/py "$py" -B "$tmp/hosts.py" 2>"$tmp/said" || status=$?
[ $status != 3 ] || exit 1
[ $status = 0 ] || cannot "$(tail -n 1 "$tmp/said")"
