#!/bin/bash
# QEMU's user mode (qemu-user-static 7.2 in Debian 12, qemu-user 10.0 in Debian 13), by which Docker and binfmt run a
# program of another architecture, as images for x86-64 on an ARM laptop.
# Done: a connection over loopback carries 100 kB, and Python asks it for TCP_INFO, up to 104 bytes; once as a process of
# its own, and once in QEMU, of the same architecture and kernel.
# Expected: the same structure, with retransmissions, round trips and the window: a program in user mode makes the
# kernel's own calls.
# Seen: QEMU gives every option of TCP as one int. Four bytes come, and no error: the connection's state and three small
# fields. What lies behind them (round trip, window, retransmissions) is not there.
# Why it matters: programs that read retransmissions and round trips so (iperf3, senders of an experiment) fail, or take
# what their buffer held for measured numbers, where the same container works on a machine of its own architecture.
set -Eeuo pipefail
PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cannot() { echo "cannot run: $*" >&2; exit 2; }
trap 'cannot "line $LINENO: $BASH_COMMAND"' ERR
[ "$(uname -m)" = x86_64 ] || cannot "needs x86-64"
release=$(. /etc/os-release && echo "$ID$VERSION_ID")
debs() { # packages with exact versions, and what they need and this machine lacks, unpacked into $tmp
    local apt=(apt-get -qq -o "Dir::State::Lists=$tmp/lists" -o "Dir::Cache=$tmp/cache" -o Debug::NoLocking=1
        -o APT::Sandbox::User=root -o Acquire::Languages=none)
    mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial"
    "${apt[@]}" update >"$tmp/apt" 2>&1 || cannot "apt-get update: $(tail -n 1 "$tmp/apt")"
    "${apt[@]}" install -d -y --reinstall --no-install-recommends "$@" >"$tmp/apt" 2>&1 || cannot "not there: $*"
    for deb in "$tmp"/cache/archives/*.deb; do dpkg -x "$deb" "$tmp"; done
}
case $release in
debian12) debs qemu-user-static=1:7.2+dfsg-7+deb12u18+b3 && qemu=$tmp/usr/bin/qemu-x86_64-static ;;
debian13) debs qemu-user=1:10.0.13+ds-0+deb13u1 && qemu=$tmp/usr/bin/qemu-x86_64 ;;
*) cannot "needs Debian 12 or 13" ;;
esac
cat >"$tmp/ask.py" <<'SCRIPT'
import socket

server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
served, _ = server.accept()
client.sendall(bytes(100_000))
left = 100_000
while left:
    left -= len(served.recv(left))
print(len(client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)))
SCRIPT
"$qemu" --version | head -n 1
python=/usr/bin/python3
[ -x $python ] || cannot "needs python3"
own=$("$python" -I "$tmp/ask.py") emulated=$("$qemu" "$python" -I "$tmp/ask.py")
echo "bytes of TCP_INFO: $own in a process of its own, $emulated in QEMU"
[ "$own" = 104 ] && [ "$emulated" = 4 ] || exit 1
