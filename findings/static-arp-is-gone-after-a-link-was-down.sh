#!/bin/bash
# Mininet 2.3.0 (Debian 12 and 13).
# Done: two hosts with static ARP (mn --arp, net.staticArp()); their link goes down and up again (mn> link h1 h2 down).
# Expected: they are as before: permanent entries are permanent.
# Seen: the host that was cut off has no ARP entry any more, for any host, and asks for each by broadcast.
# Why it matters: behind controllers that do not flood, as in fat-trees, where --arp is there for that, such a host
# never reaches anybody again; what is measured after a failure is not the new path but ARP.
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

from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.topo import Topo

setLogLevel("critical")
Mininet.inited = True
topo = Topo()
topo.addLink(topo.addHost("h1"), topo.addHost("h2"))
net = Mininet(topo, controller=None)
net.start()
net.staticArp()


def entries():
    return net["h1"].cmd("ip -c=never neigh show nud permanent").strip()


before = entries()
net.configLinkStatus("h1", "h2", "down")
net.configLinkStatus("h1", "h2", "up")
after = entries()
print("permanent entries of h1 with --arp:   ", before or "none")
print("after the link was down and is up again:", after or "none")
net.stop()
sys.exit(not ("10.0.0.2" in before and not after))
SCRIPT
