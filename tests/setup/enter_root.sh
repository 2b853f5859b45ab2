#!/usr/bin/env bash
# tests/setup/enter_root.sh DIRECTORY COMMAND...: runs a command with a directory as its whole file system, as root.
# pivot_root rather than chroot: in a chroot / is no mount point, and what joins mount namespaces fails there.
# Processes, network, cgroups and this project's lock are the machine's, so that runs outside and inside see each other.
set -euo pipefail
root=$(realpath "$1")
shift
# Names are looked up as outside, and a proxy's certificate is trusted as outside. Packages start no services.
mkdir -p "$root/etc/ssl/certs" /run/hedera
cat /etc/resolv.conf >"$root/etc/resolv.conf"
cat /etc/ssl/certs/ca-certificates.crt >"$root/etc/ssl/certs/ca-certificates.crt"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
# shellcheck disable=SC2016
exec unshare --mount --propagation private sh -euc '
    root=$1
    shift
    mount --bind "$root" "$root"
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    mount --rbind /proc "$root/proc"
    mount -t tmpfs -o mode=755 tmpfs "$root/run"
    mkdir -p "$root/run/hedera" "$root/.outside"
    mount --bind /run/hedera "$root/run/hedera"
    cd "$root"
    pivot_root . .outside
    umount -l /.outside
    cd /
    exec "$@"
' sh "$root" "$@"
