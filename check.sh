#!/usr/bin/env bash
# Every check there is: format, lint, types, unit and property tests, and real runs on Mininet and Open vSwitch.
# Sets itself up when something is missing. Options go to pytest: ./check.sh -k fattree
# Without root, what needs root runs in guests (tests/in_guests.py), but for what only real time has. Mininet and Open
# vSwitch have to be there: root installs them once.
# ./check.sh --quick [PYTEST OPTIONS] leaves out what needs root.
# Without options for pytest it ends after HEDERA_CHECK_S seconds; Ctrl-C ends all that it started.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$root"
tests=()
if [ "${1:-}" = --quick ]; then
    shift
    tests=(-m "not root")
fi
if [ "$(id -u)" -eq 0 ]; then
    setup/install.sh --check
    if [ "$(stat -c %u .)" -ne 0 ]; then # root leaves nothing behind in another user's folder
        caches=/root/.cache/hedera
        export RUFF_CACHE_DIR=$caches/ruff MYPY_CACHE_DIR=$caches/mypy
        export HYPOTHESIS_STORAGE_DIRECTORY=$caches/hypothesis PYTEST_ADDOPTS="-o cache_dir=$caches/pytest"
    fi
else
    [ ! -w . ] || setup/install.sh --check
    if [ ! -e .venv/installed-check ] || ! .venv/bin/python -c 'import mininet' 2>/dev/null; then
        echo "check.sh: not set up yet: sudo setup/install.sh --check" >&2
        exit 3
    fi
fi
.venv/bin/ruff format --check .
.venv/bin/ruff check .
.venv/bin/mypy
if [ $# -gt 0 ]; then
    [ "$(id -u)" -eq 0 ] || tests=(-m "not root")
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
        124 | 137) echo "check.sh: not done within $limit s, and ended (HEDERA_CHECK_S allows more)" >&2 ;;
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

# What measures nothing runs side by side; what holds the machine has it for itself, but for the second kernel, which
# has networks, a lock and one processor's time of its own.
if [ ${#tests[@]} -gt 0 ]; then
    start -n auto "${tests[@]}"
    finish
    exit "$status"
fi
if [ "$(id -u)" -ne 0 ]; then
    .venv/bin/hedera kernel status >/dev/null 2>&1 || run nice .venv/bin/hedera kernel build
    start -n auto -m "not root and not virtual"
    finish
    [ ${#running[@]} -eq 0 ] || finish
    start -m "virtual and not root"
    finish
    run .venv/bin/python -m tests.in_guests
    finish
    exit "$status"
fi
start -n auto -m "not alone"
finish
beside=$(mktemp)
trap 'rm -f "$beside"' EXIT
real=alone
case $(.venv/bin/hedera kernel status 2>/dev/null) in
    *" in seccomp mode"*) real="alone and real" ;; # the rest in guests: two to three times as fast as in real time
esac
start -m "$real" tests/kernel >"$beside" 2>&1
start -m "$real" --ignore tests/kernel
finish
finish
cat "$beside"
if [ "$real" != alone ]; then
    run .venv/bin/python -m tests.in_guests -m "alone and not real"
    finish
fi
exit "$status"
