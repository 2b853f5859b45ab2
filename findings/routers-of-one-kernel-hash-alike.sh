#!/bin/bash
# Linux's ECMP routes in network namespaces, iproute2 6.1.0 (Debian 12), 6.15.0 (Debian 13); seen on Linux 6.18.
# Done: two namespaces get the same route with two next hops, hashed by addresses and ports, and are asked for the next
# hop of 200 flows.
# Expected: each router draws a hash key of its own, as two machines do, and they agree on half of the flows.
# Seen: they agree on all of them. The key is drawn once for the kernel; net.ipv4.fib_multipath_hash_seed (since Linux
# 6.11), another one in each namespace, makes them differ.
# Why it matters: a fat-tree of Linux routers on one machine is polarised: k/2 of its (k/2)^2 cores carry everything.
set -Eeuo pipefail
PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cannot() { echo "cannot run: $*" >&2; exit 2; }
trap 'cannot "line $LINENO: $BASH_COMMAND"' ERR
[ "$EUID" = 0 ] || cannot "needs root"
release=$(. /etc/os-release && echo "$ID$VERSION_ID")
case $release in
    debian12) version=6.1.0-3 ;;
    debian13) version=6.15.0-1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
apt=(apt-get -qq -o "Dir::State::Lists=$tmp/lists" -o "Dir::Cache=$tmp/cache" -o Debug::NoLocking=1
    -o APT::Sandbox::User=root -o Acquire::Languages=none)
mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial"
"${apt[@]}" update >"$tmp/apt" 2>&1 || cannot "apt-get update: $(tail -n 1 "$tmp/apt")"
"${apt[@]}" install -d -y --reinstall --no-install-recommends "iproute2=$version" >"$tmp/apt" 2>&1 ||
    cannot "not there: iproute2=$version"
for deb in "$tmp"/cache/archives/*.deb; do dpkg -x "$deb" "$tmp"; done
export PATH=$tmp/usr/sbin:$tmp/usr/bin:$tmp/sbin:$tmp/bin:$PATH
export LD_LIBRARY_PATH=$tmp/usr/lib/x86_64-linux-gnu:$tmp/lib/x86_64-linux-gnu
echo "$(ip -V), Linux $(uname -r)"
cat >"$tmp/router" <<'END'
set -e
ip link set lo up
ip addr add 10.0.0.2/32 dev lo # flows are from an address that is on neither way out
for n in 0 1; do
    ip link add out$n type veth peer name far$n
    ip addr add 192.168.$n.1/24 dev out$n
    ip link set out$n up
    ip link set far$n up
done
echo 1 >/proc/sys/net/ipv4/fib_multipath_hash_policy
[ -z "${1:-}" ] || echo "$1" >/proc/sys/net/ipv4/fib_multipath_hash_seed
ip route add 10.0.0.0/8 nexthop via 192.168.0.2 dev out0 nexthop via 192.168.1.2 dev out1
for port in $(seq 20000 20199); do
    ip route get 10.2.1.3 from 10.0.0.2 ipproto 6 sport $port dport 5001 | grep -o 'dev out.'
done
END
agree() { paste "$tmp/$1" "$tmp/$2" | awk '$2 == $4' | wc -l; }
for name in first second; do unshare -n bash "$tmp/router" >"$tmp/$name"; done
[ "$(wc -l <"$tmp/first")" = 200 ] || cannot "200 flows were asked for, $(wc -l <"$tmp/first") have a way"
[ "$(sort -u "$tmp/first" | wc -l)" = 2 ] || cannot "all flows take one way"
alike=$(agree first second)
echo "two routers of one kernel agree on $alike of 200 flows"
if [ -e /proc/sys/net/ipv4/fib_multipath_hash_seed ]; then
    unshare -n bash "$tmp/router" 7 >"$tmp/seven"
    unshare -n bash "$tmp/router" 9 >"$tmp/nine"
    seeded=$(agree seven nine)
    echo "with seeds of their own they agree on $seeded"
    [ "$seeded" -lt 140 ] || { echo "changed: seeds make no difference"; exit 1; }
fi
[ "$alike" = 200 ] || { echo "changed: each has a key of its own"; exit 1; }
