#!/usr/bin/env bash
# Every check there is: format, lint, types, unit and property tests, and real runs on Mininet and Open vSwitch.
# Sets itself up when something is missing. Options go to pytest: ./check.sh -k fattree
# ./check.sh --quick [PYTEST OPTIONS] leaves out what needs root; once set up, it does not need root itself.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$root"
tests=()
if [ "${1:-}" = --quick ]; then
    shift
    tests=(-m "not root")
elif [ "$(id -u)" -ne 0 ]; then
    echo "check.sh: the tests that make real networks need root: sudo ./check.sh $* (or ./check.sh --quick)" >&2
    exit 3
fi
if [ "$(id -u)" -eq 0 ]; then
    setup/install.sh --check
    if [ "$(stat -c %u .)" -ne 0 ]; then # root leaves nothing behind in another user's folder
        caches=/root/.cache/hedera
        export RUFF_CACHE_DIR=$caches/ruff MYPY_CACHE_DIR=$caches/mypy
        export HYPOTHESIS_STORAGE_DIRECTORY=$caches/hypothesis PYTEST_ADDOPTS="-o cache_dir=$caches/pytest"
    fi
elif [ ! -e .venv/installed-check ]; then
    echo "check.sh: not set up yet: sudo setup/install.sh --check" >&2
    exit 3
fi
.venv/bin/ruff format --check .
.venv/bin/ruff check .
.venv/bin/mypy
if [ $# -gt 0 ]; then
    exec .venv/bin/pytest "${tests[@]}" "$@"
fi
# What measures nothing runs side by side; what holds the machine has it for itself, but for the second kernel, which
# has networks, a lock and one processor's time of its own.
if [ ${#tests[@]} -gt 0 ]; then
    exec .venv/bin/pytest -n auto "${tests[@]}"
fi
status=0
.venv/bin/pytest -n auto -m "not alone" || status=$?
kernel=$(mktemp)
trap 'rm -f "$kernel"' EXIT
.venv/bin/pytest tests/kernel >"$kernel" 2>&1 &
.venv/bin/pytest -m alone --ignore tests/kernel || status=$?
wait $! || status=$?
cat "$kernel"
exit "$status"
