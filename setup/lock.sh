#!/usr/bin/env bash
# Writes the locks anew from pyproject.toml: the newest versions, with hashes, for Python 3.10 and later on any
# machine. requirements.lock is what test.sh needs; requirements-cluster.lock what --cluster needs besides, and
# requirements-check.lock what any extra does, in the same versions. A pin is in both only where its conditions differ.
# Needs uv (pip install uv). Options go to it: setup/lock.sh --upgrade-package numpy; without, nothing moves needlessly.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Wheels alone, so that nothing is built where they are installed. os-ken asks for ovs, which has none; it needs it
# for its OVSDB service, which we do not use.
place=$(mktemp -d)
trap 'rm -r "$place"' EXIT
echo "ovs; python_version < '3'" > "$place/without"
lock() {
    uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --only-binary :all: \
        --override "$place/without" --no-header pyproject.toml "$@"
}
besides() { # lock NAME ...: written without the pins of requirements.lock
    local name=requirements-$1.lock
    cp "setup/$name" "$place"
    lock --constraint setup/requirements.lock --output-file "$place/$name" "${@:2}"
    awk '/^[a-z0-9]/ { new = NR == FNR || !($0 in had) } NR == FNR { had[$0]; next } new' \
        setup/requirements.lock "$place/$name" > "setup/$name"
}
lock --extra build --output-file setup/requirements.lock "$@"
besides check --all-extras "$@"
besides cluster --extra build --extra cluster --constraint setup/requirements-check.lock "$@"
