#!/bin/bash
# Mininet 2.3.0 (Debian 12 and 13).
# Done: a link of 10 Mb/s (TCLink, bw=10) is given another delay while the network runs: intf.config(delay='5ms').
# Expected: it keeps its 10 Mb/s and has the delay as well, as a link that is made with both.
# Seen: it has no rate any more. Each call takes all queueing disciplines away and makes those that it names itself.
# Why it matters: an experiment that changes a delay or a loss halfway goes on without the bottleneck, unsaid.
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
topo.addLink(topo.addHost("h1"), topo.addHost("h2"), bw=10)
net = Mininet(topo, link=TCLink, controller=None)
net.start()
port = net["h1"].defaultIntf()
before = net["h1"].cmd("tc class show dev h1-eth0")
port.config(delay="5ms")
after = net["h1"].cmd("tc class show dev h1-eth0")
print("as made with bw=10:            ", before.strip() or "no class, no rate")
print("after intf.config(delay='5ms'):", after.strip() or "no class, no rate")
net.stop()
sys.exit(not ("rate 10Mbit" in before and "rate" not in after))
SCRIPT
