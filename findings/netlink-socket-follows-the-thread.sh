#!/bin/bash
# pyroute2 0.8.1 and 0.9.7.
# Done: a thread leaves for a network namespace of its own and opens an IPRoute there, as a harness does for each of
# its hosts. The main thread, which stayed, lists the interfaces by that IPRoute and adds two by it.
# Expected: a netlink socket belongs to the namespace in which it was opened: the thread's interfaces are listed, and
# the two are there. So it is with 0.8.1.
# Seen with 0.9.7: since the library's core was written anew (0.9.1), an IPRoute opens a socket for each thread that
# uses it. The main thread's interfaces are listed, and the two are added to its namespace, without an error.
# Why it matters: a harness that holds namespaces by threads, or enters them with setns, reads the counters of the
# machine in place of a host's, and changes the machine. IPRoute(netns=PATH) stays where it is told.
set -Eeuo pipefail
PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cannot() { echo "cannot run: $*" >&2; exit 2; }
trap 'cannot "line $LINENO: $BASH_COMMAND"' ERR
[ "$EUID" = 0 ] || cannot "needs root"
release=$(. /etc/os-release && echo "$ID$VERSION_ID")
debs() { # packages, and what they need and this machine lacks, unpacked into $tmp
    local apt=(apt-get -qq -o "Dir::State::Lists=$tmp/lists" -o "Dir::Cache=$tmp/cache" -o Debug::NoLocking=1
        -o APT::Sandbox::User=root -o Acquire::Languages=none)
    mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial"
    "${apt[@]}" update >"$tmp/apt" 2>&1 || cannot "apt-get update: $(tail -n 1 "$tmp/apt")"
    "${apt[@]}" install -d -y --reinstall --no-install-recommends "$@" >"$tmp/apt" 2>&1 || cannot "not there: $*"
    for deb in "$tmp"/cache/archives/*.deb; do dpkg -x "$deb" "$tmp"; done
    export LD_LIBRARY_PATH=$tmp/usr/lib/x86_64-linux-gnu:$tmp/lib/x86_64-linux-gnu
}
case $release in debian12 | debian13) ;; *) cannot "needs Debian 12 or 13" ;; esac
debs python3-pip
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
for version in 0.8.1 0.9.7; do
    PYTHONPATH=$tmp/usr/lib/python3/dist-packages "$py" -m pip install -q --no-cache-dir --target "$tmp/$version" \
        "pyroute2==$version" >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
done
export PYTHONDONTWRITEBYTECODE=1
cat >"$tmp/threads.py" <<'PYTHON'
import ctypes
import os
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor

from pyroute2 import IPRoute

CLONE_NEWNET = 0x40000000


def leave():
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    subprocess.run("ip link add in0 type veth peer name in1".split(), check=True)
    return IPRoute()


def by_kernel():
    return " ".join(sorted({name for _, name in socket.if_nameindex()} - {"lo"}))


def by_library(route):
    return " ".join(sorted({link.get_attr("IFLA_IFNAME") for link in route.get_links()} - {"lo"}))


subprocess.run("ip link add out0 type veth peer name out1".split(), check=True)
thread = ThreadPoolExecutor(1)
route = thread.submit(leave).result()
listed = by_library(route)
route.link("add", ifname="new0", kind="veth", peer="new1")
print(f"listed: {listed}; then in the thread: {thread.submit(by_kernel).result()}; in the main one: {by_kernel()}")
PYTHON
said=""
for version in 0.8.1 0.9.7; do
    line=$(PYTHONPATH=$tmp/$version unshare --net "$py" "$tmp/threads.py")
    echo "$version: $line"
    said+="$version: $line"$'\n'
done
[ "$said" = "0.8.1: listed: in0 in1; then in the thread: in0 in1 new0 new1; in the main one: out0 out1
0.9.7: listed: out0 out1; then in the thread: in0 in1; in the main one: new0 new1 out0 out1
" ] || exit 1
