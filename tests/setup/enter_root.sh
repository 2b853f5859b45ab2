#!/usr/bin/env bash
# tests/setup/enter_root.sh DIRECTORY COMMAND...: runs a command with a directory as its whole file system, as root.
# pivot_root rather than chroot: in a chroot / is no mount point, and what joins mount namespaces fails there.
# What is started inside ends with the command, daemons too, and nothing stays mounted.
set -euo pipefail
root=$(realpath "$1")
shift
# Names are looked up as outside, and a proxy's certificate is trusted as outside.
mkdir -p "$root/etc/ssl/certs"
cat /etc/resolv.conf >"$root/etc/resolv.conf"
cat /etc/ssl/certs/ca-certificates.crt >"$root/etc/ssl/certs/ca-certificates.crt"
# shellcheck disable=SC2016
exec unshare --mount --propagation private --pid --fork --kill-child sh -euc '
    root=$1
    shift
    mount --bind "$root" "$root"
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=755 tmpfs "$root/run"
    mkdir -p "$root/.outside"
    cd "$root"
    pivot_root . .outside
    umount -l /.outside
    cd /
    exec "$@"
' sh "$root" "$@"
