#!/bin/bash
# os-ken 4.2.2 (this year's), with its default hub of native threads.
# Done: a StreamServer, which os-ken's OpenFlow controller listens with, is made; 120 sockets connect to it before its
# program comes to accept the first (as while it computes).
# Expected: all wait in line, as Linux has room for 4,096 callers.
# Seen: 51 connect; the others' first packets are thrown away, and they try again after a second and more.
# Why it matters: of a fat-tree's switches, which all call at once (k = 8: 80), some come seconds late, and the
# experiment begins without them. Set the listener's backlog: server.server.listen(4096).
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
debs python3-pip
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
PYTHONPATH=$tmp/usr/lib/python3/dist-packages "$py" -m pip install -q --no-cache-dir --no-deps --target "$tmp/py" os-ken==4.2.2 pbr==7.0.3 netaddr==1.3.0 \
    >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
echo "os-ken 4.2.2"
export PYTHONPATH=$tmp/py
"$py" - <<'SCRIPT' || exit 1
import socket
import sys

from os_ken.lib import hub


def connected(backlog=None):
    """Of 120 callers, those that need not call again; nobody accepts."""
    server = hub.StreamServer(("127.0.0.1", 0), None)
    if backlog:
        server.server.listen(backlog)
    address, callers = server.server.getsockname(), []
    for _ in range(120):
        callers.append(socket.socket())
        callers[-1].setblocking(False)
        callers[-1].connect_ex(address)
    count = 0
    for caller in callers:
        caller.settimeout(0.02)
        try:
            caller.connect(address)
            count += 1
        except OSError as error:
            count += error.errno == 106  # it is connected already
        caller.close()
    server.server.close()
    return count


usual, wide = connected(), connected(4096)
print(f"of 120 callers {usual} connect at once; with a backlog of 4096 {wide} do")
sys.exit(usual != 51 or wide != 120)
SCRIPT
