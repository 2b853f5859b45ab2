#!/usr/bin/env bash
# Every check there is: format, lint, types, unit and property tests, and real runs on Mininet and Open vSwitch.
# Sets itself up when something is missing. Options go to pytest: ./check.sh -k fattree
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$root"
if [ "$(id -u)" -ne 0 ]; then
    echo "check.sh: the tests that make real networks need root: sudo ./check.sh $*" >&2
    exit 3
fi
setup/install.sh --check
.venv/bin/ruff format --check .
.venv/bin/ruff check .
.venv/bin/mypy
exec .venv/bin/pytest "$@"
