#!/bin/bash
# pathfinding 4.16.0 (this year's; shortest paths and flows in Rust), its yen().
# Done: the shortest paths between hosts of two pods in fat-trees of 4-port, 6-port and 8-port switches, as many as have
# 6 links, which are 4, 9 and 16; then four times as many.
# Expected: the k shortest are the first k of the 4 k shortest, so that all of them have 6 links.
# Seen: so it is with 4 ports. One of the 9 has 8 links, and two of the 16; but among 36 and 64 are all 9 and all 16 of
# 6 links. yen() takes candidates of equal length all at once, but branches off from one path a step, and then takes
# the next candidate, though paths are left whose branches are shorter. These come late, if more paths are asked for.
# Why it matters: equal paths are what a fat-tree is made for, and the algorithm is an exact one, so that nobody counts.
# Of 16 flows placed on a path each, two then take detours, over links that others need. Ask for four times as many, for
# twice as many do not do, and cut the list.
set -Eeuo pipefail
PATH=${HOME:-/root}/.cargo/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH LC_ALL=C
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cannot() { echo "cannot run: $*" >&2; exit 2; }
trap 'cannot "line $LINENO: $BASH_COMMAND"' ERR
[ -n "$(type -P cargo)" ] || cannot "needs Rust and Cargo"
mkdir "$tmp/src"
cat >"$tmp/Cargo.toml" <<'SCRIPT'
[package]
name = "paths"
version = "1.0.0"
edition = "2021"

[dependencies]
pathfinding = "=4.16.0"

[profile.dev]
debug = false
SCRIPT
cat >"$tmp/src/main.rs" <<'SCRIPT'
use pathfinding::prelude::yen;
use std::collections::BTreeMap;

type Tree = BTreeMap<String, Vec<(String, u32)>>;

fn fat_tree(ports: usize) -> Tree {
    let mut tree = Tree::new();
    let mut link = |a: String, b: String| {
        tree.entry(a.clone()).or_default().push((b.clone(), 1));
        tree.entry(b).or_default().push((a, 1));
    };
    for pod in 0..ports {
        for i in 0..ports / 2 {
            for j in 0..ports / 2 {
                link(format!("host {pod}.{i}.{j}"), format!("edge {pod}.{i}"));
                link(format!("edge {pod}.{i}"), format!("aggregation {pod}.{j}"));
                link(format!("aggregation {pod}.{i}"), format!("core {i}.{j}"));
            }
        }
    }
    tree
}

fn main() {
    let mut seen = vec![];
    for ports in [4, 6, 8] {
        let (tree, cores) = (fat_tree(ports), ports * ports / 4);
        for count in [cores, 4 * cores] {
            let from = "host 0.0.0".to_string();
            let paths = yen(&from, |node| tree[node].clone(), |node| node == "host 1.0.0", count);
            assert_eq!(paths.len(), count);
            let of_6 = paths.iter().filter(|(_, links)| *links == 6).count();
            let of_8 = paths.iter().filter(|(_, links)| *links == 8).count();
            println!("{ports} ports, {count:2} paths: {of_6:2} of 6 links, {of_8:2} of 8");
            seen.push((of_6, of_8));
        }
    }
    std::process::exit((seen != [(4, 0), (4, 12), (8, 1), (9, 27), (14, 2), (16, 48)]) as i32);
}
SCRIPT
cd "$tmp"
CARGO_HOME=$tmp/cargo cargo build --quiet >"$tmp/build" 2>&1 || cannot "cargo: $(grep -m 1 error "$tmp/build")"
echo "pathfinding 4.16.0"
target/debug/paths || exit 1
