#!/bin/bash -p
# Every check there is: format, lint, types, unit and property tests, and real runs on Mininet and Open vSwitch.
# Sets itself up when something is missing. Options go to pytest: ./check.sh -k fattree
# Without root, what needs root runs in guests (tests/in_guests.py), but for what only real time has. Mininet and Open
# vSwitch have to be there: root installs them once.
# ./check.sh --quick [PYTEST OPTIONS] leaves out what needs root, boots guests, or takes long (CONTRIBUTING.md).
# Without options for pytest it ends after HEDERA_CHECK_S seconds; Ctrl-C ends all that it started.
set -euo pipefail
here=${BASH_SOURCE[0]}
[[ $here == */* ]] || here=./$here
root=$(unset CDPATH; cd -P -- "${here%/*}" && pwd)
. "$root/setup/clean.sh"
cd "$root"
if [ "${1:-}" = --help ]; then
    sed -n '2,/^set /s/^# //p' check.sh
    exit
fi
# As logins of Debian, Ubuntu and Fedora: what works only with more open files fails here.
[ "$(ulimit -Sn)" != unlimited ] && [ "$(ulimit -Sn)" -le 1024 ] || ulimit -Sn 1024
tests=() all=("$@")
if [ "${1:-}" = --quick ]; then
    shift
    tests=(-m "not root and not virtual and not slow")
fi
# Compiled tests are kept, as what the other tools make is: of the 10 s of a processor that pytest needs to find all of
# them 3 are for compiling, and it is started a dozen times.
unset PYTHONDONTWRITEBYTECODE
if [ "$EUID" -eq 0 ]; then
    setup/install.sh --check
    # Some tests act as another user, who has to reach the clone, wherever root has it.
    setpriv --reuid 65534 --regid 65534 --clear-groups -- test -x "$root" ||
        exec unshare --mount --propagation private tests/reachable.sh ./check.sh ${all[@]+"${all[@]}"}
    if [ "$(stat -c %u .)" -ne 0 ]; then # root leaves nothing behind in another user's folder
        caches=/root/.cache/hedera
        export PYTHONDONTWRITEBYTECODE=1 RUFF_CACHE_DIR=$caches/ruff MYPY_CACHE_DIR=$caches/mypy
        export HYPOTHESIS_STORAGE_DIRECTORY=$caches/hypothesis PYTEST_ADDOPTS="-o cache_dir=$caches/pytest"
    fi
else
    missing=() # what only root can give, before anything is installed
    while read -r package; do
        [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) == ii* ]] || missing+=("$package")
    done < <(cat setup/apt-packages{,-check,-packets}.txt)
    if ! /usr/bin/python3 -I -c 'import mininet' 2>/dev/null; then
        echo "check.sh: only root can install ${missing[*]}: sudo setup/install.sh --check" >&2
        exit 3
    fi
    [ ${#missing[@]} -eq 0 ] || echo "check.sh: without ${missing[*]}, which only root can install, some tests are skipped" >&2
    [ ! -w . ] || setup/install.sh --check
    if [ ! -e .venv/installed-check ]; then
        echo "check.sh: not set up yet: sudo setup/install.sh --check" >&2
        exit 3
    fi
fi
.venv/bin/ruff format --check .
.venv/bin/ruff check .
[ ${#tests[@]} -gt 0 ] && [ $# -eq 0 ] || .venv/bin/mypy # with --quick alone, it runs beside the tests
if [ $# -gt 0 ]; then
    [ "$EUID" -eq 0 ] || [ ${#tests[@]} -gt 0 ] || tests=(-m "not root")
    exec .venv/bin/pytest "${tests[@]}" "$@"
fi

limit=${HEDERA_CHECK_S:-5400} status=0 running=()
start() { # pytest, in a process group of its own, to which timeout passes on what ends it
    run .venv/bin/pytest "$@"
}
run() {
    local left=$((limit - SECONDS))
    timeout --signal INT --kill-after 60 $((left > 0 ? left : 1)) "$@" &
    running+=($!)
}
finish() { # the one that was started last
    local ended=0
    wait "${running[-1]}" || ended=$?
    unset 'running[-1]'
    [ $ended -eq 0 ] || status=$ended
    case $ended in
        124 | 137) echo "check.sh: not done within $limit s, so stopped (set HEDERA_CHECK_S for more)" >&2 ;;
    esac
}
end() {
    trap '' INT TERM
    [ ${#running[@]} -eq 0 ] || kill -INT "${running[@]}" || true
    wait
    exit "$1"
}
trap 'end 130' INT
trap 'end 143' TERM

# What makes no network runs side by side, one more at once than there are processors, since many of these tests wait.
# Each takes from the others' ends what is left, so that tests that share a set-up stay together. Guests measure by
# their own clocks. They are as important as the others: on a machine that is busy with other work, what is niced has a
# hundredth of a processor, and would not end in time. Real time has the machine for itself.
together=(-n $(($(nproc) + 1)) --dist worksteal)
beside=$(mktemp)
trap 'rm -f "$beside"' EXIT
if [ ${#tests[@]} -gt 0 ]; then
    # mypy needs half a minute of one processor where nothing is kept of an earlier call.
    run .venv/bin/mypy >"$beside"
    start "${together[@]}" "${tests[@]}"
    finish
    finish
    cat "$beside"
    exit "$status"
fi
guests="alone and not real" rest="not alone"
[ "$EUID" -eq 0 ] || guests="root and not real" rest="not root"
run .venv/bin/python -m tests.in_guests -m "$guests" >"$beside"
start "${together[@]}" -m "$rest"
finish
finish
cat "$beside"
if [ "$EUID" -eq 0 ]; then
    start -m "alone and real"
    finish
fi
exit "$status"
