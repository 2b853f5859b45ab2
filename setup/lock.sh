#!/usr/bin/env bash
# Writes the locks anew from pyproject.toml: the newest versions, with hashes, for Python 3.10 and later on any
# machine. requirements.lock is what test.sh needs; requirements-cluster.lock what --cluster needs as well,
# and requirements-check.lock every extra, in the same versions.
# Needs uv (pip install uv). Options go to it: setup/lock.sh --upgrade-package numpy; without, nothing moves needlessly.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Wheels alone, so that nothing is built where they are installed. os-ken asks for ovs, which has none; it needs it
# for its OVSDB service, which we do not use.
without=$(mktemp)
trap 'rm -f "$without"' EXIT
echo "ovs; python_version < '3'" > "$without"
lock() {
    uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --only-binary :all: \
        --override "$without" --no-header pyproject.toml "$@"
}
lock --extra build --output-file setup/requirements.lock "$@"
lock --all-extras --constraint setup/requirements.lock --output-file setup/requirements-check.lock "$@"
lock --extra build --extra cluster --constraint setup/requirements-check.lock --output-file setup/requirements-cluster.lock "$@"
