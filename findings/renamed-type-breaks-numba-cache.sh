#!/bin/bash
# Numba 0.68.1 with cache=True, a function whose argument is a NamedTuple.
# Done: the function is compiled and kept; then the class gets another name in the source, as in a new version of a
# simulator, and the program is run again with the cache of before.
# Expected: the source file is newer than the cache, so the function is compiled anew, as after any other change.
# Seen: AttributeError from within Numba before the function is compiled: the index of the cache is unpickled, with the
# types in it, before the file's date is looked at. Every user who updates has to find and remove the cache.
# Why it matters: kept loops of simulators end at an update in a traceback that names nothing of it.
set -Eeuo pipefail
PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cannot() { echo "cannot run: $*" >&2; exit 2; }
trap 'cannot "line $LINENO: $BASH_COMMAND"' ERR
[ "$EUID" = 0 ] || cannot "needs root"
release=$(. /etc/os-release && echo "$ID$VERSION_ID")
debs() { # packages, and what they need and this machine lacks, unpacked into $tmp
    local apt=(apt-get -qq -o "Dir::State::Lists=$tmp/lists" -o "Dir::Cache=$tmp/cache" -o Debug::NoLocking=1
        -o APT::Sandbox::User=root -o Acquire::Languages=none)
    mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial"
    "${apt[@]}" update >"$tmp/apt" 2>&1 || cannot "apt-get update: $(tail -n 1 "$tmp/apt")"
    "${apt[@]}" install -d -y --reinstall --no-install-recommends "$@" >"$tmp/apt" 2>&1 || cannot "not there: $*"
    for deb in "$tmp"/cache/archives/*.deb; do dpkg -x "$deb" "$tmp"; done
    export LD_LIBRARY_PATH=$tmp/usr/lib/x86_64-linux-gnu:$tmp/lib/x86_64-linux-gnu
}
case $release in debian12 | debian13) ;; *) cannot "needs Debian 12 or 13" ;; esac
debs python3-pip
py=/usr/bin/python3
[ -x $py ] || py=$tmp/usr/bin/python3
PYTHONPATH=$tmp/usr/lib/python3/dist-packages "$py" -m pip install -q --no-cache-dir --target "$tmp/py" \
    --no-deps numba==0.68.1 llvmlite==0.50.0 numpy==2.4.6 >"$tmp/pip" 2>&1 || cannot "pip: $(tail -n 1 "$tmp/pip")"
export PYTHONPATH=$tmp/py:$tmp PYTHONDONTWRITEBYTECODE=1 NUMBA_CACHE_DIR=$tmp/kept
program() { # with this name of the class
    cat >"$tmp/loops.py" <<SCRIPT
from typing import NamedTuple

import numba


class $1(NamedTuple):
    rate: float


@numba.njit(cache=True)
def double(state):
    return 2 * state.rate


def run():
    print(double($1(21.0)))
SCRIPT
}
"$py" -c 'import numba; print("Numba", numba.__version__)'
program State
[ "$("$py" -c "import loops; loops.run()")" = 42.0 ] || cannot "the program did not run"
echo "compiled and kept: 42.0"
sed -i 's/2 \* state.rate/state.rate * 2/' "$tmp/loops.py"
echo "another expression: $("$py" -c "import loops; loops.run()")"
program Network
if "$py" -c "import loops; loops.run()" >"$tmp/out" 2>&1; then
    echo "another name of the class: $(tail -n 1 "$tmp/out")"
    exit 1
fi
echo "another name of the class: $(tail -n 1 "$tmp/out" | sed 's/ on <module.*//')"
grep -q "AttributeError: .*'State'" "$tmp/out" || exit 1
