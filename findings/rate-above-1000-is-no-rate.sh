#!/bin/bash
# Mininet 2.3.0 (Debian 12 and 13).
# Done: a network with links of 1,000 and of 2,500 Mb/s (TCLink, bw=1000 and bw=2500) is made and started.
# Expected: rates of 1,000 and 2,500 Mb/s; or an error for what cannot be done.
# Seen: the second has no rate at all: values above 1,000 are left out, with a line among the others that mn prints,
# and everything goes on. Other options of the same link are kept.
# Why it matters: in a network whose core is faster than its edge the core alone has no limit, and no queue where
# losses belong.
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
    debian12) version=2.3.0-1 ;;
    debian13) version=2.3.0-1.1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "mininet=$version" iproute2 iputils-ping
echo "Mininet $version"
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
export PYTHONPATH=$tmp/usr/lib/python3/dist-packages PYTHONWARNINGS=ignore
# in namespaces of its own, with which all that Mininet makes ends; init() would change this machine's limits
alone() { unshare --net --pid --fork --kill-child --mount-proc "$py" -; }
alone <<'SCRIPT' || exit 1
import sys

from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.topo import Topo

setLogLevel("critical")
Mininet.inited = True
topo = Topo()
hosts = [topo.addHost(name) for name in ("h1", "h2", "h3")]
topo.addLink(hosts[0], hosts[1], bw=1000)
topo.addLink(hosts[1], hosts[2], bw=2500)
net = Mininet(topo, link=TCLink, controller=None)
net.start()
slow = net["h1"].cmd("tc class show dev h1-eth0").strip()
fast = net["h3"].cmd("tc class show dev h3-eth0").strip()
print("bw=1000:", slow or "no class, no rate")
print("bw=2500:", fast or "no class, no rate")
net.stop()
sys.exit(not ("rate 1Gbit" in slow and not fast))
SCRIPT
