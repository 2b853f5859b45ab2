#!/bin/bash
# k-shortest-path 0.0.5 (Yen's algorithm for npm's graphlib, here 2.1.8).
# Done: 4, 8 and 16 shortest paths between hosts of two pods in a fat-tree of 4-port switches, whose links all have the
# weight 1 in the graph; once as the package's page does it, once with a function that says 1 of each link. Then 4 paths
# between each two hosts of different pods.
# Expected: by either, four paths of 6 links, then as many of 8 as are asked for, of which there are twelve at least.
# Seen: with the function so it is. Without one, three paths of 6 links and two of 8 are all that come, however many are
# asked for; and no two hosts have more than three of 6. Links that are taken out for a while come back without their
# weights, and are taken no more.
# Why it matters: four equal paths are what a fat-tree is made for. The first ones are right, and one of 8 links in the
# fourth's place looks as if there were no more of 6. One core is then on paths of all pairs of hosts, another on those
# of half, so that flows spread evenly over what was found meet in the first.
set -Eeuo pipefail
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH LC_ALL=C
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cannot() { echo "cannot run: $*" >&2; exit 2; }
trap 'cannot "line $LINENO: $BASH_COMMAND"' ERR
[ -n "$(type -P node)" ] && [ -n "$(type -P npm)" ] || cannot "needs Node.js and npm"
cd "$tmp"
npm install --silent --cache "$tmp/cache" --no-audit --no-fund --no-update-notifier --ignore-scripts --prefix "$tmp" \
    k-shortest-path@0.0.5 graphlib@2.1.8 lodash@4.17.21 >"$tmp/npm" 2>&1 ||
    cannot "npm: $(tail -n 1 "$tmp/npm")"
echo "k-shortest-path 0.0.5"
node - <<'SCRIPT' || exit 1
const assert = require("assert");
const { Graph } = require("graphlib");
const { ksp } = require("k-shortest-path");

function fatTree(ports) {
  const tree = new Graph(), half = [...Array(ports / 2).keys()];
  const link = (a, b) => tree.setEdge(a, b, 1).setEdge(b, a, 1);
  for (let pod = 0; pod < ports; pod++)
    for (const i of half)
      for (const j of half) {
        link(`host ${pod}.${i}.${j}`, `edge ${pod}.${i}`);
        link(`edge ${pod}.${i}`, `aggregation ${pod}.${j}`);
        link(`aggregation ${pod}.${i}`, `core ${i}.${j}`);
      }
  return tree;
}

const tree = fatTree(4), seen = [];
assert.equal(tree.edgeCount(), 2 * 48);
for (const [from, weight] of [["the graph", undefined], ["a function", () => 1]])
  for (const count of [4, 8, 16]) {
    const lengths = ksp(tree, "host 0.0.0", "host 1.0.0", count, weight).map(({ edges }) => edges.length).join(" ");
    console.log(`${String(count).padStart(2)} paths, weights of ${from}: ${lengths} links`);
    seen.push(lengths);
  }
const asSeen = [
  "6 6 6 8", "6 6 6 8 8", "6 6 6 8 8",
  "6 6 6 6", "6 6 6 6 8 8 8 8", "6 6 6 6 8 8 8 8 8 8 8 8 8 8 8 8",
];
const hosts = tree.nodes().filter((node) => node.startsWith("host")), cores = {};
const pod = (host) => host.split(".")[0];
for (const from of hosts)
  for (const to of hosts.filter((host) => pod(host) !== pod(from))) {
    const shortest = ksp(tree, from, to, 4).filter(({ edges }) => edges.length === 6);
    assert(shortest.length < 4);
    for (const { edges } of shortest) cores[edges[2].toNode] = (cores[edges[2].toNode] ?? 0) + 1;
  }
const shares = Object.keys(cores).sort().map((core) => cores[core]);
console.log(`paths of 6 links between 192 pairs of hosts, by core: ${shares.join(" ")}`);
process.exitCode = seen.join() === asSeen.join() && shares.join() === "96,184,104,192" ? 0 : 1;
SCRIPT
