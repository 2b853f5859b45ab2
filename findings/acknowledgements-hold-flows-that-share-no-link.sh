#!/bin/bash
# SimGrid 3.32 (Debian 12), 4.0 (Debian 13), by its Python bindings, with its model as it is by default.
# Done: a fat-tree of 16 hosts with full bisection and links of 125 MB/s, one for each direction; each host sends 125 MB
# to the next one, stride(1), all at once. Each flow's links are asked for.
# Expected: no two flows have a link in common, so each takes what it takes alone: 1.03 s, give or take the 5 % that
# acknowledgements on the way back cost.
# Seen: flows that stay at one switch take 1.06 s, the others 1.57 to 1.77 s. A flow's acknowledgements share a link with
# data of the neighbour's flow; sharing favours short round trips, and a flow whose twentieth gets a small share there is
# itself held to it, on links that nobody else uses. With network/crosstraffic:0 all take 1.03 s.
# Why it matters: a permutation that any fat-tree carries at full rate is at three fifths to two thirds of it for flows
# that leave their switch, on paths of their own: what schedulers of flows are blamed for is not theirs.
set -Eeuo pipefail
PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
tmp=$(mktemp -d) pids=()
trap '{ kill -9 ${pids[@]+"${pids[@]}"}; wait; } 2>/dev/null || true; rm -rf "$tmp"' EXIT
cannot() { echo "cannot run: $*" >&2; exit 2; }
trap 'cannot "line $LINENO: $BASH_COMMAND"' ERR
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
    debian12) version=3.32-2+b2 ;;
    debian13) version=4.0-1+b1 ;;
    *) cannot "needs Debian 12 or 13" ;;
esac
debs "python3-simgrid=$version" python3
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
echo "SimGrid $version"
cat >"$tmp/stride.py" <<'SCRIPT'
import sys
from collections import Counter

from simgrid import Actor, Engine, Host, Mailbox

HOSTS, BYTES = 16, 125_000_000
LINK = '<link id="{}" bandwidth="125MBps" latency="10us" sharing_policy="SPLITDUPLEX"/>'


def route(a, b):
    """Links and directions from one host of the fat-tree of k = 4 to another; which way up, the larger one's number says."""
    agg, core = max(a, b) % 2, max(a, b) // 2 % 2
    up, down = ([f"h{n}", f"edge{n // 2}-{agg}", f"pod{n // 4}-{agg}-{core}"] for n in (a, b))
    hops = 1 if a // 2 == b // 2 else 2 if a // 4 == b // 4 else 3
    return [(link, "UP") for link in up[:hops]] + [(link, "DOWN") for link in down[:hops][::-1]]


flows = [(n, (n + 1) % HOSTS) for n in range(HOSTS)]
used = Counter(step for flow in flows for step in route(*flow))
lines = [f'<host id="{n}" speed="1Gf"/>' for n in range(HOSTS)]
lines += [LINK.format(link) for link in dict.fromkeys(link for link, _ in used)]
for a, b in flows + [(b, a) for a, b in flows]:
    steps = "".join(f'<link_ctn id="{link}" direction="{way}"/>' for link, way in route(a, b))
    lines.append(f'<route src="{a}" dst="{b}" symmetrical="NO">{steps}</route>')
with open(sys.argv[1], "w") as file:
    file.write('<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n')
    file.write('<platform version="4.1"><zone id="fat-tree" routing="Full">\n' + "\n".join(lines) + "\n</zone></platform>\n")


def send(to):
    Mailbox.by_name(to).put("data", BYTES)


def receive(name):
    Mailbox.by_name(name).get()
    taken[name] = Engine.clock


engine, taken = Engine(sys.argv), {}
engine.load_platform(sys.argv[1])
for a, b in flows:
    Actor.create(f"from {a}", Host.by_name(str(a)), send, str(b))
    Actor.create(f"at {b}", Host.by_name(str(b)), receive, str(b))
engine.run()
print(max(used.values()), *(f"{taken[str(n)]:.2f}" for n in range(HOSTS)))
SCRIPT
export PYTHONPATH=$tmp/usr/lib/python3/dist-packages
run() { # the most flows of a link, and the seconds of the flows to each of the hosts
    "$py" "$tmp/stride.py" "$tmp/platform.xml" "--cfg=network/crosstraffic:$1" --log=root.thres:warning 2>"$tmp/said"
}
read -r -a with <<<"$(run 1)"
read -r -a without <<<"$(run 0)"
echo "flows of the busiest link: ${with[0]}; seconds to hosts 0 to 15: ${with[*]:1}"
echo "without acknowledgements: ${without[*]:1}"
near=$(for n in {2..16..2}; do echo "${with[n]}"; done | sort -u)
far=$(for n in {1..15..2}; do echo "${with[n]}"; done | sort -u)
[ "${with[0]}, $near, $(printf '%s\n' "${without[@]:1}" | sort -u)" = "1, 1.06, 1.03" ] || exit 1
[ "$far" = $'1.57\n1.59\n1.77' ] || exit 1
