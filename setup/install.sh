#!/bin/bash -p
# Installs what is missing, and nothing else: Debian packages with apt; Python packages, pinned with their hashes in
# requirements.lock, in an environment below .venvs that .venv points to. Quick when nothing is missing.
# With --check, also what only the checks need; with --packets, what the packet simulator needs; with --cluster, what
# sweeps and simulations on many machines need; with --pox, the other controller platform (docs/controllers.md).
# Debian 12 or Ubuntu 22.04 and later.
#
# Without root it installs no Debian packages: `hedera` finds what virtual time needs of them (docs/virtual-time.md).
# Only apt runs as root. Everything below this folder is made by the folder's owner, so that nothing is left there
# that its owner could not delete. An environment that something still runs from is never touched: a new one is
# built beside it, .venv is turned to that, and the old one goes when a later call finds nobody in it.
# -p: neither BASH_ENV nor functions of the environment are heard; nor, as root, most of the rest (clean.sh).
set -euo pipefail
here=${BASH_SOURCE[0]}
[[ $here == */* ]] || here=./$here
root=$(unset CDPATH; cd -P -- "${here%/*}/.." && pwd -P)
. "$root/setup/clean.sh"
umask 022 # what is set up here is for all who may reach it
cd "$root"

say() { echo "setup: $*" >&2; }
fail() { say "$1"; exit "${2:-3}"; }

check='' cluster='' pox=''
for option; do
    case $option in
        --check | --packets) check=$option ;;
        --cluster) cluster=yes ;;
        --pox) pox=yes ;;
        *) fail "usage: setup/install.sh [--check | --packets | --cluster | --pox]" 2 ;;
    esac
done
user=
[ "$EUID" -eq 0 ] || user=yes # who may install no packages, and runs in virtual time
python=/usr/bin/python3
[ -n "$user" ] || command -v apt-get >/dev/null || fail "needs apt-get (Debian 12, Ubuntu 22.04 or later)"

if [ -n "$user" ]; then # what nobody can do without, all of it at once; the rest is fetched when a guest needs it
    lacking=()
    for each in python3:python3 git:git ip:iproute2 setpriv:util-linux; do
        PATH=$PATH:/usr/sbin:/sbin command -v "${each%:*}" >/dev/null || lacking+=("${each#*:}")
    done
    "$python" -I -c 'import ensurepip' 2>/dev/null || lacking+=(python3-venv)
    [ ${#lacking[@]} -eq 0 ] || fail "only root can install what is missing: sudo apt-get install ${lacking[*]}"
fi

# One set-up at a time. The lock lies in a folder of root's, because whoever can open a lock can hold it; apt must not
# inherit it (9>&-), because packages start daemons. pip may: what a killed set-up left running is still at work.
locks=/run/hedera-setup
if [ -n "$user" ]; then
    locks=$root/.venvs
    mkdir -p "$locks" 2>/dev/null && test -w "$locks" || fail "you cannot write to $root: clone the project where you can" 2
else
    mkdir -p -m 700 "$locks"
fi
exec 9>>"$locks/lock"
if ! flock --nonblock 9; then
    say "another setup is running on this machine: $(cat "$locks/lock"); waiting for it (if it hangs, end that process)"
    flock --wait 3600 9 || fail "it is still running after an hour; fuser $locks/lock shows its process" 1
fi
printf 'process %s of %s, since %s' $$ "$(id -un)" "$(date +%T)" >"$locks/lock"

# --- Debian packages -------------------------------------------------------------------------------------
log=$(mktemp)
trap 'rm -f "$log"' EXIT
patiently() { # a command that may take minutes
    local status=0
    (while :; do read -r -t 20 <> <(:) || say "$1 ($SECONDS s so far)"; done) 9>&- & # waits without a child to leave
    local teller=$!
    "${@:2}" || status=$?
    kill "$teller" 2>/dev/null || true
    wait "$teller" 2>/dev/null || true
    return $status
}
apt_wait_s=600 # how long a fresh cloud image may hold apt's locks with its own updates

apt_get() {
    DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 LC_ALL=C \
        apt-get -q -y -o "DPkg::Lock::Timeout=$apt_wait_s" "$@" >"$log" 2>&1 9>&-
}
apt_update() { # apt waits for dpkg's lock by itself, but not for that of its lists
    local last=$((SECONDS + apt_wait_s)) said=
    until apt_get update; do
        if ! grep -q 'Could not get lock' "$log" || [ $SECONDS -ge $last ]; then return; fi
        [ -n "$said" ] || say "apt is already running; waiting for it"
        said=yes
        sleep 3
    done
}
installed() { [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null) == ii* ]]; }
offered() { [[ $(LC_ALL=C apt-cache policy "$1" 2>/dev/null) == *"Candidate: "[^\(]* ]]; }

needed=() useful=()
while read -r package; do
    installed "$package" || needed+=("$package")
done < <([ -n "$user" ] || cat setup/apt-packages.txt; [ -n "$user" ] || [ "$check" != --packets ] || cat setup/apt-packages-packets.txt)
[ "$check" != --packets ] || check=
if [ -n "$check" ] && [ -z "$user" ]; then
    while read -r package; do
        installed "$package" || useful+=("$package")
    done < <(cat setup/apt-packages-check.txt setup/apt-packages-packets.txt)
fi
if [ ${#needed[@]} -gt 0 ]; then
    # Where Ubuntu keeps Open vSwitch's kernel module. Debian's kernels have it, and some machines can have none.
    modinfo openvswitch >/dev/null 2>&1 || useful+=("linux-modules-extra-$(uname -r)")
    say "installing ${needed[*]} (if apt is busy, this waits for it)"
    apt_update
    if ! patiently "apt-get is installing them" apt_get install --no-install-recommends "${needed[@]}"; then
        tail -n 15 "$log" >&2
        trap - EXIT
        fail "apt-get could not install ${needed[*]} (the whole log: $log; on Ubuntu they are in 'universe')"
    fi
fi
for package in "${useful[@]}"; do
    if ! offered "$package"; then
        offered mininet || apt_update # this machine has no lists
    fi
    if ! offered "$package"; then
        [[ $package == linux-* ]] || say "there is no package $package here: the tests that need it will be skipped"
        continue
    fi
    say "installing $package"
    if [ "$package" = cloud-init ]; then # only for its checker: it must not set this machine up at boot
        mkdir -p /etc/cloud
        touch /etc/cloud/cloud-init.disabled
    fi
    apt_get install --no-install-recommends "$package" ||
        { apt_update && apt_get install --no-install-recommends "$package"; } || # the lists may be old
        say "could not install $package: continuing without it"
done

# --- Python packages, on the system's python3, because Mininet is a system package --------------------------
"$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "needs Python 3.10 or later; $python is $("$python" -V)"

owner=$(stat -c %u .)
as_owner() {
    if [ "$owner" = 0 ] || [ -n "$user" ]; then
        "$@"
    elif entry=$(getent passwd "$owner"); then
        HOME=$(cut -d: -f6 <<<"$entry") \
            setpriv --reuid "$owner" --regid "$(cut -d: -f4 <<<"$entry")" --init-groups -- "$@"
    else
        HOME=/nonexistent setpriv --reuid "$owner" --regid "$(stat -c %g .)" --clear-groups -- "$@"
    fi
}
as_owner test -w . || fail "the owner of $root cannot write there: clone it elsewhere, or change its owner"

packages=(*/__init__.py)
stamp=$(
    {
        echo "$root $(uname -m) ${packages[*]}"
        "$python" -V
        cat setup/requirements{,-check,-cluster}.lock setup/clone.pth setup/{install,clean}.sh pyproject.toml
    } | sha256sum | cut -c 1-12
)
env=.venvs/$stamp
# pip would warn, at length, of a cache that it may not keep: of a user without a home, or of root's in another's.
may_cache='at=$(realpath -m "${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/pip")
    until [ -e "$at" ]; do at=$(dirname "$at"); done
    [ -w "$at" ] && { [ "$(id -u)" -ne 0 ] || [ -O "$at" ]; }'
pip() {
    local options=()
    as_owner sh -c "$may_cache" || options=(--no-cache-dir)
    [ -n "$user" ] || options+=(--isolated) # an ordinary user's settings are heard: a mirror, a certificate
    patiently "pip is installing them" as_owner "$root/$env/bin/python" -I -m pip install \
        --quiet --disable-pip-version-check "${options[@]}" --no-deps --no-compile "$@" ||
        fail "pip could not install the Python packages; run the same command to try again"
}
# Byte code carries its source's path, and the clock of a run's guest moves with the bytes that it reads, so all clones
# compile as if at one path (Python corrects it as it loads them). Files for newer Pythons do not compile.
byte_code() {
    as_owner "$root/$env/bin/python" -I -m compileall -qq -j 0 -s "$root/$env" -p /opt/hedera/.venvs/environment \
        "$root/$env"/lib/python3*/site-packages || true
}
locked=(--require-hashes --only-binary :all:)

in_use() { # by a process that was started from it, or has its libraries loaded
    grep -qsFf - /proc/[0-9]*/cmdline /proc/[0-9]*/maps <<<"$root/$1/"
}

as_owner mkdir -p .venvs
if [ -d .venv ] && [ ! -L .venv ]; then # as earlier versions made it
    ! in_use .venv || fail "a program is running from $root/.venv; try again when it has ended" 1
    as_owner mv .venv ".venvs/before-$stamp"
fi
for old in .venvs/*/; do
    old=${old%/}
    if [ "$old" != "$env" ] && [ "$old" != "$(readlink .venv)" ] && [ -e "$old" ] && ! in_use "$old"; then
        as_owner rm -rf "$old" || say "could not remove $old, which is no longer needed"
    fi
done

if [ ! -e "$env/installed" ] || ! as_owner "$env/bin/python" -I -c '' 2>/dev/null; then
    ! in_use "$env" || fail "a program is running from $root/$env, which does not start any more; try again when it has ended" 1
    say "installing the Python packages of setup/requirements.lock (a minute or so)"
    as_owner rm -rf "$env"
    as_owner "$python" -I -m venv "$root/$env"
    pip "${locked[@]}" --requirement setup/requirements.lock
    byte_code # before they are imported by what builds ours
    pip --no-build-isolation --editable .
    # With -I the command takes no code from where its user stands, nor from PYTHONPATH, whose sitecustomize would run
    # before our first line. (The second form is what pip writes where the path is long or has spaces.)
    as_owner sed -i -e '1s/^#!\(.*\/python[0-9.]*\)$/#!\1 -I/' \
        -e "2s/^'''exec' \(.*\) \"\$0\"/'''exec' \1 -I \"\$0\"/" "$env/bin/hedera"
    as_owner sed -i 's/^include-system-site-packages = false/include-system-site-packages = true/' "$env/pyvenv.cfg"
    as_owner cp setup/clone.pth "$(echo "$env"/lib/python3*/site-packages)"
    for path in "$env"/lib/python3*/site-packages/*.pth; do # pip's own way to the clone
        ! grep -qF -- "$root" "$path" || as_owner rm "$path"
    done
    as_owner rm -rf "$env"/lib/python3*/site-packages/hedera_harness # a copy that would grow old beside the clone
    as_owner touch "$env/installed"
fi
if [ -n "$check" ] && [ ! -e "$env/installed-check" ]; then
    say "installing the Python packages that the checks need"
    pip "${locked[@]}" --requirement setup/requirements-check.lock
    byte_code
    as_owner touch "$env/installed-check"
fi
if [ -n "$cluster" ] && [ ! -e "$env/installed-check" ] && [ ! -e "$env/installed-cluster" ]; then
    say "installing the Python packages that a cluster needs"
    pip "${locked[@]}" --requirement setup/requirements-cluster.lock
    byte_code
    as_owner touch "$env/installed-cluster"
fi
if [ "$(readlink .venv)" != "$env" ]; then
    as_owner ln -sfn "$env" .venvs/next
    as_owner mv -T .venvs/next .venv
fi
if [ "$owner" != 0 ] && [ -z "$user" ]; then # so that root, who must not, need not (clone.pth)
    as_owner "$env/bin/python" -I -m compileall -q "${packages[@]%/__init__.py}" || true
fi

# --- POX, which is in no package index: PyPI's pox is another project ---------------------------------------------
as_user() { # who called sudo, into whose cache it goes
    if [ -z "$user" ] && [ "${SUDO_UID:-0}" != 0 ] && entry=$(getent passwd "$SUDO_UID"); then
        HOME=$(cut -d: -f6 <<<"$entry") \
            setpriv --reuid "$SUDO_UID" --regid "$(cut -d: -f4 <<<"$entry")" --init-groups -- "$@"
    else
        "$@"
    fi
}
pox_source=https://github.com/noxrepo/pox
pox_commit=20d291825de5e1038e4500382e842e4f95b5731a # of branch halosaur, November 2022
# git checks what it fetches against its hashes; a checkout is whole when it gets its name.
fetch_pox='place=$HOME/.cache/hedera/pox && mkdir -p "$place.fetching" && cd "$place.fetching" && git init -q && {
    git cat-file -e "$2" 2>/dev/null || timeout 300 git fetch -q --depth 1 "$1" "$2"; } &&
    git checkout -q --force --detach "$2" && [ "$(git rev-parse HEAD)" = "$2" ] && mv -T "$place.fetching" "$place"'
if [ -n "$pox" ] && ! as_user "$env/bin/python" -I -c "import sys; sys.path.insert(0, '.')
from harness.network.machine import find_pox; sys.exit(find_pox() is None)" 2>/dev/null; then
    say "fetching POX from $pox_source"
    GIT_TERMINAL_PROMPT=0 as_user sh -c "$fetch_pox" sh "$pox_source" "$pox_commit" 9>&- 2>"$log" ||
        fail "POX could not be fetched from $pox_source ($(tail -n 1 "$log")): on a machine that reaches it, git clone -b halosaur $pox_source, and copy that to ~/pox here"
fi
