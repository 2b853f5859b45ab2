#!/bin/bash -p
# tests/reachable.sh COMMAND...: runs a command where every user can reach this clone, as root of a mount namespace of its own.
# A folder above the clone that is closed to others, such as root's home or what mktemp -d makes, is there an empty one that
# has nothing but the clone and root's caches, under their own paths. Nothing is copied, and outside nothing changes.
set -euo pipefail
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
enters() { setpriv --reuid 65534 --regid 65534 --clear-groups -- test -x "$1"; }
at=$here closed=
while [ "$at" != / ]; do
    at=$(dirname -- "$at")
    enters "$at" || closed=$at # the last one that is asked is the highest
done
if [ -n "$closed" ]; then
    kept=("$here")
    [[ ${HOME:-/}/ != "$closed"/* || ! -d $HOME/.cache ]] || kept+=("$HOME/.cache")
    for folder in "${kept[@]}"; do
        exec {number}<"$folder"
        held+=("$number")
    done
    mount -t tmpfs -o mode=755 reachable "$closed"
    for folder in "${kept[@]}"; do
        mkdir -p -- "$folder"
        mount -c --bind "/proc/self/fd/${held[0]}" "$folder" # as the name leads to the new folder already
        exec {held[0]}<&-
        held=("${held[@]:1}")
    done
fi
if ! enters "$here"; then
    echo "check.sh: other users cannot enter $here, and tests act as one: chmod -R go=rX it, or clone with umask 022" >&2
    exit 3
fi
cd "$here"
exec "$@"
